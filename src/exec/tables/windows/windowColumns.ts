/**
 * The columns that a window adds, over rows in the order of their partitions: partition after partition, one value for each row.
 *
 * A result is a number for each row, or the row whose value it has (`lag`, `max`, …), so that values of any type keep their bits.
 */
import type { Column } from '../../../core/data/column.ts'
import { takeColumn } from '../../../core/data/columnSlices.ts'
import { PlanError } from '../../../core/errors.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import type { WindowFrame } from '../../../core/plan/logicalPlan.ts'
import type { WideOperator, WindowColumn } from '../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch } from '../operators/batches.ts'
import { numberReader } from '../operators/groupBy/aggregates.ts'
import { directionOf } from '../operators/sort/order.ts'
import { PARTITION } from './boundaries.ts'
import { type CallState, type Carried, FRAMED } from './carried.ts'
import { type Comparison, comparisonOf, smallestOfFrames } from './frameExtremes.ts'
import { quickSums, sumsFromStart, sumsOfFrames } from './frameSums.ts'
import { type Frames, framesByPeers, framesByRange, framesByRows } from './frames.ts'
import { distances, gatherNumbers, isWhole, Values } from './windowValues.ts'

export type WindowOperator = Extract<WideOperator, { kind: 'WindowExec' }>

/** The arrays for the results of a call, by row. */
export type WindowResult =
  /** `present` is 1 for rows that have a number; absent where all have. */
  | { readonly kind: 'numbers'; readonly values: Float64Array; readonly present?: Uint8Array }
  | { readonly kind: 'bigints'; readonly values: BigInt64Array }
  /** Each result is the value of a row of the argument, -1 for null. */
  | { readonly kind: 'rows'; readonly rows: Int32Array }

/** Sorted rows with the marks of their places (`boundaries.ts`), and the arrays for the results. */
export interface WindowRows {
  readonly operator: WindowOperator
  readonly rows: Int32Array
  readonly marks: Uint8Array
  /** The batch's hidden columns: the key and the order, if there are such, then arguments. */
  readonly hidden: readonly Column[]
  readonly results: readonly WindowResult[]
  /**
   * Where all rows are a piece of one partition: the state carried from the rows before. Hidden columns then have one more row for each
   * call, behind those of the piece, for the value that it carries.
   */
  readonly carried?: Carried
}

/** The kind of result that a call has over its argument. */
export function resultKind(
  { kind, column }: WindowColumn,
  hidden: readonly Column[],
  frame: WindowFrame,
): 'numbers' | 'nullable numbers' | 'bigints' | 'rows' {
  const argument = column === undefined ? undefined : hidden[column]
  switch (kind) {
    case 'rowNumber':
    case 'rank':
    case 'denseRank':
    case 'percentRank':
    case 'ntile':
    case 'count':
      return 'numbers'
    case 'sum':
      return argument !== undefined && valueClassOf(argument.type) === 'bigint' ? 'bigints' : 'numbers'
    case 'mean':
      return isWhole(argument) && hasOwnRow(frame) ? 'numbers' : 'nullable numbers'
    case 'lag':
    case 'lead':
    case 'firstValue':
    case 'lastValue':
    case 'min':
    case 'max':
    case 'any':
    case 'all':
      return 'rows'
  }
}

/** Arrays in ordinary memory for the results of so many rows. */
export function resultOf(kind: ReturnType<typeof resultKind>, length: number): WindowResult {
  switch (kind) {
    case 'numbers':
      return { kind: 'numbers', values: new Float64Array(length) }
    case 'nullable numbers':
      return { kind: 'numbers', values: new Float64Array(length), present: new Uint8Array(length) }
    case 'bigints':
      return { kind: 'bigints', values: new BigInt64Array(length) }
    case 'rows':
      return { kind: 'rows', rows: new Int32Array(length) }
  }
}

/** The column of a result, for the rows from `from` to `to`. */
export function resultColumn(result: WindowResult, argument: Column | undefined, from: number, to: number): Column {
  const length = to - from
  switch (result.kind) {
    case 'bigints':
      return { type: { kind: 'i64' }, length, values: result.values.subarray(from, to) }
    case 'rows':
      return takeColumn(argument ?? { type: { kind: 'null' }, length: 0 }, result.rows.subarray(from, to))
    case 'numbers': {
      const validity = result.present && bitsOf(result.present, from, to)
      return { type: { kind: 'f64' }, length, values: result.values.subarray(from, to), ...(validity === undefined ? {} : { validity }) }
    }
  }
}

