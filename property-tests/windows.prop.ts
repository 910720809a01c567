/**
 * Windows that workers share, and those that one task computes, have the columns that the definition gives, whatever the keys, ties, nulls
 * and frames: row by row, from the partition and the frame of each.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import type { WindowCall } from '../src/core/plan/logicalPlan.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { concatBatches, type ExecBatch, rowBatch } from '../src/exec/tables/operators/batches.ts'
import { runWide } from '../src/exec/tables/operators/index.ts'
import type { StageTask } from '../src/exec/tables/stage.ts'
import { runStageTask } from '../src/exec/tables/stageTask.ts'
import { sumsFromStart } from '../src/exec/tables/windows/frameSums.ts'
import type { WindowOperator } from '../src/exec/tables/windows/windowColumns.ts'
import { windowedBatches } from '../src/exec/tables/windows/windowRun.ts'
import { cuts, pieces } from './arbitraries/keys.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { treeSum } from './reference.ts'
import { windowed } from './windowReference.ts'

const LAW = announcedRun('windows.prop.ts')

interface Drawn {
  readonly type: ColumnType
  readonly values: readonly unknown[]
}

/** Numbers that sums round, and those that break comparisons. */
const NUMBERS = fc.oneof(
  fc.double({ noDefaultInfinity: true, min: -1e6, max: 1e6 }),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0, -0, 1e16, -1e16, 0.1),
)
const ODD = fc.oneof(NUMBERS, fc.constantFrom(NaN, Infinity, -Infinity))
const DATES = fc.integer({ min: -3, max: 9 }).map((day) => new Date(day * 86_400_000))
const ITEMS: readonly { readonly type: ColumnType; readonly items: fc.Arbitrary<unknown> }[] = [
  { type: { kind: 'f64' }, items: NUMBERS },
  { type: { kind: 'f64' }, items: ODD },
  { type: { kind: 'i32' }, items: fc.integer({ min: -4, max: 4 }) },
  { type: { kind: 'f32' }, items: fc.constantFrom(0.5, -0, 0, 2, NaN) },
  { type: { kind: 'i64' }, items: fc.bigInt({ min: -4n, max: 2n ** 50n }) },
  { type: { kind: 'utf8' }, items: fc.constantFrom('', 'a', 'b', 'ab', '\uffff', '𐀀') },
  { type: { kind: 'timestamp', unit: 'us' }, items: DATES },
  { type: { kind: 'date' }, items: DATES },
  { type: { kind: 'bool' }, items: fc.boolean() },
]

/** Values of a column: few different ones, or many; with nulls or without. */
function drawn(kinds: (type: ColumnType) => boolean, rows: number): fc.Arbitrary<Drawn> {
  return fc.constantFrom(...ITEMS.filter(({ type }) => kinds(type))).chain(({ type, items }) =>
    fc
      .record({
        some: fc.array(fc.oneof({ weight: 8, arbitrary: items }, { weight: 1, arbitrary: fc.constant(null) }), {
          minLength: 1,
          maxLength: 40,
          size: 'max',
        }),
        nulls: fc.boolean(),
        step: fc.integer({ min: 1, max: 59 }),
      })
      .map(({ some, nulls, step }) => {
        const kept = nulls ? some : some.filter((value) => value !== null)
        return { type, values: Array.from({ length: rows }, (_, i) => kept[((i * step) ^ (i >> 3)) % kept.length] ?? null) }
      }),
  )
}

const any = (): boolean => true
const isMeasured = ({ kind }: ColumnType): boolean => ['f64', 'f32', 'i32', 'date', 'timestamp'].includes(kind)
const isNumber = ({ kind }: ColumnType): boolean => ['f64', 'f32', 'i32'].includes(kind)
const isCompared = ({ kind }: ColumnType): boolean => kind !== 'bool'

