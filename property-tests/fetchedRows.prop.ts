/**
 * Sorts under a limit, and filters that keep few rows, over files read the columns that only their result has for the rows of it alone, and
 * give what sorting and filtering all rows in plain JavaScript gives: for columns of every type, filters before, ties, both directions,
 * steps behind filters, row groups and record batches of any size.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DistArray, planOf } from '../src/core/arrays/distArray.ts'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { takeColumn } from '../src/core/data/columnSlices.ts'
import type { Field } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import { openArrow } from '../src/io/arrow/arrowFile.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { openParquet } from '../src/io/parquet.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { inputsOf, type PhysicalPlan } from '../src/planner/physical/physicalPlan.ts'
import { Session } from '../src/session/session.ts'
import { tableOf } from './ioTables.ts'
import { announcedRun } from './lawRuns.ts'
import { piecemealEngines, tableOf as tableOfSource } from './piecemeal.ts'

const run = announcedRun('fetchedRows.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-fetched-'))
const session = await Session.start({ workers: 2, memory: '128MB', progress: false })
const { engines, arena, stop } = piecemealEngines([1, 2])
afterAll(async () => {
  await stop()
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly key: number | null
  readonly group: number
}

const drawn = fc.record({
  table: tableOf(),
  length: fc.oneof(fc.nat(60), fc.integer({ min: 150, max: 500 })),
  step: fc.integer({ min: 1, max: 97 }),
  groups: fc.integer({ min: 1, max: 12 }),
  keys: fc.integer({ min: 1, max: 2_000 }),
  nulls: fc.integer({ min: 2, max: 12 }),
  limit: fc.integer({ min: 0, max: 40 }),
  format: fc.constantFrom('parquet', 'parquet', 'parquet', 'arrow'),
  isFiltered: fc.boolean(),
  isDescending: fc.boolean(),
  isOfTwo: fc.boolean(),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

/** The rows of the drawn table as a file, with a number of the row's and a group. */
async function written({ table, length, step, groups, keys, nulls, format }: Drawn) {
  const rows = Array.from({ length: table.rows === 0 ? 0 : length }, (_, i) => (i * step) % table.rows)
  const places = Int32Array.from(rows)
  const groupRows = Math.max(1, Math.ceil(rows.length / groups))
  const key = rows.map((_, i) => (i % nulls === 1 ? null : (i * 7919) % keys))
  const group = rows.map((_, i) => (i * 31) % 5)
  const own: readonly (readonly [Field, Column])[] = [
    [{ name: 'key', type: { kind: 'i32' }, nullable: true }, columnFromValues(key, { kind: 'i32' })],
    ...table.fields.map((field, i) => [field, takeColumn(table.columns[i] as Column, places)] as const), // one a field
    [{ name: 'group', type: { kind: 'i32' }, nullable: false }, columnFromValues(group, { kind: 'i32' })],
  ]
  const fields = own.map(([field]) => field)
  const element = { kind: 'row' as const, fields }
  const whole = { element, length: rows.length, columns: own.map(([, column]) => column) }
  const path = join(folder, `rows.${format}`)
  if (format === 'parquet') await writeParquet({ batches: [whole], element, path, options: { rowGroupRows: groupRows } })
  else {
    const cuts = Array.from({ length: Math.max(1, Math.ceil(rows.length / groupRows)) }, (_, i) => i * groupRows)
    const batches = cuts.map((from) => {
      const some = Int32Array.from(rows.slice(from, from + groupRows).keys(), (i) => from + i)
      return { element, length: some.length, columns: whole.columns.map((column) => takeColumn(column, some)) }
    })
    await writeArrow({ batches, element, path })
  }
  return { path, length: rows.length, groupRows }
}

test('the first rows by an order have the columns that are read for them alone', async () => {
  const seen = { fetched: 0, filtered: 0, arrow: 0, several: 0 }
  await fc.assert(
    fc.asyncProperty(drawn, async (one) => {
      const { limit, format, isFiltered, isDescending, isOfTwo } = one
      const { path, length, groupRows } = await written(one)
      const file = await (format === 'parquet'
        ? session.readParquet<Row>(path, { int64: 'bigint' })
        : session.readArrow<Row>(path, { int64: 'bigint' }))
      const all = await file.collect()
      const kept = isFiltered ? file.filter((row) => row.group !== 2) : file
      const order = isDescending ? 'descending' : 'ascending'
      const sorted = isOfTwo
        ? kept.sortBy([{ by: (row) => row.group }, { by: (row) => row.key, order }])
        : kept.sortBy([{ by: (row) => row.key, order }])
      const chain = sorted.limit(limit)
      const compare = (a: number | null, b: number | null): number =>
        a === null || b === null ? Number(a === null) - Number(b === null) : isDescending ? b - a : a - b
      const expected = all
        .filter((row) => !isFiltered || row.group !== 2)
        .sort((a, b) => (isOfTwo ? a.group - b.group : 0) || compare(a.key, b.key))
        .slice(0, limit)
      expect(await chain.collect()).toEqual(expected)
      if (!isFetched(lower(optimize(planOf(chain)).plan))) return
      seen.fetched++
      if (isFiltered) seen.filtered++
      if (format === 'arrow') seen.arrow++
      if (length > groupRows) seen.several++
    }),
    run,
  )
  console.log(`rows fetched: ${JSON.stringify(seen)}`)
  if (run.numRuns < 500) return
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(run.numRuns / 20)
})

