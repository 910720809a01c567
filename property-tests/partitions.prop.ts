/**
 * Folders that say columns: what DuckDB reads of a lake is what is read here, value by value; filters lose no row by the files that
 * they leave out, and leave out all whose folders decide them.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBDateValue, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, planOf } from '../src/core/arrays/distArray.ts'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { type ColumnType, type ElementType, fieldsOf } from '../src/core/data/schema.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { NULL_PARTITION } from '../src/io/partitions/partitions.ts'
import { writePartitions } from '../src/io/partitions/writePartitions.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { Session } from '../src/session/session.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('partitions.prop.ts')
const LIMIT_MS = 600_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-partitions-'))
let session: Session
let duckdb: DuckDBConnection
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
  duckdb = await (await DuckDBInstance.create()).connect()
})
afterAll(async () => {
  duckdb.closeSync()
  await session.stop()
  rmSync(folder, { recursive: true })
})

type Row = Readonly<Record<string, never>>

/** What folders of one level may say. */
const LEVELS: readonly fc.Arbitrary<readonly string[]>[] = [
  distinct(
    fc.oneof(
      fc.integer({ min: -3, max: 12 }).map(String),
      fc.integer({ min: 0, max: 12 }).map((n) => String(n).padStart(2, '0')),
      fc.constantFrom('9007199254740990', '-9007199254740990'),
    ),
  ),
  distinct(fc.integer({ min: 0, max: 800 }).map((day) => new Date(Date.UTC(2023, 0, 1 + day)).toISOString().slice(0, 10))),
  distinct(
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 4 }).filter((text) => text.trim() === text),
      fc.constantFrom('a', 'A/b', 'ü %', 'x=y', '2024-02-30', '1.5', '12a', '100%', '+1', '../up'),
    ),
  ),
  distinct(fc.oneof(fc.integer({ min: 1, max: 3 }).map(String), fc.constant('2024-01-01'))),
]

function distinct(values: fc.Arbitrary<string>): fc.Arbitrary<readonly string[]> {
  return fc.uniqueArray(fc.oneof({ weight: 6, arbitrary: values }, { weight: 1, arbitrary: fc.constant(NULL_PARTITION) }), {
    minLength: 1,
    maxLength: 3,
  })
}

/** Names of the levels. */
const NAMES = ['year', 'month'] as const

const FILTERS: readonly ((p: string, v: never, q: string, w: never) => (row: Row) => boolean)[] = [
  (p, v) => (r) => r[p] === v,
  (p, v) => (r) => r[p] !== v,
  (p, v) => (r) => (r[p] as never) < v,
  (p, v) => (r) => (r[p] as never) >= v,
  (p, v, q, w) => (r) => (r[p] as never) > v && (r[q] as never) <= w,
  (p, v, q, w) => (r) => (r[p] as never) <= v || !(r[q] === w),
  (p, v) => (r) => (r.id as unknown as number) > 1 && r[p] === v,
  (p, v) => (r) => (r.id as unknown as number) > 2 || r[p] === v,
  (p, v, q, w) => (r) => ((r[p] as never) < v ? (r.id as unknown as number) > 0 : (r[q] as never) >= w),
]

test(
  'folders are the columns that DuckDB reads, and filters on them leave out files and no row',
  async () => {
    const lake = join(folder, 'lake')
    const seen = { lakes: 0, filters: 0, pruned: 0, gone: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(...LEVELS), { minLength: 1, maxLength: 2 }),
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 9, maxLength: 9 }),
        fc.array(fc.tuple(fc.constantFrom(...FILTERS.keys()), fc.nat(), fc.nat(), fc.nat()), { minLength: 1, maxLength: 1 }),
        async (levels, sizes, picks) => {
          rmSync(lake, { recursive: true, force: true })
          const names = NAMES.slice(0, levels.length)
          let id = 0
          const files = levels.reduce<readonly string[]>(
            (folders, values, i) =>
              folders.flatMap((one) =>
                values.map((value) => join(one, `${encodeURIComponent(names[i] ?? '')}=${encodeURIComponent(value)}`)),
              ),
            [lake],
          )
          for (const [i, one] of files.entries()) {
            mkdirSync(one, { recursive: true })
            const ids = Array.from({ length: sizes[i % sizes.length] ?? 1 }, () => id++)
            const element = { kind: 'row', fields: [{ name: 'id', type: { kind: 'f64' }, nullable: false }] } as const
            await writeParquet({
              batches: [{ element, length: ids.length, columns: [columnFromValues(ids)] }],
              element,
              path: join(one, 'part.parquet'),
              options: { rowGroupRows: 2 },
            })
          }
          seen.lakes++
          const theirs = await duckdbRows(lake, names)
          const table = await session.readParquet<Row>(lake)
          expect(byId(await table.collect())).toEqual(theirs)
          for (const [which, a, b, c] of picks) {
            const [p = 'year', q = 'year'] = [names[a % names.length], names[b % names.length]]
            const row = theirs[c % theirs.length] as Row
            const other = theirs[(c * 7 + 1) % theirs.length] as Row
            const keeps = (FILTERS[which] as (typeof FILTERS)[number])(p, own(row[p]), q, own(other[q]))
            const kept = theirs.filter(keeps)
            const filtered = table.filter(keeps)
            expect(byId(await filtered.collect())).toEqual(kept)
            expect(await filtered.count()).toBe(kept.length)
            seen.filters++
            const { source, isFiltered } = scanOf(filtered)
            if (!isFiltered) seen.gone++
            if ((source.files?.read ?? 0) < files.length) seen.pruned++
            // of a filter that reads nothing but folders, all that can be left out is, and nothing is left to ask
            const [v, w]: readonly unknown[] = [row[p], other[q]]
            // Dates that are the same object are not compiled
            if (which > 5 || (which < 2 && v instanceof Date) || (which === 5 && w instanceof Date)) continue
            const whole = new Set(kept.map((one) => names.map((name) => String(one[name])).join('\0')))
            expect(source.files?.read).toBe(whole.size)
            expect(isFiltered).toBe(false)
          }
        },
      ),
      run,
    )
    console.log(`folders as columns: ${JSON.stringify(seen)}`)
    expect(seen.pruned).toBeGreaterThan(seen.filters / 3)
  },
  LIMIT_MS,
)