const end = fc.oneof(fc.integer({ min: -30, max: 30 }), fc.constantFrom(0, 0, null, -1, 1))
const ends = fc.tuple(end, end).map(([a, b]) => (a !== null && b !== null && a > b ? ([b, a] as const) : ([a, b] as const)))

const sizes = fc.oneof(
  { weight: 8, arbitrary: fc.nat(30) },
  { weight: 2, arbitrary: fc.nat(90) },
  { weight: 1, arbitrary: fc.constant(150) },
)

const window = sizes.chain((rows) =>
  fc.record({
    rows: fc.constant(rows),
    by: fc.option(drawn(any, rows)),
    order: fc.option(fc.record({ isMeasured: fc.boolean(), any: drawn(any, rows), measured: drawn(isMeasured, rows) })),
    descending: fc.boolean(),
    kind: fc.constantFrom('rows' as const, 'range' as const),
    ends,
    numbers: drawn(isNumber, rows),
    compared: drawn(isCompared, rows),
    other: drawn(any, rows),
    bigints: drawn(({ kind }) => kind === 'i64', rows),
    n: fc.integer({ min: 1, max: 5 }),
    workers: fc.integer({ min: 1, max: 4 }),
    cuts,
    // of one call less is asked than of all
    alone: fc.option(fc.nat(15)),
  }),
)

const NAMES = ['by', 'order', 'numbers', 'compared', 'other', 'bigints'] as const

