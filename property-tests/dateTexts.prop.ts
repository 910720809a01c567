/**
 * Texts of dates, computed once for each day or for each span of time that they tell apart, are those that JavaScript makes row by row: at
 * the ends of days, years and eras, before 1970, with digits finer than a millisecond, nulls and dates that have none.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ColumnType, ElementType } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareBatch } from '../src/exec/memory/shareColumns.ts'
import { datePlaces } from '../src/exec/tables/columns/texts/dateValues.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction, returnedElement } from '../src/planner/function/userFunction.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { lowerMarked as lower } from './lowerMarked.ts'

const LAW = announcedRun('dateTexts.prop.ts')
const arena = lawArena(2 ** 26)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 1, arena, handlers })
const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
afterAll(() => pool.stop())

const DAY = 86_400_000n
const LAST_MS = 8_640_000_000_000_000n
/** The units of a millisecond, or for seconds its thousandth part. */
const PER_MS = { s: 1n, ms: 1n, us: 1_000n, ns: 1_000_000n } as const

interface Row {
  readonly day: Date
  readonly at: Date
  readonly n: number
}

/** Functions of the day, and of the instant, each with the span that it tells apart. */
const FUNCTIONS: readonly ((row: Row) => unknown)[] = [
  (r) => r.day.toISOString(),
  (r) => r.day.toISOString().slice(0, 7),
  (r) => `${r.day.toISOString().slice(8, 10)}.${r.day.getUTCMonth() + 1}.`,
  (r) => (r.n > 3 ? r.day.toISOString().slice(0, 4) : 'few'),
  (r) => r.at.toISOString().slice(0, 4),
  (r) => r.at.toISOString().slice(0, 10),
  (r) => r.at.toISOString().substring(10, 2),
  (r) => r.at.toISOString().slice(0, 11),
  (r) => r.at.toISOString().slice(5, 13),
  (r) => r.at.toISOString().slice(0, 14),
  (r) => r.at.toISOString().slice(0, 16),
  (r) => r.at.toISOString().slice(0, 7) === '1970-01',
  (r) => r.at.toISOString().slice(0, 16) + r.at.toISOString().slice(0, 10).toLowerCase(),
  (r) => r.at.toISOString().slice(0, 10) + r.day.toISOString().slice(0, 10),
]

const unit = fc.constantFrom('s', 'ms', 'us', 'ns')
/** Instants in milliseconds that lie close together, around ends of days, hours, minutes, years and eras. */
const around = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0n, 19_800n * DAY, -1n, -719_529n * DAY, 2_932_897n * DAY, -62_167_219_200_000n) },
  { weight: 1, arbitrary: fc.constantFrom(LAST_MS, -LAST_MS) },
)
const offsets = fc.oneof(
  fc.bigInt({ min: -3n, max: 3n }),
  fc.bigInt({ min: -50n, max: 50n }).map((hours) => hours * 3_600_000n - 1n),
  fc.bigInt({ min: -3n * DAY, max: 3n * DAY }),
)

const drawn = fc.record({
  unit,
  start: around,
  offsets: fc.array(fc.tuple(offsets, fc.bigInt({ min: 0n, max: 999_999n })), { minLength: 1, maxLength: 24 }),
  nulls: fc.constantFrom('none', 'none', 'days', 'instants'),
  isGuarded: fc.boolean(),
  f: fc.constantFrom(...FUNCTIONS),
})

test('texts of dates are those of each row', async () => {
  const seen = { once: 0, failed: 0, hours: 0 }
  const empty = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(drawn, async ({ unit: of, start, offsets: moved, nulls, isGuarded, f }) => {
      const instants = moved.map(([by, finer], i) => {
        if (nulls === 'instants' && i % 3 === 1) return null
        const ms = start + by
        const stored = of === 's' ? ms / 1000n : ms * PER_MS[of] + (finer % PER_MS[of])
        return BigInt.asIntN(64, stored)
      })
      const days = moved.map(([by], i) => (nulls === 'days' && i % 3 === 1 ? null : Number((start + by) / DAY) - (i % 3)))
      const stored: readonly (readonly [string, ColumnType, Column])[] = [
        ['day', { kind: 'date' }, columnFromValues(days, { kind: 'i32' })],
        ['at', { kind: 'timestamp', unit: of }, columnFromValues(instants, { kind: 'i64' })],
        ['n', { kind: 'f64' }, columnFromValues([...days.keys()].map((i) => (i * 5) % 7))],
      ]
      const fields = stored.map(([name, type, column]) => ({ name, type, nullable: column.validity !== undefined }))
      const element: ElementType = { kind: 'row', fields }
      const table = shareBatch(
        { element, length: days.length, columns: stored.map(([, type, column]) => ({ ...column, type })) },
        arena,
        'the law',
      )
      const keys = { kind: 'rowNumber' } as const
      const scan: LogicalPlan = { kind: 'Stored', name: 'rows', storage: { kind: 'table', ...table }, element, keys }
      const lowered = (one: (row: Row) => unknown, method: string) => lowerFunction(one, { kind: 'row', method, inputs: [element] }).fn
      const guard = lowered((r) => r.day !== null && r.at !== null, 'filter')
      const input: LogicalPlan = isGuarded ? { kind: 'Filter', input: scan, f: guard, element, keys } : scan
      const fn = lowered(f, 'map')
      const made = returnedElement(fn, { kind: 'row', method: 'map', inputs: [element] })
      const plan: LogicalPlan = { kind: 'Map', input, f: fn, element: made, keys }
      const read = rowReader(table)
      const rows = [...days.keys()].map((i) => read(i) as Row).filter((r) => !isGuarded || (r.day !== null && r.at !== null))
      const expected = outcome(() => rows.map(f))
      if ('failed' in expected) {
        seen.failed++
        await expect(executor.execute(plan)).rejects.toThrow(TaskError)
      } else {
        const batches = await executor.execute(plan)
        const actual = batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
        expect(actual).toEqual(expected.value)
        if (datePlaces(table.columns[1] as Column, 60_000) !== undefined) seen.once++
        if (of === 'us' || of === 'ns') seen.hours++
      }
      for (const column of table.columns) freeColumn(column, arena)
      expect(arena.usedBytes).toBe(empty)
    }),
    LAW,
  )
  console.log(`texts of dates: ${JSON.stringify(seen)}`)
  if (LAW.numRuns < 500) return
  expect(seen.once).toBeGreaterThan(LAW.numRuns / 4)
  expect(seen.failed).toBeGreaterThan(LAW.numRuns / 50)
})

function outcome<T>(run: () => T): { readonly value: T } | { readonly failed: unknown } {
  try {
    return { value: run() }
  } catch (failed) {
    return { failed }
  }
}
