/** An array that is made of a typed array holds its bits, under the keys of its shape, whatever becomes of either of the two. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { keyAt } from '../src/core/arrays/indexSpace.ts'
import { Session } from '../src/index.ts'
import { bytesOf, givenArrays, NUMBER_DTYPES } from './arbitraries/givenArrays.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('givenArrays.prop.ts')
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => await session.stop())

test('an array made of a typed array has its bits, and neither sees the other written', async () => {
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES), fc.nat(), async ({ shape, dtype, values }, seed) => {
      const before = values.slice()
      const array = session.fromTypedArray(values, shape)
      values.fill((dtype === 'i64' ? 7n : 7) as never)
      expect(await array.shape()).toEqual(shape)
      expect(bytesOf(await array.toTypedArray())).toEqual(bytesOf(before))
      expect(await array.collect()).toEqual([...before])
      if (before.length > 0) {
        const at = seed % before.length
        const key = keyAt(at, shape)
        expect(await array.at(...key)).toEqual(before[at])
        const one = dtype === 'i64' ? 1n : 1
        await array.set(key, one)
        before[at] = one as never
        expect(bytesOf(await array.toTypedArray())).toEqual(bytesOf(before))
        expect(values.every((value) => value === 7 || value === 7n)).toBe(true)
      }
      await array.release()
    }),
    RUN,
  )
})
