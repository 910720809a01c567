/** The task of a parallel join: a range of the left side with the whole right side. */
import type { ColumnType } from '../../core/schema.ts'
import type { WideOperator } from '../../planner/physical/physicalPlan.ts'
import { concatBatches, type ExecBatch, hiddenBatch } from './batches.ts'
import { joinPiece } from './hashJoin.ts'

export interface JoinTask {
  readonly kind: 'join'
  readonly join: Extract<WideOperator, { kind: 'HashJoinExec' }>
  readonly left: readonly ExecBatch[]
  readonly right: readonly ExecBatch[]
  /** Of the keys of both sides. */
  readonly type: ColumnType
}

/** The joined rows; where it matters also a batch whose one hidden column tells the rows of the right side that were matched. */
export function runJoinTask({ join, left, right, type }: JoinTask): readonly ExecBatch[] {
  const { batch, matched } = joinPiece(join, concatBatches(left), concatBatches(right), type)
  return matched === undefined ? [batch] : [batch, hiddenBatch([{ type: { kind: 'u8' }, length: matched.length, values: matched }])]
}