test('the columns of a window are those of its definition, whoever computes them', async () => {
  const found = { shared: 0, long: 0, measured: 0, ties: 0 }
  const arena = lawArena(2 ** 26)
  await fc.assert(
    fc.asyncProperty(window, async (one) => {
      const empty = arena.usedBytes
      const { rows, by, order, descending, numbers, compared, other, bigints, n, workers } = one
      // distances are measured where the order has any
      const isFar = one.kind === 'range' && order !== null && order.isMeasured
      const peers = one.ends.map((value) => (value === null ? null : 0)) as [0 | null, 0 | null]
      const [from, to] = one.kind === 'rows' || isFar ? one.ends : peers
      const frame = { kind: order === null ? 'rows' : one.kind, from, to } as const
      const ordered = order === null ? undefined : order.isMeasured ? order.measured : order.any
      const parts = {
        ...(by === null ? {} : { by }),
        ...(ordered === undefined ? {} : { order: ordered }),
        numbers,
        compared,
        other,
        bigints,
      }
      const names = NAMES.filter((name) => name in parts)
      const at = (name: (typeof NAMES)[number]): number => names.indexOf(name)
      const all: readonly (readonly [WindowCall['kind'], (typeof NAMES)[number]?])[] = [
        ...(order === null ? [] : [['rank'] as const, ['denseRank'] as const, ['percentRank'] as const]),
        ...[['rowNumber'] as const, ['ntile'] as const, ['count'] as const, ['count', 'other'] as const, ['lag', 'other'] as const],
        ...[
          ['lead', 'compared'] as const,
          ['firstValue', 'other'] as const,
          ['lastValue', 'compared'] as const,
          ['sum', 'numbers'] as const,
        ],
        ...[['mean', 'numbers'] as const, ['min', 'compared'] as const, ['max', 'compared'] as const, ['sum', 'bigints'] as const],
      ]
      const kinds = one.alone === null ? all : all.filter((_, k) => k === (one.alone ?? 0) % all.length)
      const own = kinds.map(([kind, name], c) => ({ name: `w${c}`, kind, n, ...(name === undefined ? {} : { column: at(name) }) }))
      const passing = own.flatMap((call) =>
        call.kind === 'firstValue' || call.kind === 'lastValue' ? [{ ...call, name: `${call.name}p`, ignoresNulls: true as const }] : [],
      )
      const calls = [...own, ...passing]
      const operator: WindowOperator = { kind: 'WindowExec', by: by !== null, ordered: order !== null, descending, frame, calls }
      const columns = names.map((name) =>
        columnFromValues(
          (parts as Readonly<Record<string, Drawn>>)[name]?.values ?? [],
          (parts as Readonly<Record<string, Drawn>>)[name]?.type,
        ),
      )
      const numbered = columnFromValues([...Array(rows).keys()], { kind: 'i32' })
      const batches = (
        rows === 0
          ? [[0, 0] as const]
          : pieces(
              rows,
              one.cuts.map((cut) => 1 + (cut % 90)),
            )
      ).map(
        ([a, b]): ExecBatch => ({
          ...rowBatch(['row'], [sliceColumn(numbered, a, b)], b - a),
          hidden: columns.map((column) => sliceColumn(column, a, b)),
        }),
      )
      const readers = Object.entries(parts as Readonly<Record<string, Drawn>>)
      const records = Array.from({ length: rows }, (_, i) => Object.fromEntries(readers.map(([name, { values }]) => [name, values[i]])))
      const value = (name: string) => (row: unknown) => (row as Readonly<Record<string, unknown>>)[name]
      const expected = windowed(records, {
        ...(by === null ? {} : { by: value('by') }),
        ...(order === null ? {} : { orderBy: value('order') }),
        ...{ descending, frame },
        calls: calls.map(({ column, ...call }) =>
          column === undefined ? call : { ...call, of: value(names[column] as string), isBigint: names[column] === 'bigints' },
        ),
      }).map((added, row) => ({ row, ...added }))
      const blocks: Block[] = []
      const services = {
        ...{ workers, arena },
        run: async (task: StageTask) => {
          const result = await runStageTask(task, { arena, readSplit: () => Promise.resolve([]) })
          blocks.push(...result.blocks)
          return result.batches
        },
        hold: (made: readonly Block[]) => void blocks.push(...made),
      }
      const shared = rows === 0 ? undefined : await windowedBatches(operator, batches, services)
      if (shared !== undefined) {
        found.shared++
        if (rows > 60 && from !== null) found.long++
        if (isFar) found.measured++
        if (expected.some((row, i) => i > 0 && (row as { w0?: unknown }).w0 === (expected[i - 1] as { w0?: unknown }).w0)) found.ties++
        expect(valuesOf(shared)).toEqual(expected)
      } else expect(rows === 0 || [by, ordered].some((key) => key?.type.kind === 'i64' || key?.type.kind === 'timestamp')).toBe(true)
      for (const { offset } of blocks) arena.free(offset)
      expect(arena.usedBytes).toBe(empty)
      const alone = runWide(operator, [concatBatches(batches)])
      expect(rows === 0 ? [] : valuesOf(alone)).toEqual(expected)
    }),
    LAW,
  )
  expect(Math.min(found.shared, found.long, found.measured, found.ties), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 50)
})

/** Numbers of very different sizes, so that any other order of additions has other bits. */
function rough(seed: number, length: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => Math.sin(seed + i * 7.3) * 10 ** ((i * 5 + seed) % 9))
}

test('running sums of long partitions are the sums of their beginnings by the fixed tree', () => {
  fc.assert(
    fc.property(fc.nat(999), fc.integer({ min: 4000, max: 40_000 }), fc.integer({ min: 1, max: 3000 }), (seed, length, step) => {
      const values = rough(seed, length)
      const ends = Int32Array.from({ length: Math.floor(length / step) }, (_, i) => (i + 1) * step)
      const sums = new Float64Array(ends.length)
      sumsFromStart(values, { ends }, ends.length, sums)
      for (const i of [0, ends.length >> 1, ends.length - 1])
        if (ends.length > 0) expect(sums[i]).toBe(treeSum([...values.subarray(0, ends[i])]))
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 10) },
  )
})

function valuesOf(batches: readonly ExecBatch[]): readonly unknown[] {
  return batches.flatMap((batch) => {
    const read = rowReader(batch)
    return Array.from({ length: batch.length }, (_, i) => read(i))
  })
}
