/**
 * Parquet files of which some have a column without a type, as writers make of a batch that holds nothing but null there, are read
 * together with those that have one: rows, filters, groups, joins and orders are those of the rows in memory, in any order of files, in folders
 * that say columns too.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count, max, sum } from '../src/core/plan/aggregates.ts'
import { openParquet } from '../src/io/parquet.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf } from './piecemeal.ts'

const ALL_RUNS = announcedRun('untypedColumns.prop.ts')
/** Each run writes files to disk. */
const RUN = { ...ALL_RUNS, numRuns: Math.min(ALL_RUNS.numRuns, 300) }
const folder = mkdtempSync(join(tmpdir(), 'distarray-untyped-'))
const { engines, stop } = piecemealEngines([1], 16)
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  await stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly id: number
  readonly n: number | null
  readonly s: string | null
  readonly at: Date | null
  readonly of: { readonly a: number } | null
  readonly list: readonly number[] | null
}

const COLUMNS = ['n', 's', 'at', 'of', 'list'] as const
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 })
const row = fc.record({
  n: orNull(fc.integer({ min: -3, max: 3 })),
  s: orNull(fc.constantFrom('', 'a', 'bc')),
  at: orNull(fc.integer({ min: 0, max: 9 }).map((days) => new Date(days * 86_400_000))),
  of: orNull(fc.record({ a: fc.integer({ min: 0, max: 3 }) }, { noNullPrototype: true })),
  list: orNull(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 })),
})
/** The rows of a file, and its columns that hold nothing. */
const file = fc.record({ rows: fc.array(row, { minLength: 1, maxLength: 8 }), none: fc.subarray([...COLUMNS]) })

type Ask = readonly [of: (table: DistArray<Row>) => Promise<unknown>, plain: (rows: readonly Row[]) => unknown]
const groups = <K, V>(rows: readonly Row[], key: (r: Row) => K, value: (group: readonly Row[]) => V) => {
  const keys = [...new Set(rows.map(key))]
  return keys.map((one) => ({ key: one, ...value(rows.filter((r) => key(r) === one)) }))
}
const ASKS: Readonly<Record<string, Ask>> = {
  rows: [(t) => t.collect(), (rows) => rows],
  'first rows': [(t) => t.take(5), (rows) => rows.slice(0, 5)],
  count: [(t) => t.count(), (rows) => rows.length],
  'a number of null is 0': [
    (t) =>
      t
        .filter((r) => (r.n as number) < 1)
        .map((r) => r.id)
        .collect(),
    (rows) => rows.filter((r) => (r.n as number) < 1).map((r) => r.id),
  ],
  'a text that is there': [(t) => t.filter((r) => r.s === 'a').collect(), (rows) => rows.filter((r) => r.s === 'a')],
  'what is null': [
    (t) => t.filter((r) => r.at === null || r.of === null).count(),
    (rows) => rows.filter((r) => r.at === null || r.of === null).length,
  ],
  'values of several columns': [
    (t) => t.map((r) => `${r.n ?? 'no'} ${r.s?.length} ${r.at?.getTime()} ${r.of?.a} ${r.list?.length}`).collect(),
    (rows) => rows.map((r) => `${r.n ?? 'no'} ${r.s?.length} ${r.at?.getTime()} ${r.of?.a} ${r.list?.length}`),
  ],
  'groups of texts': [
    (t) =>
      t
        .groupBy((r) => r.s)
        .agg({ n: count((r) => r.at), sum: sum((r) => r.n), last: max((r) => r.id) })
        .collect(),
    (rows) =>
      groups(
        rows,
        (r) => r.s,
        (group) => ({
          n: group.filter((r) => r.at !== null).length,
          sum: group.reduce((all, r) => all + (r.n ?? 0), 0),
          last: Math.max(...group.map((r) => r.id)),
        }),
      ),
  ],
  'an order': [
    (t) =>
      t
        .sortBy([{ by: (r) => r.n, nulls: 'first' }, (r) => r.id])
        .map((r) => r.id)
        .collect(),
    (rows) => rows.toSorted((a, b) => (a.n ?? -9) - (b.n ?? -9) || a.id - b.id).map((r) => r.id),
  ],
  'a join with itself': [
    (t) =>
      t
        .join(t.select('n', 'id').rename({ id: 'other' }), 'n')
        .map((r) => `${r.id} ${r.other}`)
        .collect(),
    (rows) => rows.flatMap((r) => rows.filter((q) => r.n !== null && q.n === r.n).map((q) => `${r.id} ${q.id}`)),
  ],
  'kept rows': [
    async (t) => (await t.materialize()).filter((r) => r.s !== null).count(),
    (rows) => rows.filter((r) => r.s !== null).length,
  ],
}

test('columns of which some files hold nothing are read with those of the others', async () => {
  let untyped = 0
  let number = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { minLength: 2, maxLength: 3 }),
      fc.constantFrom(...Object.keys(ASKS)),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (files, asked, rowGroupRows, inFolders) => {
        const own = join(folder, String(number++))
        const rows: Row[] = []
        for (const [i, { rows: drawn, none }] of files.entries()) {
          const part = drawn.map(
            (one, j): Row => ({ id: rows.length + j, ...one, ...Object.fromEntries(none.map((name) => [name, null])) }),
          )
          const at = inFolders ? join(own, `day=2024-01-0${i + 1}`) : own
          mkdirSync(at, { recursive: true })
          await session.fromRows(part).writeParquet(join(at, `${i}.parquet`), { rowGroupRows })
          rows.push(...part)
        }
        untyped += files.some(({ none }) => none.length > 0) ? 1 : 0
        // columns of files are read whole, for kernels, however few rows there are
        const read = new DistArray<Row>(engines[0] as (typeof engines)[number], tableOf(await openParquet(own)))
        const table = (inFolders ? read.select('id', ...COLUMNS) : read) as DistArray<Row>
        const [of, plain] = ASKS[asked] as Ask
        expect(await of(table), asked).toEqual(plain(rows))
        rmSync(own, { recursive: true })
      },
    ),
    RUN,
  )
  expect(untyped).toBeGreaterThan(RUN.numRuns / 3)
})