/** The batch with the columns of all calls; one with the name of an existing column replaces it. */
export function withResults({ calls }: WindowOperator, batch: ExecBatch, added: readonly Column[]): ExecBatch {
  const { hidden: _, ...payload } = batch
  if (payload.element.kind !== 'row') throw new PlanError('window needs rows, as in map((value) => ({ value })).window(…).')
  const columns = new Map<string, Column>(payload.element.fields.map(({ name }, i) => [name, payload.columns[i] as Column])) // one a field
  for (const [c, { name }] of calls.entries()) columns.set(name, added[c] as Column) // one a call
  return { ...payload, ...rowBatch([...columns.keys()], [...columns.values()], batch.length) }
}

/** The validity bitmap of bytes from `from` to `to`; undefined where all are 1. */
function bitsOf(present: Uint8Array, from: number, to: number): Uint8Array | undefined {
  if (!present.subarray(from, to).includes(0)) return undefined
  const bits = new Uint8Array((to - from + 7) >> 3)
  for (let i = 0; i < to - from; i++) bits[i >> 3] = (bits[i >> 3] as number) | ((present[from + i] as number) << (i & 7)) // inside
  return bits
}

/** Computes all calls for the partitions between the places `from` and `to`, where one begins and one ends. */
export function computeWindows(work: WindowRows, from: number, to: number): void {
  const ends = partitionEnds(work.marks, from, to)
  const most = ends.reduce((longest, end, p) => Math.max(longest, end - (p === 0 ? from : (ends[p - 1] as number))), 0) // p > 0
  const pass = new WindowPass(work, most)
  let first = from
  for (const end of ends) {
    pass.partition(first, end)
    first = end
  }
}

function partitionEnds(marks: Uint8Array, from: number, to: number): Int32Array {
  let count = 0
  for (let i = from; i < to; i++) if (marks[i] === PARTITION) count++
  const ends = new Int32Array(count)
  let p = 0
  for (let i = from + 1; i < to; i++) if (marks[i] === PARTITION) ends[p++] = i
  if (count > 0) ends[p] = to
  return ends
}

/** Computes a call for the partition at the places from `first` to `end`. */
type Compute = (first: number, end: number) => void

class WindowPass {
  private readonly work: WindowRows
  private readonly most: number
  private readonly frames: Frames
  private readonly measure: Compute
  /** The first place of the partition whose frames are in `frames`; -1 for none. */
  private measured = -1
  private readonly computes: readonly Compute[]
  constructor(work: WindowRows, most: number) {
    this.work = work
    this.most = most
    const framed = work.operator.calls.some(({ kind }) => FRAMED.has(kind))
    this.frames = { starts: new Int32Array(framed ? most : 0), ends: new Int32Array(framed ? most : 0) }
    this.measure = framed && work.carried?.isBehind !== true ? this.framing() : () => {} // no row of the piece is in a frame
    this.computes = work.operator.calls.map((call, c) => this.computeOf(call, work.results[c] as WindowResult, this.keptOf(c))) // one for each
  }

  partition(first: number, end: number): void {
    for (const compute of this.computes) compute(first, end)
  }

  /** The carried state that call `c` starts from; frames that begin elsewhere start from nothing. */
  private keptOf(c: number): Kept {
    const { operator, carried, rows } = this.work
    const state = carried?.calls[c]
    if (state === undefined) return NOTHING
    if (operator.frame.from !== null) return { ...NOTHING, placesBefore: state.count }
    return { ...state, placesBefore: state.count, pick: state.value === undefined ? -1 : rows.length + c }
  }

  /** The rows of partitions whose argument is not null, with frames among them. */
  private valuesOf(argument: Column | undefined): Values {
    const framesOf = (first: number, end: number): Frames => {
      if (this.measured !== first) this.measure(first, end)
      this.measured = first
      return this.frames
    }
    return new Values(this.work.rows, argument, framesOf, this.most)
  }

  private framing(): Compute {
    const { operator, rows, marks, hidden } = this.work
    const { frame, by, descending } = operator
    if (frame.kind === 'rows') return (first, end) => framesByRows(frame, end - first, this.frames)
    if ((frame.from ?? 0) === 0 && (frame.to ?? 0) === 0)
      return (first, end) => framesByPeers(frame, end - first, { marks, first }, this.frames)
    const distance = distances(hidden[by ? 1 : 0] as Column) // a frame by range has an order
    const sign = directionOf(descending, 0) ? -1 : 1 // distances are those of one value
    const values = new Float64Array(this.most)
    return (first, end) => {
      for (let i = first; i < end; i++) values[i - first] = sign * distance(rows[i] as number) // i < length
      framesByRange(frame, end - first, values, { marks, first }, this.frames)
    }
  }

