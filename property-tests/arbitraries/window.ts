/** Windows with everything that they can have, rows for them, and what the definition gives of these. */
import fc from 'fast-check'
import type { Column } from '../../src/core/data/column.ts'
import { columnFromValues } from '../../src/core/data/columnBuilder.ts'
import { sliceColumn } from '../../src/core/data/columnSlices.ts'
import type { ColumnType } from '../../src/core/data/schema.ts'
import type { WindowCall } from '../../src/core/plan/logicalPlan.ts'
import { type ExecBatch, rowBatch } from '../../src/exec/tables/operators/batches.ts'
import type { WindowOperator } from '../../src/exec/tables/windows/windowColumns.ts'
import { windowed } from '../windowReference.ts'
import { cuts, pieces } from './keys.ts'

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

export interface DrawnWindow {
  readonly rows: number
  readonly by: Drawn | null
  readonly order: { readonly isMeasured: boolean; readonly any: Drawn; readonly measured: Drawn } | null
  /** A second value of the order, and the directions of both. */
  readonly second: { readonly values: Drawn; readonly descending: readonly [boolean, boolean] } | null
  readonly descending: boolean
  readonly kind: 'rows' | 'range'
  readonly ends: readonly [number | null, number | null]
  readonly numbers: Drawn
  readonly compared: Drawn
  readonly other: Drawn
  readonly bigints: Drawn
  readonly n: number
  readonly workers: number
  readonly cuts: readonly number[]
  readonly alone: number | null
}

export const window: fc.Arbitrary<DrawnWindow> = sizes.chain((rows) =>
  fc.record({
    rows: fc.constant(rows),
    by: fc.option(drawn(any, rows)),
    order: fc.option(fc.record({ isMeasured: fc.boolean(), any: drawn(any, rows), measured: drawn(isMeasured, rows) })),
    second: fc.option(fc.record({ values: drawn(any, rows), descending: fc.tuple(fc.boolean(), fc.boolean()) }), { freq: 2 }),
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

export interface WindowCase {
  readonly operator: WindowOperator
  /** A column "row", and hidden ones. */
  readonly batches: readonly ExecBatch[]
  /** The rows with what the window adds. */
  readonly expected: readonly unknown[]
  readonly isMeasured: boolean
}

/** Values as what an array of them is where it is an order. */
function tupleOf(children: readonly Column[]): Column {
  const fields = children.map(({ type }, i) => ({ name: String(i), type, nullable: true }))
  return { type: { kind: 'struct', fields }, length: children[0]?.length ?? 0, children }
}

export function windowCase(one: DrawnWindow): WindowCase {
  const { rows, by, order, numbers, compared, other, bigints, n } = one
  // distances are measured where the order has any
  const second = order === null ? null : one.second
  const isMeasured = one.kind === 'range' && order !== null && order.isMeasured && second === null
  const peers = one.ends.map((value) => (value === null ? null : 0)) as [0 | null, 0 | null]
  const [from, to] = one.kind === 'rows' || isMeasured ? one.ends : peers
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
    ...[['lead', 'compared'] as const, ['firstValue', 'other'] as const, ['lastValue', 'compared'] as const, ['sum', 'numbers'] as const],
    ...[['mean', 'numbers'] as const, ['min', 'compared'] as const, ['max', 'compared'] as const, ['sum', 'bigints'] as const],
  ]
  const kinds = one.alone === null ? all : all.filter((_, k) => k === (one.alone ?? 0) % all.length)
  const own = kinds.map(([kind, name], c) => ({ name: `w${c}`, kind, n, ...(name === undefined ? {} : { column: at(name) }) }))
  const passing = own.flatMap((call) =>
    call.kind === 'firstValue' || call.kind === 'lastValue' ? [{ ...call, name: `${call.name}p`, ignoresNulls: true as const }] : [],
  )
  const calls = [...own, ...passing]
  const operator: WindowOperator = {
    kind: 'WindowExec',
    by: by !== null,
    ordered: order !== null,
    descending: second?.descending ?? one.descending,
    frame,
    calls,
  }
  const columnOf = ({ values, type }: Drawn): Column => columnFromValues(values, type)
  const columns = names.map((name) => {
    const own = columnOf((parts as Readonly<Record<string, Drawn>>)[name] as Drawn) // one of the names
    return name === 'order' && second !== null ? tupleOf([own, columnOf(second.values)]) : own
  })
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
  const records = Array.from({ length: rows }, (_, i) =>
    Object.fromEntries(
      [...readers, ...(second === null ? [] : [['second', second.values] as const])].map(([name, { values }]) => [name, values[i]]),
    ),
  )
  const value = (name: string) => (row: unknown) => (row as Readonly<Record<string, unknown>>)[name]
  const expected = windowed(records, {
    ...(by === null ? {} : { by: value('by') }),
    ...(order === null ? {} : { orderBy: second === null ? value('order') : (row) => [value('order')(row), value('second')(row)] }),
    ...{ descending: operator.descending, frame },
    calls: calls.map(({ column, ...call }) =>
      column === undefined ? call : { ...call, of: value(names[column] as string), isBigint: names[column] === 'bigints' },
    ),
  }).map((added, row) => ({ row, ...added }))
  return { operator, batches, expected, isMeasured }
}
