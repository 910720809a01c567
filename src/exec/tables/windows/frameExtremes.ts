/**
 * The smallest value of each frame in linear time by a monotone deque: places in a queue whose values ascend, so the first is the frame's.
 *
 *     values  5 3 4 1       queue after each, for a frame of three:  5 | 3 | 3 4 | 1
 *
 * Numbers are compared as `Math.min` does (NaN wins, -0 < 0); the largest is the smallest of the negated numbers.
 */
import type { Column } from '../../../core/data/column.ts'
import { valueReader } from '../../../core/data/columnReaders.ts'
import { typeText } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import type { Frames } from './frames.ts'

/** Whether `a`, which comes later, makes `b` useless: it is at least as small. */
type Beats<V> = (a: V, b: V) => boolean

/** Writes the place of each frame's smallest value, -1 for empty frames. `queue` has room for as many places as there are values. */
export function smallestOfFrames<V>(
  values: ArrayLike<V>,
  beats: Beats<V>,
  { starts, ends }: Frames,
  rows: number,
  { queue, places }: { readonly queue: Int32Array; readonly places: Int32Array },
): void {
  let head = 0
  let tail = 0
  let reached = 0
  for (let i = 0; i < rows; i++) {
    const start = starts[i] as number // i < rows
    const end = ends[i] as number
    for (; reached < end; reached++) {
      const value = values[reached] as V // inside
      while (tail > head && beats(value, values[queue[tail - 1] as number] as V)) tail-- // a place of a value
      queue[tail++] = reached
    }
    while (head < tail && (queue[head] as number) < start) head++
    places[i] = head < tail ? (queue[head] as number) : -1
  }
}

function beatsNumber(a: number, b: number): boolean {
  return a < b || (a === b ? a !== 0 || 1 / a <= 1 / b : Number.isNaN(a))
}

function beatsSmaller<V extends string | bigint>(a: V, b: V): boolean {
  return a <= b
}

function beatsLarger<V extends string | bigint>(a: V, b: V): boolean {
  return a >= b
}

type Compared = number | string | bigint

/** The comparison of a column's values. */
export interface Comparison {
  /** Whether values are compared as numbers: `sign` times the number in `stored`. */
  readonly isNumber: boolean
  readonly sign: 1 | -1
  readonly stored: Float64Array
  readonly read: (row: number) => Compared
  readonly beats: Beats<Compared>
}

/** The comparison by which the result of `kind` is the smallest value. PlanError for values that have no order. */
export function comparisonOf(kind: 'min' | 'max' | 'any' | 'all', column: Column): Comparison {
  const { type, values, length } = column
  const is = valueClassOf(type)
  const isTruth = kind === 'any' || kind === 'all'
  const isNumber = isTruth || is === 'number' || type.kind === 'date'
  if (isTruth && is !== 'boolean' && type.kind !== 'null')
    throw new PlanError(`${kind}() takes booleans; it was given values of type ${typeText(type)}.`)
  if (!isNumber && is !== 'string' && is !== 'bigint' && is !== 'Date' && type.kind !== 'null')
    throw new PlanError(`${kind}() takes numbers, bigints, strings or dates; it was given values of type ${typeText(type)}.`)
  const stored = (values ?? new Float64Array(length)) as Float64Array // of a fixed width, where it is read
  const sign = kind === 'min' || kind === 'all' ? 1 : -1
  const read = is === 'string' ? valueReader(column) : (row: number): unknown => (isNumber ? sign * (stored[row] as number) : stored[row])
  const beats = isNumber ? beatsNumber : kind === 'min' ? beatsSmaller : beatsLarger
  return { isNumber, sign, stored, read: read as Comparison['read'], beats: beats as Comparison['beats'] } // values of one class
}