  private computeOf(call: WindowColumn, result: WindowResult, kept: Kept): Compute {
    const { rows, marks, hidden, carried } = this.work
    const { total, before: rowsBefore = 0, beforePeers = 0, orders = 0 } = carried ?? {}
    const { kind, n = 1 } = call
    const argument = call.column === undefined ? undefined : hidden[call.column]
    const numbers = result.kind === 'numbers' ? result.values : new Float64Array()
    const picks = result.kind === 'rows' ? result.rows : new Int32Array()
    switch (kind) {
      case 'rowNumber':
        return (first, end) => {
          for (let i = first; i < end; i++) numbers[rows[i] as number] = rowsBefore + i - first + 1
        }
      case 'rank':
      case 'percentRank':
        return (first, end) => {
          const scale = kind === 'rank' ? undefined : Math.max(1, (total ?? end - first) - 1)
          let before = beforePeers
          for (let i = first; i < end; i++) {
            if (marks[i] !== 0 && i > first) before = rowsBefore + i - first
            numbers[rows[i] as number] = scale === undefined ? before + 1 : before / scale
          }
        }
      case 'denseRank':
        return (first, end) => {
          let dense = orders
          for (let i = first; i < end; i++) {
            if (marks[i] !== 0) dense++
            numbers[rows[i] as number] = dense
          }
        }
      case 'ntile':
        return (first, end) => {
          const count = total ?? end - first
          const size = Math.floor(count / n)
          const larger = count % n
          for (let i = first; i < end; i++) {
            const at = rowsBefore + i - first
            const inLarger = at < larger * (size + 1)
            const tile = inLarger ? Math.floor(at / (size + 1)) : larger + Math.floor((at - larger * (size + 1)) / size)
            numbers[rows[i] as number] = tile + 1
          }
        }
      case 'lag':
        return (first, end) => {
          for (let i = first; i < end; i++) picks[rows[i] as number] = i - n < first ? -1 : (rows[i - n] as number)
        }
      case 'lead':
        return (first, end) => {
          for (let i = first; i < end; i++) picks[rows[i] as number] = i + n >= end ? -1 : (rows[i + n] as number)
        }
      case 'firstValue':
      case 'lastValue': {
        const values = this.valuesOf(call.ignoresNulls === true ? argument : undefined)
        return (first, end) => {
          const { starts, ends } = values.placed(first, end)
          for (let i = 0; i < end - first; i++) {
            const from = starts[i] as number
            const to = ends[i] as number
            const place = values.offset + (kind === 'firstValue' ? from : to - 1)
            const isKept = from === to || (kind === 'firstValue' && kept.pick >= 0)
            picks[rows[first + i] as number] = isKept ? kept.pick : (values.rows[place] as number)
          }
        }
      }
      case 'count': {
        const values = this.valuesOf(argument)
        return (first, end) => {
          const { starts, ends } = values.placed(first, end)
          for (let i = 0; i < end - first; i++)
            numbers[rows[first + i] as number] = kept.count + (ends[i] as number) - (starts[i] as number)
        }
      }
      case 'sum':
      case 'mean':
        return result.kind === 'bigints'
          ? this.bigintSum(call, argument as Column, result.values, kept)
          : this.sum(call, argument, result, kept)
      case 'min':
      case 'max':
      case 'any':
      case 'all':
        return argument === undefined ? () => {} : this.extreme(kind, argument, picks, kept)
    }
  }

  private sum({ name, kind }: WindowColumn, argument: Column = NULLS, result: WindowResult, kept: Kept): Compute {
    const { rows, operator, carried } = this.work
    const numberOf = numberReader({ name, kind: 'sum' }, argument)
    const placed = this.valuesOf(argument)
    const [values, before, sums] = [new Float64Array(this.most), new Float64Array(this.most), new Float64Array(this.most)]
    const { values: out, present } = result as Extract<WindowResult, { kind: 'numbers' }> // as `resultKind` says
    const isMean = kind === 'mean'
    const isFromStart = operator.frame.from === null
    const quick = carried !== undefined && isFromStart ? undefined : quickSums(operator.frame, argument, { values, rows, out, isMean })
    return (first, end) => {
      if (quick?.(first, end) === true) {
        if (present !== undefined) for (let i = first; i < end; i++) present[rows[i] as number] = 1
        return
      }
      const frames = placed.placed(first, end)
      gatherNumbers(values, numberOf, argument, placed)
      if (isFromStart) sumsFromStart(values, frames, end - first, sums, kept.sum)
      else sumsOfFrames(values, frames, end - first, { before, sums, first: kept.placesBefore })
      const { starts, ends } = frames
      for (let i = 0; i < end - first; i++) {
        const row = rows[first + i] as number
        if (!isMean) out[row] = sums[i] as number
        else {
          const count = kept.count + (ends[i] as number) - (starts[i] as number)
          out[row] = count === 0 ? 0 : (sums[i] as number) / count
          if (present !== undefined) present[row] = count === 0 ? 0 : 1
        }
      }
    }
  }

