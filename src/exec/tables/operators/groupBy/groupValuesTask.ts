/** The task that computes one aggregate from the rows of each group, for aggregates that no kernel computes. */
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, hiddenBatch } from '../batches.ts'
import { rowsById } from '../hashing/keyIds.ts'
import { aggregateColumn } from './aggregates.ts'

export interface ValuesTask {
  readonly kind: 'groupValues'
  /** Hidden columns: the group of each row, and the arguments if there are any. */
  readonly batch: ExecBatch
  readonly call: Aggregate
  readonly groups: number
}

export function groupValues({ batch, call, groups }: ValuesTask): ExecBatch {
  const [codes, argument, second] = batch.hidden ?? []
  const rows = rowsById((codes?.values ?? new Int32Array()) as Int32Array, groups) // codes are such
  return hiddenBatch([aggregateColumn(call, argument, rows, second)])
}
