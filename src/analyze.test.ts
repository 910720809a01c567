/** `explain({ analyze: true })`: the plan that ran, as a whole text, with times blanked. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { count, type DistArray, quantile, Session, stddev, sum } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'analyze-'))
const session = await Session.start({ workers: 2, progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly a: number
  readonly s: string
}
const rows = (length: number): Row[] => Array.from({ length }, (_, i) => ({ a: i, s: `s${i % 9}` }))
const large = session.fromRows(rows(30_000))
const path = join(folder, 'rows.parquet')
await large.writeParquet(path, { rowGroupRows: 10_000 })
const file = await session.readParquet<Row>(path)

/** What ran, without its times. */
async function ran(array: DistArray<unknown>): Promise<string> {
  const text = await array.explain({ analyze: true })
  return text.slice(text.indexOf('Ran in')).replace(/\d+\.\d ms/g, '… ms')
}

test('the text has the plan, the rules, and the plan that ran', async () => {
  const text = await large.filter((r) => r.a > 9).explain({ analyze: true })
  expect(text.replace(/\d+\.\d ms/g, '… ms')).toMatchInlineSnapshot(`
    "Plan
      Filter r => r.a > 9
        Scan fromRows [a, s]
    Rules: pushPredicateIntoScan
    Optimized plan
      Filter r => r.a > 9
        Scan fromRows [a, s] where a > 9
    Ran in … ms
      FilterExec r => r.a > 9: 30,000 -> 29,990 rows, … ms, 410 KiB; SIMD over columns
        ScanExec fromRows [a, s] where a > 9: 30,000 rows"
  `)
})

test('columns of files are read whole, and row groups that hold nothing are skipped', async () => {
  expect(await ran(file.filter((r) => r.a >= 10_000).map((r) => r.a * 2))).toMatchInlineSnapshot(`
    "Ran in … ms
      MapExec r => r.a * 2: 20,000 rows, … ms, 156 KiB; SIMD over columns
        FilterExec r => r.a >= 1e4
          ScanExec rows.parquet [a] where a >= 10000: 20,000 rows, 2 of 3 row groups, … ms, 156 KiB; read whole into the arena"
  `)
  expect(await ran(file)).toMatchInlineSnapshot(`
    "Ran in … ms
      ScanExec rows.parquet [a, s]: 30,000 rows, 3 of 3 row groups, … ms, 410 KiB; read in workers"
  `)
})

test('few rows of a file run in JavaScript, and it says why', async () => {
  expect(await ran(file.filter((r) => r.a < 100).map((r) => r.a * 2))).toMatchInlineSnapshot(`
    "Ran in … ms
      MapExec r => r.a * 2: 100 -> 100 rows, … ms, 800 bytes; JavaScript in workers, because only 10000 of its rows are read
        FilterExec r => r.a < 100: 10,000 -> 100 rows
          ScanExec rows.parquet [a] where a < 100: 10,000 rows, 1 of 3 row groups; read as it is needed"
  `)
})

test('rows that filters keep are fetched where they are few', async () => {
  const at = join(folder, 'wide.parquet')
  const wide = rows(60_000).map(({ a, s }) => ({ a, b: a / 3, s, t: `${s} of ${a}` }))
  await session.fromRows(wide).writeParquet(at, { rowGroupRows: 20_000 })
  const read = await session.readParquet<(typeof wide)[number]>(at)
  const few = read.filter((r) => r.a % 25_000 === 77)
  expect(await few.collect()).toEqual([wide[77], wide[25_077], wide[50_077]])
  expect(await ran(few)).toMatchInlineSnapshot(`
    "Ran in … ms
      FetchExec of wide.parquet [b, s, t]: 3 -> 3 rows, 3 of 3 row groups, … ms, 116 bytes; read in workers for these rows alone
        FilterExec r => r.a % 25e3 === 77: 60,000 -> 3 rows, … ms, 36 bytes; SIMD over columns
          ScanExec wide.parquet [a, row]: 60,000 rows, 3 of 3 row groups, … ms, 703 KiB; read whole into the arena"
  `)
  expect(await ran(few.map((r) => r.t + r.b))).toContain('FetchExec of wide.parquet [b, t]')
  expect(await few.explain()).toContain('streamed to the action  (of few rows: FetchExec of wide.parquet [b, s, t])')
  expect(await ran(read.filter((r) => r.a % 10 === 7))).not.toContain('FetchExec')
})

