/**
 * A description of a column is what plain JavaScript says of its values, however they are cut into batches, and different
 * values are counted exactly as far as the limits go.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sumByTree } from '../src/core/arrays/fixedTree.ts'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import type { ColumnType, ElementType } from '../src/core/data/schema.ts'
import { type ColumnSummary, Describer } from '../src/core/show/describe.ts'
import type { Histogram } from '../src/core/show/histogram.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('describe.prop.ts')

type Value = number | bigint | string | boolean | Date

const KINDS: readonly { readonly type: ColumnType; readonly values: fc.Arbitrary<Value> }[] = [
  { type: { kind: 'f64' }, values: fc.oneof(fc.double(), fc.constantFrom(0, -0, NaN), fc.integer({ min: -2, max: 2 })) },
  // that are next to each other
  { type: { kind: 'f64' }, values: fc.integer({ min: 0, max: 5 }).map((n) => 1 + n * Number.EPSILON) },
  { type: { kind: 'i32' }, values: fc.integer({ min: -3, max: 3 }) },
  { type: { kind: 'i64' }, values: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -1n, max: 1n })) },
  { type: { kind: 'utf8' }, values: fc.oneof(fc.constantFrom('', 'a', 'b', '😀', '\ufffd'), fc.string({ maxLength: 3 })) },
  { type: { kind: 'bool' }, values: fc.boolean() },
  { type: { kind: 'timestamp', unit: 'ms' }, values: fc.integer({ min: -2, max: 2 }).map((ms) => new Date(ms)) },
]

const drawn = fc.constantFrom(...KINDS).chain(({ type, values }) =>
  fc.record({
    type: fc.constant(type),
    some: fc.array(fc.option(values, { freq: 5 }), { maxLength: 12 }),
    /** Long columns have several chunks of the fixed tree. */
    times: fc.constantFrom(1, 1, 1, 700),
    cuts: fc.array(fc.nat(9000), { maxLength: 3 }),
    limits: fc.record({ values: fc.integer({ min: 1, max: 12 }), characters: fc.integer({ min: 1, max: 30 }) }),
  }),
)

function described(
  type: ColumnType,
  values: readonly (Value | null)[],
  cuts: readonly number[],
  limits: { values: number; characters: number },
) {
  const element: ElementType = { kind: 'row', fields: [{ name: 'c', type, nullable: true }] }
  const describer = new Describer(element, limits)
  const ends = [...cuts.filter((cut) => cut < values.length).sort((a, b) => a - b), values.length]
  for (const [i, end] of ends.entries()) {
    const part = values.slice(i === 0 ? 0 : ends[i - 1], end)
    const batch: Batch = { element, length: part.length, columns: [columnFromValues(part, type)] }
    describer.add(batch)
  }
  return describer.finish()
}

/** The narrowest bins that are few enough, and what is in them. */
function plainHistogram(values: readonly (Value | null)[]): Histogram | null {
  const numbers = values.filter((value) => value !== null && typeof value !== 'string' && typeof value !== 'boolean').map(Number)
  const finite = numbers.filter(Number.isFinite)
  const [min, max] = [Math.min(...finite), Math.max(...finite)]
  if (finite.length === 0) return null
  if (min === max) return { from: min + 0, width: 0, counts: [finite.length] }
  // a quotient that is too small for a double is none below zero
  const binOf = (value: number, width: number): number => (value < 0 ? Math.min(-1, Math.floor(value / width)) : Math.floor(value / width))
  for (let exponent = -1074; ; exponent++) {
    const width = 2 ** exponent
    const [first, last] = [binOf(min, width), binOf(max, width)]
    if (!(last - first < 12) || Math.abs(first) > 2 ** 52 || Math.abs(last) > 2 ** 52) continue
    const counts = Array.from({ length: last - first + 1 }, (_, i) => finite.filter((one) => binOf(one, width) === first + i).length)
    return { from: first * width + 0, width, counts }
  }
}

/** The dullest way to the same. */
function plain(
  values: readonly (Value | null)[],
): Pick<ColumnSummary, 'nulls' | 'min' | 'max' | 'mean' | 'histogram'> & { readonly different: Set<unknown> } {
  const present = values.filter((value) => value !== null)
  const [one] = present
  const numbers = present.filter((value) => typeof value === 'number')
  const bigints = present.filter((value) => typeof value === 'bigint')
  const least = (sign: number): Value | null =>
    one === undefined ? null : present.reduce((a, b) => (sign > 0 ? (b < a ? b : a) : b > a ? b : a))
  const mean =
    numbers.length > 0
      ? sumByTree(Float64Array.from(numbers)) / numbers.length
      : bigints.length > 0
        ? Number(bigints.reduce((a, b) => a + b, 0n)) / bigints.length
        : null
  return {
    nulls: values.length - present.length,
    min: typeof one === 'number' ? numbers.reduce((a, b) => Math.min(a, b)) : least(1),
    max: typeof one === 'number' ? numbers.reduce((a, b) => Math.max(a, b)) : least(-1),
    mean,
    histogram: plainHistogram(present),
    different: new Set(present.map((value) => (value instanceof Date ? value.getTime() : value))),
  }
}

test('a description says what plain JavaScript says', () => {
  fc.assert(
    fc.property(drawn, ({ type, some, times, cuts, limits }) => {
      const values = Array.from({ length: some.length * times }, (_, i) => some[(i * 7 + (i >> 5)) % some.length] ?? null)
      const { rows, columns } = described(type, values, cuts, limits)
      const { different, ...rest } = plain(values)
      const [{ distinct, isDistinctExact, ...column } = fail()] = columns
      expect(rows).toBe(values.length)
      expect(column).toStrictEqual({ name: 'c', type: `${type.kind === 'timestamp' ? 'timestamp(ms)' : type.kind}?`, ...rest })
      const characters = [...different].reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 0), 0)
      expect(isDistinctExact).toBe(different.size <= limits.values && characters <= limits.characters)
      if (isDistinctExact) expect(distinct).toBe(different.size)
      else expect(distinct).toBeLessThanOrEqual(Math.min(limits.values, different.size))
    }),
    LAW,
  )
})

function fail(): never {
  throw new Error('There is no column.')
}
