/**
 * Law: chains over CSV files, whose columns are read whole though nobody has counted their rows, have the results of plain JavaScript over
 * the rows, of any number of files, empty ones among them, with texts that repeat and texts that do not, and nulls; and nothing of them is
 * kept in memory.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray } from '../src/core/arrays/distArray.ts'
import { count } from '../src/core/plan/aggregates.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf, tableOfRows } from './piecemeal.ts'

const LAW = announcedRun('parsedFiles.prop.ts')
const { engines, arena, stop } = piecemealEngines([1, 2], 16)
const folder = mkdtempSync(join(tmpdir(), 'parsed-files-'))
afterAll(async () => {
  await stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly s: string
  readonly n: number | null
  readonly yes: boolean
}
const row: fc.Arbitrary<Row> = fc.record(
  {
    s: fc.oneof(
      { arbitrary: fc.constantFrom('a/1', 'b/2', 'c', 'žluť/3'), weight: 5 },
      fc.nat(1e6).map((n) => `t${n}/${n % 7}`),
    ),
    n: fc.option(fc.integer({ min: -3, max: 9 }), { freq: 5 }),
    yes: fc.boolean(),
  },
  { noNullPrototype: true },
)
const files = fc.array(fc.array(row, { maxLength: 24 }), { minLength: 1, maxLength: 5 })
const TYPES = { s: 'utf8', n: 'f64', yes: 'bool' } as const

type F<T> = (r: Row) => T
interface Chain {
  readonly name: string
  readonly of: (table: DistArray<Row>) => DistArray<unknown>
  readonly plain: (rows: readonly Row[]) => readonly unknown[]
}
const test1: F<boolean> = (r) => (r.n ?? 1) > 0
const given: F<object> = (r) => ({ s: r.s, m: (r.n ?? 0) * 2, yes: r.yes })
const part: F<string> = (r) => r.s.split('/')[0] ?? ''
const groups = (rows: readonly Row[], key: F<unknown>): readonly object[] => {
  const found = new Map<unknown, number>()
  for (const one of rows) found.set(key(one), (found.get(key(one)) ?? 0) + 1)
  return [...found].map(([key, rows]) => ({ key, rows }))
}
const CHAINS: readonly Chain[] = [
  { name: 'filter', of: (t) => t.filter((r) => (r.n ?? 1) > 0), plain: (rows) => rows.filter(test1) },
  { name: 'map', of: (t) => t.map((r) => ({ s: r.s, m: (r.n ?? 0) * 2, yes: r.yes })), plain: (rows) => rows.map(given) },
  { name: 'text', of: (t) => t.map((r) => r.s.toUpperCase()), plain: (rows) => rows.map((r) => r.s.toUpperCase()) },
  {
    name: 'filter of texts',
    of: (t) => t.filter((r) => r.s.includes('/') && r.yes),
    plain: (rows) => rows.filter((r) => r.s.includes('/') && r.yes),
  },
  { name: 'groups of texts', of: (t) => t.groupBy((r) => r.s).agg({ rows: count() }), plain: (rows) => groups(rows, (r) => r.s) },
  {
    name: 'groups of parts',
    of: (t) => t.groupBy((r) => r.s.split('/')[0] ?? '').agg({ rows: count() }),
    plain: (rows) => groups(rows, part),
  },
  { name: 'groups of numbers', of: (t) => t.groupBy((r) => r.n).agg({ rows: count() }), plain: (rows) => groups(rows, (r) => r.n) },
  {
    name: 'sort',
    of: (t) => t.sortBy((r) => r.n ?? 0).map((r) => r.s),
    plain: (rows) => [...rows].sort((a, b) => (a.n ?? 0) - (b.n ?? 0)).map((r) => r.s),
  },
  { name: 'distinct', of: (t) => t.map((r) => r.s).distinct(), plain: (rows) => [...new Set(rows.map((r) => r.s))] },
]

test('chains over parsed files have the results of JavaScript over their rows', async () => {
  const seen = { columns: 0, several: 0, none: 0 }
  await fc.assert(
    fc.asyncProperty(files, fc.constantFrom(...CHAINS), fc.nat(1), async (given, { name, of, plain }, engine) => {
      const paths: string[] = []
      for (const [i, rows] of given.entries()) {
        const plan = tableOfRows(rows.length === 0 ? [{ s: 'x', n: 1, yes: true }] : rows)
        const { source } = plan as Extract<typeof plan, { kind: 'Scan' }>
        const all = await readSplit(source, source.splits[0] as (typeof source.splits)[number], ['s', 'n', 'yes'], undefined)
        const batches = all.map((batch) => (rows.length === 0 ? { ...batch, length: 0 } : batch))
        const path = join(folder, `rows${i}.csv`)
        await writeCsv({ batches, element: source.element, path })
        paths.push(path)
      }
      const rows = given.flat()
      const table = new DistArray<Row>(engines[engine] as (typeof engines)[number], tableOf(await openCsv(paths, { types: TYPES })))
      const before = arena.usedBytes
      const found = await of(table).collect()
      expect(found, name).toEqual(plain(rows))
      expect(arena.usedBytes, name).toBe(before)
      if (given.length > 1) seen.several++
      if (rows.length === 0) seen.none++
      if (/over columns|columns are read whole/.test(await of(table).explain({ analyze: true }))) seen.columns++
    }),
    LAW,
  )
  console.log(`parsed files: ${JSON.stringify(seen)}`)
  if (LAW.numRuns >= 500) expect(Math.min(seen.columns, seen.several)).toBeGreaterThan(LAW.numRuns / 10)
}, 300_000)
