/**
 * Sorts under a limit over files read the columns that only their result has for the rows of it alone, and give what sorting all rows in
 * plain JavaScript gives: for columns of every type, filters before, ties, both directions, row groups and record batches of any size.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { planOf } from '../src/core/arrays/distArray.ts'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { takeColumn } from '../src/core/data/columnSlices.ts'
import type { Field } from '../src/core/data/schema.ts'
import { writeArrow } from '../src/io/arrow/writeArrow.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { inputsOf, type PhysicalPlan } from '../src/planner/physical/physicalPlan.ts'
import { Session } from '../src/session/session.ts'
import { tableOf } from './ioTables.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('fetchedRows.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-fetched-'))
const session = await Session.start({ workers: 2, memory: '128MB', progress: false })
afterAll(async () => {
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

test('the first rows by an order have the columns that are read for them alone', async () => {
  const seen = { fetched: 0, filtered: 0, arrow: 0, several: 0 }
  await fc.assert(
    fc.asyncProperty(drawn, async ({ table, length, step, groups, keys, nulls, limit, format, isFiltered, isDescending, isOfTwo }) => {
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
      if (rows.length > groupRows) seen.several++
    }),
    run,
  )
  console.log(`rows fetched: ${JSON.stringify(seen)}`)
  if (run.numRuns < 500) return
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(run.numRuns / 20)
})

function isFetched(plan: PhysicalPlan): boolean {
  return plan.kind === 'FetchExec' || inputsOf(plan).some(isFetched)
}
