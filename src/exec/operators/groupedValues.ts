/**
 * Aggregates that need a group's numbers, by all workers.
 *
 *     place         each worker: the numbers of a range of the rows that are not null, slot after slot, in row order
 *     statistics    each worker: the aggregates of a part of the slots, from the numbers that every range has of them
 */
import type { Column } from '../../core/column.ts'
import { columnFromValues } from '../../core/columnBuilder.ts'
import { convertColumn } from '../../core/columnConversions.ts'
import type { ColumnType } from '../../core/schema.ts'
import type { Aggregate } from '../../planner/physical/physicalPlan.ts'
import { deviationOf, varianceOf } from './aggregates.ts'
import { type CodedRange, type Coding, writeSlots } from './groupFolds.ts'
import { countDistinctOf, quantileOf } from './selection.ts'
import { typedLoop } from './typedLoops.ts'

export interface PlaceTask {
  readonly kind: 'groupPlace'
  /** Hidden columns: the code, and the numbers. */
  readonly range: CodedRange
  readonly coding: Coding
  readonly type: ColumnType
  /** Where the first number of each slot goes. */
  readonly places: Int32Array
  /** Shared by all ranges. */
  readonly values: Float64Array
}

export interface StatisticsTask {
  readonly kind: 'groupStatistics'
  readonly calls: readonly Aggregate[]
  readonly values: Float64Array
  /** Where the numbers of each slot begin and end, for each range. */
  readonly pieces: readonly { readonly starts: Int32Array; readonly ends: Int32Array }[]
  readonly from: number
  readonly to: number
}

/** Whether numbers alone decide on the aggregate: what it gives of them, in row order, which it may change. */
export function statisticOf(call: Aggregate): ((values: Float64Array) => number | null) | undefined {
  switch (call.kind) {
    case 'variance':
      return varianceOf
    case 'stddev':
      return deviationOf
    case 'quantile':
      return (values) => quantileOf(values, call.q ?? 0.5)
    case 'countDistinct':
      return countDistinctOf
    case 'count':
    case 'sum':
    case 'mean':
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'collect':
      return undefined
  }
}

/** Places the numbers; gives where those of each slot end. */
export function placedEnds({ range, coding, type, places, values }: PlaceTask): Int32Array {
  const next = places.slice()
  for (const batch of range.batches) {
    if (batch.length === 0) continue
    const numbers = convertColumn(batch.hidden?.[1] ?? { type: { kind: 'null' }, length: batch.length }, type)
    const slots = new Int32Array(batch.length)
    writeSlots(coding, range, batch, undefined, slots)
    place(numbers, slots, next, values)
  }
  return next
}

function place({ values: numbers, validity }: Column, slots: Int32Array, next: Int32Array, values: Float64Array): void {
  const isNull = validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'
  const loop = typedLoop<(...args: readonly unknown[]) => void>(
    ['numbers', 'validity', 'slots', 'next', 'values'],
    `for (let i = 0; i < slots.length; i++) { ${isNull} values[next[slots[i]]++] = numbers[i]; } // ${numbers?.constructor.name}`,
  )
  loop(numbers, validity, slots, next, values)
}

/** A column for each aggregate, a value for each slot. */
export function statisticColumns({ calls, values, pieces, from, to }: StatisticsTask): readonly Column[] {
  let buffer = new Float64Array(1024)
  const gathered = (slot: number): Float64Array => {
    const size = pieces.reduce((sum, { starts, ends }) => sum + (ends[slot] as number) - (starts[slot] as number), 0) // of every slot
    if (buffer.length < size) buffer = new Float64Array(Math.max(size, 2 * buffer.length))
    let at = 0
    for (const { starts, ends } of pieces) {
      const piece = values.subarray(starts[slot], ends[slot])
      buffer.set(piece, at)
      at += piece.length
    }
    return buffer.subarray(0, size)
  }
  return calls.map((call) => {
    const statistic = statisticOf(call)
    const results = Array.from({ length: to - from }, (_, i) => statistic?.(gathered(from + i)) ?? null)
    return columnFromValues(results, { kind: 'f64' }, call.name)
  })
}