  /** Sums of bigints by differences of prefix sums, which are exact. PlanError for a sum that 64 bits do not hold. */
  private bigintSum({ name }: WindowColumn, argument: Column, out: BigInt64Array, { bigint = 0n }: Kept): Compute {
    const { rows } = this.work
    const values = (argument.values ?? new BigInt64Array()) as BigInt64Array // of a column of bigints
    const placed = this.valuesOf(argument)
    return (first, end) => {
      const { starts, ends } = placed.placed(first, end)
      const before: bigint[] = [0n]
      for (let i = 0; i < placed.count; i++)
        before.push((before[i] as bigint) + (values[placed.rows[placed.offset + i] as number] as bigint))
      for (let i = 0; i < end - first; i++) {
        const sum = bigint + (before[ends[i] as number] as bigint) - (before[starts[i] as number] as bigint)
        if (BigInt.asIntN(64, sum) !== sum)
          throw new PlanError(`The sum "${name}" is ${sum}n, which does not fit 64 bits. Sum numbers instead, for example with Number(…).`)
        out[rows[first + i] as number] = sum
      }
    }
  }

  private extreme(kind: 'min' | 'max' | 'any' | 'all', argument: Column, picks: Int32Array, { pick }: Kept): Compute {
    const { rows } = this.work
    const placed = this.valuesOf(argument)
    const room = { queue: new Int32Array(this.most), places: new Int32Array(this.most) }
    const comparison = comparisonOf(kind, argument)
    const { isNumber, sign, stored, read, beats } = comparison
    const numbers = new Float64Array(isNumber ? this.most : 0)
    const others: ReturnType<typeof read>[] = []
    const pickOf = pickedOf(comparison, pick)
    return (first, end) => {
      const frames = placed.placed(first, end)
      if (isNumber) for (let i = 0; i < placed.count; i++) numbers[i] = sign * (stored[placed.rows[placed.offset + i] as number] as number)
      else for (let i = 0; i < placed.count; i++) others[i] = read(placed.rows[placed.offset + i] as number)
      smallestOfFrames(isNumber ? numbers : others, beats, frames, end - first, room)
      for (let i = 0; i < end - first; i++) {
        const place = room.places[i] as number
        picks[rows[first + i] as number] = pickOf(place < 0 ? -1 : (placed.rows[placed.offset + place] as number))
      }
    }
  }
}

/** A function that picks the better of a row (-1 for none) and the row of the carried value. */
function pickedOf({ read, beats }: Comparison, kept: number): (row: number) => number {
  if (kept < 0) return (row) => row
  const value = read(kept)
  return (row) => (row >= 0 && beats(read(row), value) ? row : kept)
}

/** Whether a call depends on peers (rows that are equal in the order): ranks, and calls over frames that end at peers. */
export function asksPeers({ calls, frame }: WindowOperator): boolean {
  return calls.some(({ kind }) => RANKS.has(kind) || (FRAMED.has(kind) && frame.kind !== 'rows'))
}

/** Whether every frame has its own row. */
function hasOwnRow({ kind, from, to }: WindowFrame): boolean {
  return kind === 'rows' && (from ?? 0) <= 0 && (to ?? 0) >= 0
}

const RANKS: ReadonlySet<WindowColumn['kind']> = new Set(['rank', 'denseRank', 'percentRank'])
const NULLS: Column = { type: { kind: 'null' }, length: 0 }

/** The carried state of a call, as far as it is in the frames of the piece. */
interface Kept extends CallState {
  /** The row of the hidden column with the carried value, -1 for none. */
  readonly pick: number
  /** The number of values of the partition before those of the piece, whether frames have them or not. */
  readonly placesBefore: number
}
const NOTHING: Kept = { count: 0, pick: -1, placesBefore: 0 }
