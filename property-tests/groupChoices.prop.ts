/**
 * The least, greatest, first and last value of each group are values of its rows, to the last bit: of 64-bit integers with and without a
 * sign, which no double holds, of days and of timestamps, with nulls and filters, for keys that windows hold and that are hashed.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { freeColumn, shareBatch } from '../src/exec/memory/shareColumns.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { lowerFunction } from '../src/planner/function/userFunction.ts'
import { optimize } from '../src/planner/optimize.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('groupChoices.prop.ts')
const arena = lawArena(2 ** 27)
const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
const pool = createPool({ workers: 2, arena, handlers })
afterAll(() => pool.stop())

const LEAST = -(2n ** 63n)
const EDGES = [LEAST, 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 32n, 2n ** 31n, -1n, 0n, 1n, 2n ** 32n - 1n]
const signed = fc.oneof(fc.constantFrom(...EDGES), fc.bigInt({ min: LEAST, max: 2n ** 63n - 1n }), fc.bigInt({ min: -9n, max: 9n }))
const instants = fc.bigInt({ min: -8_640_000_000_000_000n, max: 8_640_000_000_000_000n })

/** The type, what it is stored as, and its stored values. */
const TYPES: readonly { readonly type: ColumnType; readonly stored: ColumnType; readonly values: fc.Arbitrary<bigint | number> }[] = [
  { type: { kind: 'i64' }, stored: { kind: 'i64' }, values: signed },
  { type: { kind: 'u64' }, stored: { kind: 'u64' }, values: signed.map((value) => BigInt.asUintN(64, value)) },
  { type: { kind: 'date' }, stored: { kind: 'i32' }, values: fc.integer({ min: -100_000_000, max: 100_000_000 }) },
  { type: { kind: 'timestamp', unit: 'ms' }, stored: { kind: 'i64' }, values: instants },
  { type: { kind: 'timestamp', unit: 'us' }, stored: { kind: 'i64' }, values: instants.map((ms) => (ms / 1000n) * 1000n + 7n) },
]

interface Row {
  readonly key: number
  readonly keep: number
  readonly value: never
}
type RowFunction = (row: Row) => unknown

const KEYS: readonly RowFunction[] = [(r) => r.key, (r) => r.key % 3, (r) => r.key * 1_000_003.5, (r) => String(r.key)]
const KINDS = ['min', 'max', 'first', 'last'] as const

test('extremes, firsts and lasts of groups are those of their rows', async () => {
  const seen = { groups: 0, nulls: 0 }
  const empty = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...TYPES).chain(({ values, ...type }) =>
        fc.record({
          type: fc.constant(type),
          some: fc.array(fc.option(values, { freq: 6, nil: null }), { minLength: 1, maxLength: 40 }),
        }),
      ),
      fc.record({ length: fc.integer({ min: 1, max: 900 }), step: fc.integer({ min: 1, max: 39 }), groups: fc.constantFrom(1, 2, 7, 60) }),
      fc.record({ key: fc.constantFrom(...KEYS), isFiltered: fc.boolean(), isNullable: fc.boolean() }),
      fc.subarray([...KINDS], { minLength: 1 }),
      async ({ type: { type, stored }, some }, { length, step, groups }, { key, isFiltered, isNullable }, kinds) => {
        const known = isNullable ? some : some.filter((value) => value !== null)
        if (known.length === 0) return
        const drawn = Array.from({ length }, (_, i) => known[((i * step) ^ (i >> 4)) % known.length] ?? null)
        const columns: readonly Column[] = [
          columnFromValues(
            Array.from({ length }, (_, i) => (i * 31) % groups),
            { kind: 'i32' },
          ),
          columnFromValues(
            Array.from({ length }, (_, i) => (i * 7) % 10),
            { kind: 'i32' },
          ),
          { ...columnFromValues(drawn, stored), type },
        ]
        const fields = ['key', 'keep', 'value'].map((name, i) => ({
          name,
          type: columns[i]?.type ?? type,
          nullable: i === 2 && isNullable,
        }))
        const element = { kind: 'row' as const, fields }
        const table = shareBatch({ element, length, columns }, arena, 'the law')
        const keys = { kind: 'rowNumber' } as const
        const lowered = (f: RowFunction, method: string) => lowerFunction(f, { kind: 'row', method, inputs: [element] }).fn
        const scan: LogicalPlan = { kind: 'Stored', name: 'rows', storage: { kind: 'table', ...table }, element, keys }
        const input: LogicalPlan = isFiltered
          ? { kind: 'Filter', input: scan, f: lowered((r) => r.keep < 6, 'filter'), element, keys }
          : scan
        const aggregates = kinds.map((kind) => ({ name: kind, kind, of: lowered((r) => r.value, kind) }))
        const plan: LogicalPlan = {
          ...{ kind: 'GroupBy', input, by: { kind: 'function', f: lowered(key, 'groupBy') }, how: { kind: 'agg', aggregates } },
          element: {
            kind: 'row',
            fields: [{ name: 'key', type: { kind: 'unknown' }, nullable: true }, ...kinds.map((name) => ({ name, type, nullable: true }))],
          },
          keys,
        }
        const executor = new Executor({ pool, arena, readSplit, lower, smallRows: 0 })
        const batches = await executor.execute(optimize(plan).plan)
        const storedAs = batches.flatMap((batch) => {
          const bare = {
            ...batch,
            element: { kind: 'row' as const, fields: kinds.map((name) => ({ name, type: stored, nullable: true })) },
          }
          const read = rowReader({ ...bare, columns: batch.columns.slice(1).map((column) => ({ ...column, type: stored })) })
          return Array.from({ length: batch.length }, (_, i) => read(i))
        })
        const rows = drawn.flatMap((value, i) =>
          (i * 7) % 10 < 6 || !isFiltered ? [{ value, key: key({ key: (i * 31) % groups } as Row) }] : [],
        )
        const found = new Map<unknown, (bigint | number | null)[]>()
        for (const { key: own, value } of rows) found.set(own, [...(found.get(own) ?? []), value])
        const expected = [...found.values()].map((values) => Object.fromEntries(kinds.map((kind) => [kind, chosen(kind, values)])))
        expect(storedAs).toEqual(expected)
        seen.groups += expected.length
        if (drawn.includes(null)) seen.nulls++
        for (const column of table.columns) freeColumn(column, arena)
        expect(arena.usedBytes).toBe(empty)
      },
    ),
    LAW,
  )
  console.log(`values of groups: ${JSON.stringify(seen)}`)
  if (LAW.numRuns < 500) return
  expect(seen.nulls).toBeGreaterThan(LAW.numRuns / 8)
})

function chosen(kind: (typeof KINDS)[number], values: readonly (bigint | number | null)[]): bigint | number | null {
  if (kind === 'first') return values[0] ?? null
  if (kind === 'last') return values.at(-1) ?? null
  const present = values.filter((value) => value !== null)
  return present.reduce<bigint | number | null>(
    (best, value) => (best === null || (kind === 'min' ? value < best : value > best) ? value : best),
    null,
  )
}
