/** Aggregates that need a group's numbers, on all workers: see `operators/groupedValues.ts`. */
import type { Column } from '../core/column.ts'
import { concatColumns } from '../core/columnConcat.ts'
import { takeColumn } from '../core/columnSlices.ts'
import { valueClassOf } from '../core/elements.ts'
import { MemoryError } from '../core/errors.ts'
import type { ColumnType } from '../core/schema.ts'
import type { Aggregate } from '../planner/physical/physicalPlan.ts'
import type { Merged } from './groupMerge.ts'
import type { Arena } from './memory/arena.ts'
import type { ExecBatch } from './operators/batches.ts'
import { type PlaceTask, type StatisticsTask, statisticOf } from './operators/groupedValues.ts'
import { GroupMemory } from './operators/groupMemory.ts'

/** Whether the aggregate of values of this type needs their numbers and nothing else. */
export function isStatistic(call: Aggregate, type: ColumnType | undefined): boolean {
  return type !== undefined && statisticOf(call) !== undefined && (valueClassOf(type) === 'number' || type.kind === 'bool')
}

interface Services {
  readonly workers: number
  readonly arena: Arena
  readonly run: (task: PlaceTask | StatisticsTask) => Promise<readonly ExecBatch[]>
}

interface Numbers {
  /** Aggregates of one hidden column, of this type, which the ranges have as their second. */
  readonly calls: readonly Aggregate[]
  readonly type: ColumnType
  readonly merged: Merged
  /** Cuts the slots into parts with about equally many rows. */
  readonly cutsOf: (counts: Int32Array, parts: number) => readonly number[]
}

/** A column for each aggregate, in the order of the groups; undefined where memory is short. */
export async function groupedStatistics(
  { calls, type, merged, cutsOf }: Numbers,
  { workers, arena, run }: Services,
): Promise<readonly Column[] | undefined> {
  const { coding, coded, counts, slotOf } = merged
  const memory = new GroupMemory(arena)
  try {
    const totals = new Int32Array(coding.slots)
    for (const rows of counts)
      for (let slot = 0; slot < totals.length; slot++) totals[slot] = (totals[slot] as number) + (rows[slot] as number) // slot < slots
    const starts = startsOf(counts, coding.slots)
    const rows = totals.reduce((sum, count) => sum + count, 0)
    const values = memory.floats(memory.room(8 * rows), rows)
    const placed = await allOf(
      coded.map((range, r) => run({ kind: 'groupPlace', range, coding, type, places: starts[r] as Int32Array, values })), // one for each range
    )
    const pieces = placed.map(([batch], r) => ({ starts: starts[r] as Int32Array, ends: batch?.hidden?.[0]?.values as Int32Array })) // what the task gives
    const cuts = cutsOf(totals, Math.min(workers, coding.slots))
    const parts = await allOf(
      cuts.slice(1).map((to, i) => run({ kind: 'groupStatistics', calls, values, pieces, from: cuts[i] as number, to })), // one cut more than parts
    )
    return calls.map((_, c) => {
      const bySlot = concatColumns(
        parts.map(([batch]) => batch?.hidden?.[c] as Column), // a column for each aggregate
        'value',
      )
      return slotOf === undefined ? bySlot : takeColumn(bySlot, slotOf)
    })
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  } finally {
    memory.end()
  }
}

/** Where the numbers of each slot begin, for each range: slots one after the other, in each the ranges. */
function startsOf(counts: readonly Int32Array[], slots: number): readonly Int32Array[] {
  const starts = counts.map(() => new Int32Array(slots))
  let at = 0
  for (let slot = 0; slot < slots; slot++) {
    for (const [r, rows] of counts.entries()) {
      const own = starts[r] as Int32Array // one for each range
      own[slot] = at
      at += rows[slot] as number // slot < slots
    }
  }
  return starts
}

/** All results, once nothing runs any more. */
async function allOf<T>(running: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(running)
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}
