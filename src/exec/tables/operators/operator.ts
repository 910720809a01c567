/**
 * What operators are: a narrow one turns a batch of a partition into a batch, a wide one whole inputs into a result.
 */
import type { Step, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { ExecBatch } from './batches.ts'
import type { RowContext } from './rows/rowFailure.ts'

/** Where a narrow operator is: which partition, and the row number of its first element where that matters. */
export interface PartitionContext {
  readonly partition: number
  readonly firstRow: number
}

/** A narrow operator at work on one partition. */
export interface Narrow {
  /** Takes the next batch; gives what comes of it, or undefined for nothing. */
  next(batch: ExecBatch): ExecBatch | undefined
  /** What is left when the partition has ended. */
  end?(): ExecBatch | undefined
  /** True when further batches would change nothing. */
  readonly done?: boolean
}

export type OpenNarrow<K extends Step['kind']> = (step: Extract<Step, { kind: K }>, context: PartitionContext) => Narrow
/** Inputs are whole; of several batches that come out, each is a partition. */
export type RunWide<K extends WideOperator['kind']> = (
  operator: Extract<WideOperator, { kind: K }>,
  inputs: readonly ExecBatch[],
) => ExecBatch | readonly ExecBatch[]

/** An operator that knows how many elements came before the batch. */
export function counting(
  method: string,
  context: PartitionContext,
  apply: (batch: ExecBatch, row: RowContext) => ExecBatch | undefined,
): Narrow {
  let position = 0
  return {
    next(batch) {
      const row: RowContext = { method, firstRow: context.firstRow + position, position }
      position += batch.length
      return apply(batch, row)
    },
  }
}

/** The batch without explicit keys: a table. */
export function withoutKeys(batch: ExecBatch): ExecBatch {
  if (batch.keys === undefined) return batch
  const { keys: _, ...rest } = batch
  return rest
}