test('what is taken partition after partition says what kept it from the kernels', async () => {
  const at = join(folder, 'places.parquet')
  await session.fromRows(rows(30_000).map(({ a, s }) => ({ a, place: { s } }))).writeParquet(at)
  const places = await session.readParquet<{ a: number; place: { s: string } }>(at)
  expect(await ran(places.groupBy((r) => r.place.s.startsWith(`s${r.a}`)).count())).toMatchInlineSnapshot(`
    "Ran in … ms
      HashAggregateExec count = count: 30,000 -> 2 rows, … ms, 18 bytes; JavaScript on the caller's thread
        PartialGroupsExec count = count: 30,000 -> 30,000 rows, … ms, 22 bytes; JavaScript in workers, because it searches for what is no constant
          EvaluateExec [r => r.place.s.startsWith(\`s\${r.a}\`)]: 30,000 -> 30,000 rows
            ScanExec places.parquet [a, place]: 30,000 rows, 1 of 1 row groups; read as it is needed"
  `)
  const top = places.sortBy((r) => r.a).limit(2)
  expect(await ran(top)).toMatchInlineSnapshot(`
    "Ran in … ms
      LimitExec 2: 2 -> 2 rows, … ms, 32 bytes
        LimitExec 2: 2 -> 2 rows, … ms, 32 bytes; JavaScript on the caller's thread, because its rows are taken partition after partition
          FetchExec of places.parquet [place]: 2 -> 2 rows, 1 of 1 row groups, … ms, 32 bytes; read in workers for these rows alone
            SortExec first 2: 30,000 -> 2 rows, … ms, 24 bytes; WebAssembly in workers
              EvaluateExec [r => r.a]: 30,000 -> 30,000 rows, … ms, 586 KiB; columns handed on as they are
                ScanExec places.parquet [a, row]: 30,000 rows, 1 of 1 row groups, … ms, 352 KiB; read whole into the arena"
  `)
})

test('groups, sorts and limits', async () => {
  expect(await ran(large.groupBy((r) => r.s).agg({ a: sum((r) => r.a), n: count() }))).toMatchInlineSnapshot(`
    "Ran in … ms
      HashAggregateExec a = sum, n = count: 9 rows, … ms, 202 bytes; SIMD over columns, groups in the same pass
        EvaluateExec [r => r.s, r => r.a]; with the operator above
          ScanExec fromRows [a, s]: 30,000 rows"
  `)
  expect(await ran(large.groupBy((r) => r.a % 7).agg({ s: stddev((r) => r.a) }))).toContain('SIMD over columns, groups in two such passes')
  const medians = large
    .filter((r) => r.a > 3)
    .groupBy((r) => r.s)
    .agg({ q: quantile((r) => r.a, 0.5) })
  expect(await ran(medians.sortBy((r) => r.q).limit(3))).toMatchInlineSnapshot(`
    "Ran in … ms
      LimitExec 3: 3 -> 3 rows, … ms, 46 bytes
        LimitExec 3: 3 -> 3 rows, … ms, 46 bytes; JavaScript on the caller's thread, because its rows are taken partition after partition
          SortExec first 3: 3 -> 3 rows, … ms, 46 bytes; JavaScript on the caller's thread, because there are few rows
            TopKExec 3: 9 -> 3 rows, … ms, 70 bytes; JavaScript on the caller's thread, because its rows do not come from a table in memory
              EvaluateExec [r => r.q]: 9 -> 9 rows
                HashAggregateExec q = quantile: 29,996 -> 9 rows, … ms, 130 bytes; WebAssembly in workers
                  EvaluateExec [r => r.s, r => r.a]: 29,996 rows, … ms, 264 KiB; SIMD over columns
                    FilterExec r => r.a > 3
                      ScanExec fromRows [a, s] where a > 3: 30,000 rows"
  `)
  expect(await ran(large.sortBy((r) => r.s))).toMatchInlineSnapshot(`
    "Ran in … ms
      SortExec: 30,000 -> 30,000 rows, … ms, 410 KiB; WebAssembly in workers
        EvaluateExec [r => r.s]: 30,000 -> 30,000 rows, … ms, 586 KiB; columns handed on as they are
          ScanExec fromRows [a, s]: 30,000 rows"
  `)
  expect(await ran(large.map((r) => r.s).distinct())).toMatchInlineSnapshot(`
    "Ran in … ms
      DistinctExec: 30,000 -> 9 rows, … ms, 58 bytes; WebAssembly in workers
        EvaluateExec [element => element]: 30,000 rows, … ms, 29.3 KiB; columns handed on as they are
          MapExec r => r.s
            ScanExec fromRows [s]: 30,000 rows"
  `)
})

test('joins, with the side whose keys filter the other', async () => {
  const few = session.fromRows(rows(50))
  expect(await ran(large.join(few, 'a'))).toMatchInlineSnapshot(`
    "Ran in … ms
      HashJoinExec inner on "a": 30,050 -> 50 rows, … ms, 1008 bytes; WebAssembly in workers
        ScanExec fromRows [a, s]: 30,000 rows, … ms, 410 KiB
        ScanExec fromRows [a, s]: 50 rows, … ms, 704 bytes"
  `)
})

test('texts beside joined rows are called for once each in keys, and null in a key is a column', async () => {
  const names = session.fromRows(Array.from({ length: 9 }, (_, i) => ({ id: i, name: `name ${i}` })))
  const joined = large.withColumns((r) => ({ id: r.a % 9 })).join(names, 'id')
  const ofTexts = await ran(
    joined.groupBy((r) => ({ upper: r.name.toUpperCase(), both: `${r.s}/${r.name}`, none: null })).agg({ n: count() }),
  )
  expect(ofTexts).toContain('once for each value of a column')
  expect(ofTexts).not.toContain('because it')
  const different = await ran(joined.map((r) => ({ s: r.s, name: r.name })).distinct())
  expect(different).toContain('EvaluateExec [element => element]: 30,000 rows')
  expect(different).not.toContain('JavaScript in workers')
})