/** Filters, each with the number that it is given, and what comes behind them. */
const FILTERS: readonly ((row: Row, n: number) => boolean)[] = [
  (row, n) => row.key === n,
  (row, n) => (row.key ?? -1) > n,
  (row, n) => row.key !== null && row.key < n,
  (row, n) => row.key === n || row.key === n + 1,
]
const filtered = (rows: DistArray<Row>, which: number, n: number): DistArray<Row> => {
  if (which === 0) return rows.filter((row, _, { n }) => row.key === n, { env: { n } })
  if (which === 1) return rows.filter((row, _, { n }) => (row.key ?? -1) > n, { env: { n } })
  if (which === 2) return rows.filter((row, _, { n }) => row.key !== null && row.key < n, { env: { n } })
  return rows.filter((row, _, { n }) => row.key === n || row.key === n + 1, { env: { n } })
}

const kept = fc.record({
  one: drawn.map((one) => ({ ...one, groups: 3 * one.groups })),
  which: fc.constantFrom(0, 0, 3, 3, 2, 1),
  /** The row whose key is compared with, and how far it is from it. */
  at: fc.nat(),
  off: fc.integer({ min: -2, max: 2 }),
  behind: fc.constantFrom('rows', 'rows', 'select', 'map', 'twice', 'fails'),
  engine: fc.nat(1),
})

test('rows that filters keep have the columns that are read for them alone', async () => {
  const seen = { fetched: 0, all: 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(kept, async ({ one, which, at, off, behind, engine }) => {
      const { path } = await written(one)
      const source = await (one.format === 'parquet' ? openParquet(path, { int64: 'bigint' }) : openArrow(path, { int64: 'bigint' }))
      const file = new DistArray<Row>(engines[engine] as (typeof engines)[number], tableOfSource(source))
      const all = await file.collect()
      const n = (all[at % Math.max(1, all.length)]?.key ?? 0) + off
      const expected = all.filter((row) => (FILTERS[which] as (typeof FILTERS)[number])(row, n))
      const rows = filtered(file, which, n)
      const before = arena.usedBytes
      if (behind === 'fails') {
        const failing = rows.map((row) => {
          if (row.group === 3) throw new RangeError(`no ${row.group}`)
          return row
        })
        const found = await failing.collect().catch((error: unknown) => error)
        const place = expected.findIndex((row) => row.group === 3)
        if (place < 0) expect(found).toEqual(expected)
        else {
          seen.failed++
          expect(found).toBeInstanceOf(TaskError)
          expect((found as TaskError).message).toContain(`row ${place}`)
        }
        return
      }
      const chain: DistArray<unknown> =
        behind === 'select'
          ? rows.select('group', 'key')
          : behind === 'map'
            ? rows.map((row) => ({ ...row, more: row.group + 1 }))
            : behind === 'twice'
              ? rows.filter((row) => row.group < 4)
              : rows
      const wanted =
        behind === 'select'
          ? expected.map(({ group, key }) => ({ group, key }))
          : behind === 'map'
            ? expected.map((row) => ({ ...row, more: row.group + 1 }))
            : behind === 'twice'
              ? expected.filter((row) => row.group < 4)
              : expected
      expect(await chain.collect()).toEqual(wanted)
      expect(arena.usedBytes).toBe(before)
      if (at % 4 > 0) return
      seen.all++
      if (!(await chain.explain({ analyze: true })).includes('FetchExec of')) return
      seen.fetched++
    }),
    { ...run, numRuns: Math.ceil(run.numRuns / 2) },
  )
  console.log(`rows fetched of filters: ${JSON.stringify(seen)}`)
  if (run.numRuns < 500) return
  expect(Math.min(seen.fetched, seen.failed)).toBeGreaterThan(run.numRuns / 60)
})

function isFetched(plan: PhysicalPlan): boolean {
  return plan.kind === 'FetchExec' || inputsOf(plan).some(isFetched)
}