const VALUES: Readonly<Record<string, readonly [ColumnType, fc.Arbitrary<unknown>]>> = {
  number: [{ kind: 'f64' }, fc.constantFrom(0, -0, 1, -7, 2024, 9007199254740990)],
  i32: [{ kind: 'i32' }, fc.integer({ min: -2, max: 2 })],
  text: [{ kind: 'utf8' }, fc.oneof(fc.string({ maxLength: 2 }), fc.constantFrom('DE', 'a/b', '..', '%', '100%25', 'é=', '007', '_x'))],
  day: [{ kind: 'date' }, fc.constantFrom('2024-01-01', '1969-12-31', '2024-02-29').map((day) => new Date(day))],
}

test(
  'what is written into folders is read back, by DuckDB too: each row once, those of a folder in their order',
  async () => {
    const lake = join(folder, 'written')
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...Object.keys(VALUES)), { minLength: 1, maxLength: 2 }),
        fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer(),
        async (kinds, sizes, rowGroupRows, seed) => {
          const names = NAMES.slice(0, kinds.length)
          const total = sizes.reduce((sum, size) => sum + size, 0)
          const pools = kinds.map((kind) =>
            fc.sample(fc.option((VALUES[kind] as (typeof VALUES)[string])[1], { freq: 6 }), { seed, numRuns: 3 }),
          )
          const pick = (row: number, c: number): unknown => pools[c]?.[Math.abs((seed % 1000) * (c + 1) + row * row + row) % 3]
          const rows = Array.from({ length: total }, (_, id) => ({
            id,
            ...Object.fromEntries(names.map((name, c) => [name, pick(id, c)])),
          }))
          const fields = names.map((name, c) => ({ name, type: (VALUES[kinds[c] ?? ''] as (typeof VALUES)[string])[0], nullable: true }))
          const element: ElementType = { kind: 'row', fields: [...fields, { name: 'id', type: { kind: 'f64' }, nullable: false }] }
          let from = 0
          const batches = sizes.map((length): Batch => {
            const part = rows.slice(from, from + length) as readonly Readonly<Record<string, unknown>>[]
            from += length
            return {
              element,
              length,
              columns: fieldsOf(element).map(({ name, type }) =>
                columnFromValues(
                  part.map((row) => row[name]),
                  type,
                ),
              ),
            }
          })
          const written = await writePartitions({
            batches,
            element,
            path: lake,
            options: { partitionBy: names, existing: 'replace', rowGroupRows },
          })
          expect(written.rows).toBe(total)
          if (total === 0) return
          const back = await (await session.readParquet<Row>(lake)).collect()
          const theirs = await duckdbRows(lake, names)
          expect(byId(back)).toEqual(theirs)
          expect(theirs.map((row) => names.map((name) => textOf(row[name])))).toEqual(
            rows.map((row) => names.map((name) => textOf((row as never)[name]))),
          )
          const last = new Map<string, number>()
          for (const row of back) {
            const key = names.map((name) => textOf(row[name])).join('/')
            expect(Number(row.id)).toBeGreaterThan(last.get(key) ?? -1)
            last.set(key, Number(row.id))
          }
          expect(written.files).toBe(last.size)
          expect(await rowsByFooters(lake)).toBe(total)
        },
      ),
      run,
    )
  },
  LIMIT_MS,
)

/** Numbers that stand among texts are texts when they are read. */
function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString().slice(0, 10) : String(Object.is(value, -0) ? 0 : value)
}

function scanOf(table: DistArray<Row>): {
  readonly source: Extract<LogicalPlan, { kind: 'Scan' }>['source']
  readonly isFiltered: boolean
} {
  const { plan } = optimize(planOf(table))
  const isFiltered = plan.kind === 'Filter'
  const scan = isFiltered ? plan.input : plan
  if (scan.kind !== 'Scan') throw new Error(`No scan, but ${scan.kind}.`)
  return { source: scan.source, isFiltered }
}

/** Of Dates another one: no row has the program's. */
function own(value: unknown): never {
  return (value instanceof Date ? new Date(value) : value) as never
}

function byId(rows: readonly Row[]): readonly Row[] {
  return [...rows].sort((a, b) => Number(a.id) - Number(b.id))
}

async function duckdbRows(lake: string, names: readonly string[]): Promise<readonly Row[]> {
  const columns = ['id', ...names].map((name) => `"${name}"`).join(', ')
  const found = await duckdb.runAndReadAll(
    `select ${columns} from read_parquet('${lake}/**/*.parquet', hive_partitioning = true) order by id`,
  )
  return found.getRows().map((row) => Object.fromEntries(['id', ...names].map((name, i) => [name, plain(row[i] as DuckDBValue)])) as Row)
}

/** Readers that go by row groups do not look at it. */
async function rowsByFooters(lake: string): Promise<number> {
  const found = await duckdb.runAndReadAll(`select sum(num_rows) from parquet_file_metadata('${lake}/**/*.parquet')`)
  return Number(found.getRows()[0]?.[0])
}

function plain(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return Number(value)
  return value instanceof DuckDBDateValue ? new Date(value.days * 86_400_000) : value
}
