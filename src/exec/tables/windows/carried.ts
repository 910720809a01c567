/**
 * The state that is carried from the rows of a partition to those behind them, where the partition is computed piece after piece
 * (`exec/tables/spill/windowPieces.ts`): the number of rows, and the result of each call over all rows so far.
 *
 *     rows so far   1 2 4 | 8 16      carried to the second piece: 3 rows; of a sum 7, of a maximum the row of 4
 *
 * A sum is carried as a state of the fixed tree (`frameSums.ts`), so that pieces change no bit of it.
 */
import type { Column } from '../../../core/data/column.ts'
import { isValid } from '../../../core/data/column.ts'
import { takeColumn } from '../../../core/data/columnSlices.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import type { WindowFrame } from '../../../core/plan/logicalPlan.ts'
import type { WindowColumn } from '../../../planner/physical/physicalPlan.ts'
import { numberReader } from '../operators/groupBy/aggregates.ts'
import { comparisonOf } from './frameExtremes.ts'
import { TreePrefix, type TreeState } from './frameSums.ts'
import { isWhole } from './windowValues.ts'

/** The state of a call after the rows before. */
export interface CallState {
  /** The number of rows whose argument counts: all for firstValue and lastValue that keep nulls, else those that are not null. */
  readonly count: number
  readonly sum?: TreeState
  readonly bigint?: bigint
  /** A column of one row: the result so far, where it is the value of a row. */
  readonly value?: Column
}

/** The state that a piece of a partition is computed with, beside rows. */
export interface Carried {
  /** The number of rows of the partition. */
  readonly total: number
  /** The number of rows before the piece. */
  readonly before: number
  /** The number of rows before the first peer of the piece's first row. */
  readonly beforePeers: number
  /** The number of different orders of the rows before, without that of the piece's first row. */
  readonly orders: number
  /** Whether `calls` have all rows of all frames already, so that no row of the piece is added. */
  readonly isBehind: boolean
  /** The carried state of each call. */
  readonly calls: readonly CallState[]
}

/** The kinds of calls that are computed over a frame. */
export const FRAMED: ReadonlySet<WindowColumn['kind']> = new Set([
  ...(['firstValue', 'lastValue', 'sum', 'mean', 'min', 'max', 'count', 'any', 'all'] as const),
])

/** Folds the rows so far into the state of a call. */
export class CallFold {
  private readonly call: WindowColumn
  private readonly isFromStart: boolean
  private count = 0
  private readonly sum = new TreePrefix()
  private bigint = 0n
  private value: Column | undefined
  constructor(call: WindowColumn, { from }: WindowFrame) {
    this.call = call
    this.isFromStart = from === null
  }

  get state(): CallState {
    const { kind } = this.call
    const isSum = kind === 'sum' || kind === 'mean'
    return {
      count: this.count,
      ...(isSum && this.isFromStart && { sum: this.sum.state, bigint: this.bigint }),
      ...(this.value && { value: this.value }),
    }
  }

  /** Adds the next rows, in their order; `argument` is the call's argument of these rows. */
  add(argument: Column | undefined, length: number): void {
    const { kind, ignoresNulls } = this.call
    if (!FRAMED.has(kind) || length === 0) return
    const passes = (kind !== 'firstValue' && kind !== 'lastValue') || ignoresNulls === true
    const rows = argument === undefined || !passes || isWhole(argument) ? undefined : presentRows(argument)
    const count = rows?.length ?? length
    if (count === 0) return
    const rowAt = (i: number): number => rows?.[i] ?? i
    if (this.isFromStart && argument !== undefined) this.fold(argument, count, rowAt)
    this.count += count
  }

  private fold(argument: Column, count: number, rowAt: (i: number) => number): void {
    const { kind, name } = this.call
    switch (kind) {
      case 'sum':
      case 'mean':
        if (kind === 'sum' && valueClassOf(argument.type) === 'bigint') {
          const values = argument.values as BigInt64Array // of a column of bigints
          for (let i = 0; i < count; i++) this.bigint += values[rowAt(i)] as bigint
          return
        }
        {
          const read = numberReader({ name, kind: 'sum' }, argument)
          for (let i = 0; i < count; i++) this.sum.add(read(rowAt(i)))
        }
        return
      case 'firstValue':
        this.value ??= only(argument, rowAt(0))
        return
      case 'lastValue':
        this.value = only(argument, rowAt(count - 1))
        return
      case 'min':
      case 'max':
      case 'any':
      case 'all': {
        const { read, beats } = comparisonOf(kind, argument)
        let best = rowAt(0)
        for (let i = 1; i < count; i++) if (beats(read(rowAt(i)), read(best))) best = rowAt(i)
        const found = only(argument, best)
        if (this.value === undefined || beats(read(best), comparisonOf(kind, this.value).read(0))) this.value = found
        return
      }
      default:
        return
    }
  }
}

function only(column: Column, row: number): Column {
  return takeColumn(column, Int32Array.of(row))
}

function presentRows(column: Column): Int32Array {
  if (column.type.kind === 'null' || column.type.kind === 'unknown') return new Int32Array()
  const rows = new Int32Array(column.length)
  let count = 0
  for (let row = 0; row < column.length; row++) if (isValid(column, row)) rows[count++] = row
  return rows.subarray(0, count)
}
