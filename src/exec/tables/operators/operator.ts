/**
 * The interfaces of operators: a narrow one turns a batch of a partition into a batch, a wide one whole inputs into a result.
 */
import type { Step, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { ExecBatch } from './batches.ts'
import type { RowContext } from './rows/rowFailure.ts'

/** The place of a narrow operator: its partition, and the row number of that partition's first element where that matters. */
export interface PartitionContext {
  readonly partition: number
  readonly firstRow: number
}

/** A narrow operator opened on one partition. */
export interface Narrow {
  /** Takes the next batch and returns the batch made of it; undefined where that is empty or comes only at the end. */
  next(batch: ExecBatch): ExecBatch | undefined
  /** The last batch, when the partition has ended; undefined for none. */
  end?(): ExecBatch | undefined
  /** True when further batches would change nothing. */
  readonly done?: boolean
}

export type OpenNarrow<K extends Step['kind']> = (step: Extract<Step, { kind: K }>, context: PartitionContext) => Narrow
/** Runs a wide operator on whole inputs; where it returns several batches, each is a partition. */
export type RunWide<K extends WideOperator['kind']> = (
  operator: Extract<WideOperator, { kind: K }>,
  inputs: readonly ExecBatch[],
) => ExecBatch | readonly ExecBatch[]

/** A narrow operator that applies `apply` to each batch and tells it how many elements of the partition came before. */
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
