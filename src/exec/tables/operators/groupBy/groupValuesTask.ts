/** The task that computes one aggregate from the rows of each group, for aggregates that no kernel computes. */
import type { Column } from '../../../../core/data/column.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, hiddenBatch } from '../batches.ts'
import { firstRows, rowsById } from '../hashing/keyIds.ts'
import { aggregateColumn, presence } from './aggregates.ts'

export interface ValuesTask {
  readonly kind: 'groupValues'
  /** Hidden columns: the group of each row, and the arguments if there are any. */
  readonly batch: ExecBatch
  readonly call: Aggregate
  readonly groups: number
}

export function groupValues({ batch, call, groups }: ValuesTask): ExecBatch {
  const [codes, argument, second] = batch.hidden ?? []
  const groupOf = (codes?.values ?? new Int32Array()) as Int32Array // codes are such
  const rows = argument && chosenRows(call.kind, argument, groupOf, groups)
  if (argument !== undefined && rows !== undefined) return hiddenBatch([takeColumn(argument, rows)])
  return hiddenBatch([aggregateColumn(call, argument, rowsById(groupOf, groups), second)])
}

/** The row whose value is the aggregate, for each group, in one pass over the rows as they are; undefined for aggregates and columns that take the rows of each group together. */
function chosenRows(kind: Aggregate['kind'], column: Column, groupOf: Int32Array, groups: number): Int32Array | undefined {
  if (kind === 'first') return firstRows(groupOf, groups)
  if (kind === 'last') return lastRows(groupOf, groups)
  if ((kind !== 'min' && kind !== 'max') || column.values === undefined) return undefined
  const { values } = column
  if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) return undefined
  return extremeRows(column, values, groupOf, { groups, isMost: kind === 'max' })
}

function lastRows(groupOf: Int32Array, groups: number): Int32Array {
  const rows = new Int32Array(groups)
  for (let row = 0; row < groupOf.length; row++) rows[groupOf[row] as number] = row
  return rows
}

/** The first row with the least or greatest of each group's integers, -1 where all are null. They are compared by halves of 32 bits: as bigints, each would be an object. */
function extremeRows(
  column: Column,
  values: BigInt64Array | BigUint64Array,
  groupOf: Int32Array,
  { groups, isMost }: { readonly groups: number; readonly isMost: boolean },
): Int32Array {
  const low = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length)
  const high = values instanceof BigUint64Array ? low : new Int32Array(values.buffer, values.byteOffset, 2 * values.length)
  const isPresent = column.validity === undefined ? undefined : presence(column)
  const rows = new Int32Array(groups).fill(-1)
  for (let row = 0; row < groupOf.length; row++) {
    if (isPresent !== undefined && !isPresent(row)) continue
    const group = groupOf[row] as number // row < length
    const best = rows[group] as number
    const [ours, others] = [2 * row, 2 * best]
    const difference =
      best < 0 ? 0 : (high[ours + 1] as number) - (high[others + 1] as number) || (low[ours] as number) - (low[others] as number)
    if (best < 0 || (isMost ? difference > 0 : difference < 0)) rows[group] = row
  }
  return rows
}
