/** Different elements of files: as groups over whole columns, in the order of their first rows. */
import { Float64, Int64, makeData, makeVector, Table, TimestampMicrosecond, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../index.ts'

const ROWS = 25_000

interface Row {
  readonly at: Date
  readonly text: string | null
  readonly n: number
}

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

function bytes(): Uint8Array {
  const each = <T>(of: (i: number) => T): T[] => Array.from({ length: ROWS }, (_, i) => of(i))
  const at = makeVector(
    makeData({
      type: new TimestampMicrosecond(),
      length: ROWS,
      nullCount: 0,
      data: BigInt64Array.from(each((i) => BigInt(1e15) + BigInt(i % 2))),
    }),
  )
  return tableToIPC(
    new Table({
      at,
      text: vectorFromArray(
        each((i) => (i % 5 === 0 ? null : `text ${i % 7}`)),
        new Utf8(),
      ),
      n: vectorFromArray(
        each((i) => (i % 3) / 2),
        new Float64(),
      ),
      id: vectorFromArray(
        each((i) => BigInt(i)),
        new Int64(),
      ),
    }),
    'file',
  )
}

test('texts and numbers of a file are grouped over columns', async () => {
  const table = (await session.readArrow<Row>(bytes())).select('text', 'n')
  const expected = new Map<string, unknown>()
  for (let i = 0; i < ROWS; i++) {
    const row = { text: i % 5 === 0 ? null : `text ${i % 7}`, n: (i % 3) / 2 }
    if (!expected.has(JSON.stringify(row))) expected.set(JSON.stringify(row), row)
  }
  const different = table.distinct()
  expect(await different.collect()).toEqual([...expected.values()])
  const text = await different.explain({ analyze: true })
  expect(text).toContain('read whole into the arena')
  expect(text).not.toContain('PartialDistinctExec')
})

test('where times are finer than milliseconds, elements are compared one by one, with their texts', async () => {
  const table = (await session.readArrow<Row>(bytes())).select('at', 'text')
  const found = await table
    .distinct()
    .map((r) => r.text)
    .collect()
  const texts = Array.from({ length: ROWS }, (_, i) => (i % 5 === 0 ? null : `text ${i % 7}`))
  expect(new Set(found)).toEqual(new Set(texts))
  expect(found.slice(0, 3)).toEqual([null, 'text 1', 'text 2'])
})
