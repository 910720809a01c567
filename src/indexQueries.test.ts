/** Point and range queries of lazy arrays run plans: the first builds an index that the others find; the splits that are read are counted. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { PlanError, Session, TaskError } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'queries-'))
const session = await Session.start({ workers: 2, progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const path = join(folder, 'ratings.parquet')
await session
  .fromRows(Array.from({ length: 60 }, (_, i) => ({ user: i % 6, movie: Math.floor(i / 6), stars: i })))
  .writeParquet(path, { rowGroupRows: 20 })
let reads = 0
session.events.subscribe((event) => {
  if (event.kind === 'stage' && event.phase === 'started' && event.stage.startsWith('ScanExec')) reads++
})
const file = await session.readParquet<{ user: number; movie: number; stars: number }>(path)
const queries = (text: string): string => text.slice(text.indexOf('Queries'))

test('the first query builds the index, later ones find it', async () => {
  const stars = file.index((r) => [r.user, r.movie]).map((r) => r.stars)
  expect(queries(stars.explain())).toMatchInlineSnapshot(`
    "Queries
      stage 0: ScanExec ratings.parquet [user, movie, stars] -> KeysExec r => [r.user, r.movie]
      stage 1: stage 0 -> ExchangeExec -> IndexExec
      stage 2: stage 1 -> MapExec r => r.stars
      stage 3: stage 2 -> IndexBuildExec -> IndexLookupExec [:, :]
    Functions
      KeysExec r => [r.user, r.movie]: JavaScript made from its IR, over rows, because its elements have explicit keys
      MapExec r => r.stars: JavaScript made from its IR, over rows, because its elements have explicit keys"
  `)
  reads = 0
  expect(await Promise.all([stars.at(2, 3), stars.at(5, 9)])).toEqual([20, 59])
  expect(reads).toBe(1)
  expect(await stars.at(0, 1)).toBe(6)
  expect([...(await stars.row(1))]).toEqual([1, 7, 13, 19, 25, 31, 37, 43, 49, 55])
  expect(
    (
      await stars.slice([
        [0, 2],
        [8, 10],
      ])
    ).data,
  ).toEqual(Float64Array.of(48, 54, 49, 55))
  expect(reads).toBe(1)
  expect(queries(stars.explain())).toMatchInlineSnapshot(`
    "Queries
      stage 0: StoredExec ratings.parquet.index(…).map(…) dense -> IndexLookupExec [:, :]
      The index was built once and answered 5 queries."
  `)
})

test('what was written below it, or captured, makes the next query build anew', async () => {
  const base = await session
    .fromRows([1, 2, 3])
    .index((_, [i]) => [i])
    .materialize()
  let factor = 2
  const scaled = base.map((x) => x * factor)
  const explained = () => queries(scaled.explain()).split('\n').at(-1)
  expect(await scaled.at(1)).toBe(4)
  await base.set([1], 10)
  expect(await scaled.at(1)).toBe(20)
  factor = 3
  expect(await scaled.at(1)).toBe(30)
  expect(await scaled.at(2)).toBe(9)
  expect(explained()).toBe('  The index was built 3 times, after writes below it and answered 4 queries.')
})

test('a query that fails leaves the index to the others', async () => {
  const stars = file.index((r) => [r.user, r.movie]).map((r) => r.stars)
  reads = 0
  const [outside, inside] = await Promise.allSettled([stars.at(99, 0), stars.at(5, 9)])
  expect(outside.status === 'rejected' && outside.reason).toBeInstanceOf(PlanError)
  expect(inside).toEqual({ status: 'fulfilled', value: 59 })
  expect(reads).toBe(1)
})

test('rows of a table are found by their number', async () => {
  const few = file.filter((r) => r.stars > 50).map((r) => r.stars)
  reads = 0
  expect([await few.at(0), await few.at(8)]).toEqual([51, 59])
  expect(reads).toBe(1)
})

test('a combining function that fails for keys of several tasks is told by the first of these, with its row', async () => {
  const many = session.fromColumns({
    key: Int32Array.from({ length: 60_000 }, (_, i) => (i * 7919) % 20_000),
    at: Int32Array.from({ length: 60_000 }, (_, i) => i),
  })
  const sums = many.index((r) => [r.key], {
    combine: (a, b) => {
      if (b.key % 5_000 === 4_321 && b.at > 30_000) throw new Error('not this one')
      return { key: a.key, at: a.at + b.at }
    },
  })
  const rows = Array.from({ length: 60_000 }, (_, i) => i).filter((i) => (i * 7919) % 20_000 === 4_321)
  const row = rows.find((i) => i > 30_000)
  await expect(Promise.resolve(sums.shape())).rejects.toThrow(
    new TaskError(`index.combine: the function threw at row ${row}: not this one`, {
      cause: new Error('not this one'),
      key: [row as number],
    }),
  )
  const whole = many.index((r) => [r.key], { combine: (a, b) => ({ key: a.key, at: a.at + b.at }) })
  expect(await whole.at(4_321)).toEqual({ key: 4_321, at: rows.reduce((sum, i) => sum + i) })
})