test('functions that are not compiled', async () => {
  let seen = 0
  expect(await ran(large.filter((r) => /1/g.test(r.s)).map((r) => r.a + 1))).toMatchInlineSnapshot(`
    "Ran in … ms
      MapExec r => r.a + 1: 3,334 -> 3,334 rows, … ms, 26 KiB; JavaScript in workers, because another function of its stage is not compiled
        FilterExec r => (/1/g).test(r.s): 30,000 -> 3,334 rows; a copy of the function, in workers, because it uses a regular expression
          ScanExec fromRows [a, s]: 30,000 rows, … ms, 410 KiB"
  `)
  expect(await ran(large.map((r) => r.a + seen++))).toMatchInlineSnapshot(`
    "Ran in … ms
      MapExec r => r.a + seen++: 30,000 -> 30,000 rows, … ms, 234 KiB; the function as it stands, on the caller's thread, because it assigns the captured variable seen
        ScanExec fromRows [a]: 30,000 rows, … ms, 234 KiB"
  `)
  expect(seen).toBe(30_000)
})

test('what is materialized runs as at its first use, and is a table from then on', async () => {
  const kept = large.filter((r) => r.a < 20_000).materialize()
  expect(await ran(kept)).toMatchInlineSnapshot(`
    "Ran in … ms
      FilterExec r => r.a < 2e4: 30,000 -> 20,000 rows, … ms, 273 KiB; SIMD over columns
        ScanExec fromRows [a, s] where a < 20000: 30,000 rows"
  `)
  await kept.count()
  expect(await ran(kept)).toMatchInlineSnapshot(`
    "Ran in … ms
      StoredExec fromRows.filter(…) table: 20,000 rows, … ms, 273 KiB"
  `)
})

test('texts of a file without dictionaries are encoded as they are read where they are keys of groups', async () => {
  const at = join(folder, 'rows.arrow')
  await session.fromColumns({ a: Float64Array.from({ length: 30_000 }, (_, i) => i), s: rows(30_000).map(({ s }) => s) }).writeArrow(at)
  const arrow = await session.readArrow<Row>(at)
  expect(await ran(arrow.groupBy((r) => r.s.toUpperCase()).agg({ a: sum((r) => r.a) }))).toMatchInlineSnapshot(`
    "Ran in … ms
      HashAggregateExec a = sum: 9 rows, … ms, 130 bytes; SIMD over columns, groups in the same pass
        EvaluateExec [r => r.s.toUpperCase(), r => r.a]: … ms; with the operator above
          ScanExec rows.arrow [a, s]: 30,000 rows, 1 of 1 record batches, … ms, 264 KiB; read whole into the arena"
  `)
  expect(
    await arrow
      .groupBy((r) => r.s)
      .agg({ a: sum((r) => r.a) })
      .collect(),
  ).toStrictEqual(
    await large
      .groupBy((r) => r.s)
      .agg({ a: sum((r) => r.a) })
      .collect(),
  )
})

test('as JSON it has the same as data', async () => {
  const { ran, milliseconds } = JSON.parse(await large.filter((r) => r.a > 9).explain({ analyze: true, format: 'json' }))
  expect(milliseconds).toBeGreaterThan(0)
  expect(ran).toMatchObject({
    operator: 'FilterExec r => r.a > 9',
    rowsIn: 30_000,
    rows: 29_990,
    ran: 'SIMD over columns',
    inputs: [{ operator: 'ScanExec fromRows [a, s] where a > 9', rows: 30_000, inputs: [] }],
  })
})

test('scans of the same rows of a file are read once', async () => {
  const totals = file.groupBy((r) => r.s).agg({ total: sum((r) => r.a) })
  expect(await ran(file.join(totals, { left: (r) => r.s, right: (t) => t.key }).filter((r) => r.a > 9))).toMatchInlineSnapshot(`
    "Ran in … ms
      HashJoinExec inner: 29,999 -> 29,990 rows, … ms, 820 KiB; WebAssembly in workers
        EvaluateExec [r => r.s]: 29,990 rows, … ms, 586 KiB; SIMD over columns
          FilterExec r => r.a > 9
            ScanExec rows.parquet [a, s] where a > 9: 30,000 rows, 3 of 3 row groups, … ms, 264 KiB; read whole into the arena, once for several scans
        EvaluateExec [t => t.key]: 9 -> 9 rows, … ms, 188 bytes; columns handed on as they are
          HashAggregateExec total = sum: 9 rows, … ms, 130 bytes; SIMD over columns, groups in the same pass
            EvaluateExec [r => r.s, r => r.a]; with the operator above
              ScanExec rows.parquet [a, s]: 30,000 rows, 3 of 3 row groups, … ms, 264 KiB; read whole into the arena, once for several scans"
  `)
})
