import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../session/session.ts'
import { arrays, schemas, tables } from './arbitraries.ts'
import { arrayEquals, tableEquals } from './equality.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1 })
})
afterAll(() => session.stop())

test('schemas have columns of different names', () => {
  fc.assert(fc.property(schemas({ maxColumns: 5 }), (schema) => new Set(schema.map(({ name }) => name)).size === schema.length))
})

test('a table holds the rows it was made of', async () => {
  await fc.assert(
    fc.asyncProperty(tables(), async (table) => {
      expect(await tableEquals(table.load(session), table.rows)).toBe(true)
    }),
    { numRuns: 200 },
  )
})

test('an array holds its values and shape', async () => {
  await fc.assert(
    fc.asyncProperty(arrays({ dtypes: ['f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool'] }), async (generated) => {
      const array = await generated.load(session)
      const values = await array.toTypedArray()
      expect(await array.shape()).toEqual(generated.shape)
      expect(arrayEquals(Array.from(values as ArrayLike<number>, Number), generated.values)).toBe(true)
      await array.release()
    }),
    { numRuns: 200 },
  )
})
