/** The arguments of window calls: the values of a partition that are not null, as numbers, and the numbers that frames by range measure with. */
import type { Column } from '../../../core/data/column.ts'
import { MS_PER_DAY } from '../../../core/data/fixedValues.ts'
import { typeText } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import { inMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import type { Frames } from './frames.ts'

/** Whether a column has no nulls. */
export function isWhole(column: Column | undefined): boolean {
  return column !== undefined && column.validity === undefined && column.type.kind !== 'null' && column.type.kind !== 'unknown'
}

/** The rows of a partition whose argument is not null, and frames as places among them. */
export class Values {
  /** The rows of the values, in order, from `offset` on. */
  readonly rows: Int32Array
  offset = 0
  count = 0
  private readonly all: Int32Array
  private readonly argument: Column | undefined
  private readonly framesOf: (first: number, end: number) => Frames
  /** Arrays of this object's own where the argument may have nulls; `before` has the number of values before each place. */
  private readonly own: { readonly rows: Int32Array; readonly before: Int32Array; readonly frames: Frames } | undefined
  /** `all` are the rows in the order of their partitions, the largest of which has `most`. */
  constructor(all: Int32Array, argument: Column | undefined, framesOf: (first: number, end: number) => Frames, most: number) {
    this.all = all
    this.argument = argument
    this.framesOf = framesOf
    const room = (length: number): Int32Array => new Int32Array(length)
    if (argument !== undefined && !isWhole(argument))
      this.own = { rows: room(most), before: room(most + 1), frames: { starts: room(most), ends: room(most) } }
    this.rows = this.own?.rows ?? all
  }

  placed(first: number, end: number): Frames {
    const { own, all, argument } = this
    const frames = this.framesOf(first, end)
    if (own === undefined) {
      this.offset = first
      this.count = end - first
      return frames
    }
    const { validity, type } = argument as Column // only a column has nulls
    this.count = 0
    for (let i = 0; i < end - first; i++) {
      const row = all[first + i] as number
      own.before[i] = this.count
      const isPresent =
        type.kind !== 'null' &&
        type.kind !== 'unknown' &&
        (validity === undefined || ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0)
      if (isPresent) own.rows[this.count++] = row
    }
    own.before[end - first] = this.count
    for (let i = 0; i < end - first; i++) {
      own.frames.starts[i] = own.before[frames.starts[i] as number] as number // places up to the end
      own.frames.ends[i] = own.before[frames.ends[i] as number] as number
    }
    return own.frames
  }
}

/** Writes the partition's values as numbers, in order. */
export function gatherNumbers(
  values: Float64Array,
  numberOf: (row: number) => number,
  { values: stored }: Column,
  { rows, offset, count }: Values,
): void {
  if (stored instanceof Float64Array)
    for (let i = 0; i < count; i++) values[i] = stored[rows[offset + i] as number] as number // rows of the column
  else for (let i = 0; i < count; i++) values[i] = numberOf(rows[offset + i] as number)
}

/** A function from a row to the number that a frame by range measures with: milliseconds for dates, NaN for null. */
export function distances(column: Column): (row: number) => number {
  const { type, validity, values } = inMilliseconds(column)
  const is = valueClassOf(type)
  if (type.kind === 'null') return () => Number.NaN
  if (is !== 'number' && is !== 'Date')
    throw new PlanError(`A frame by range measures numbers or dates; the order has values of type ${typeText(type)}.`)
  const scale = type.kind === 'date' ? MS_PER_DAY : type.kind === 'timestamp' && type.unit === 's' ? 1000 : 1
  const isBig = values instanceof BigInt64Array
  const numbers = (values ?? new Float64Array(column.length)) as Float64Array // of a fixed width
  const measured = (row: number): number => (isBig ? Number(values[row]) : (numbers[row] as number)) * scale
  if (validity === undefined) return measured
  return (row) => (((validity[row >> 3] as number) & (1 << (row & 7))) === 0 ? Number.NaN : measured(row))
}
