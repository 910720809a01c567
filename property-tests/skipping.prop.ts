/**
 * Filters over Parquet skip row groups by their smallest and largest values, and lose no row by it: what is left is what plain
 * JavaScript leaves of all rows, for columns of every type that has bounds, with nulls, NaN, -0 and both ends of each type.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { planOf } from '../src/core/arrays/distArray.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { mayHold } from '../src/core/plan/predicate.ts'
import { writeParquet } from '../src/io/writeParquet.ts'
import { optimize } from '../src/planner/optimize.ts'
import { Session } from '../src/session/session.ts'
import { batchOf, tableOf } from './ioTables.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('skipping.prop.ts')
const LIMIT_MS = 300_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-skipping-'))
const session = await Session.start({ workers: 1, memory: '64MB' })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const TYPES: readonly ColumnType[] = [
  ...(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u8', 'bool', 'utf8', 'date'] as const).map((kind) => ({ kind })),
  ...(['ms', 'us', 'ns'] as const).map((unit) => ({ kind: 'timestamp', unit }) as const),
]

type Row = Readonly<Record<string, never>>
const FILTERS: readonly ((name: string, value: never) => (row: Row) => boolean)[] = [
  (name, value) => (row) => (row[name] as never) < value,
  (name, value) => (row) => (row[name] as never) <= value,
  (name, value) => (row) => (row[name] as never) > value,
  (name, value) => (row) => (row[name] as never) >= value,
  (name, value) => (row) => row[name] === value,
  (name, value) => (row) => value > (row[name] as never) && row[name] !== value,
]

test(
  'filters over Parquet lose no row by the row groups that they skip',
  async () => {
    const path = join(folder, 'groups.parquet')
    const seen = { filters: 0, pushed: 0, skipped: 0 }
    await fc.assert(
      fc.asyncProperty(
        tableOf(fc.constantFrom(...TYPES)),
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...FILTERS.keys())), { minLength: 3, maxLength: 3 }),
        async (table, rowGroupRows, picks) => {
          const batch = batchOf(table)
          await writeParquet({ batches: [batch], element: batch.element, path, options: { rowGroupRows } })
          const read = await session.readParquet<Row>(path, { int64: 'bigint' })
          const rows = await read.collect()
          for (const [column, row, which] of picks) {
            const field = table.fields[column % table.fields.length]
            const one: unknown = field === undefined ? undefined : rows[row % Math.max(1, rows.length)]?.[field.name]
            const value = one instanceof Date ? new Date(one) : one
            if (field === undefined || value === undefined || value === null) continue
            const keeps = (FILTERS[which] as (typeof FILTERS)[number])(field.name, value as never) // a number of the list, and a value of the column
            const filtered = read.filter(keeps)
            seen.filters++
            count(optimize(planOf(filtered)).plan)
            expect(await filtered.collect()).toEqual(rows.filter(keeps))
            expect(await filtered.count()).toBe(rows.filter(keeps).length)
          }
        },
      ),
      run,
    )
    console.log(`filters over Parquet: ${JSON.stringify(seen)}`)
    expect(seen.pushed).toBeGreaterThan(seen.filters / 4)
    expect(seen.skipped).toBeGreaterThan(seen.filters / 10)

    function count(plan: LogicalPlan): void {
      if (plan.kind === 'Filter') count(plan.input)
      if (plan.kind !== 'Scan' || plan.predicate === undefined) return
      const { predicate, source } = plan
      seen.pushed++
      if (source.splits.some((split) => !mayHold(predicate, split))) seen.skipped++
    }
  },
  LIMIT_MS,
)

test('row groups that no row can be kept of are not read', async () => {
  const path = join(folder, 'days.parquet')
  const day = (i: number): Date => new Date(Date.UTC(2024, 0, 1 + i))
  await session
    .fromRows(Array.from({ length: 100 }, (_, i) => ({ day: day(i), n: i, text: 'x'.repeat(i) })))
    .writeParquet(path, { rowGroupRows: 10 })
  const read = await session.readParquet<{ day: Date; n: number; text: string }>(path)
  let groups = 0
  const watching = session.events.subscribe((event) => {
    if (event.kind === 'progress') groups = event.total
  })
  const from = day(42)
  expect(await read.filter((r) => r.day >= from && r.n < 55).count()).toBe(13)
  expect(groups).toBe(2)
  expect((await read.filter((r) => r.n === 71).collect()).map((r) => r.text.length)).toEqual([71])
  expect(groups).toBe(1)
  expect(await read.filter((r) => r.n > 1000).collect()).toEqual([])
  expect(
    await read
      .filter((r) => r.n > 1000)
      .groupBy((r) => r.day)
      .count()
      .collect(),
  ).toEqual([])
  watching.unsubscribe()
})
