/** Wide operators that all workers carry out together, by tasks of their own. */
import type { Column } from '../core/column.ts'
import { isConcatFree } from '../core/columnConcat.ts'
import type { WideOperator } from '../planner/physical/physicalPlan.ts'
import { type GroupServices, groupedRows } from './groupRun.ts'
import { joinedRows } from './joinRun.ts'
import { concatBatches, type ExecBatch } from './operators/batches.ts'
import { withoutKeys } from './operators/operator.ts'
import { isCuttable } from './operators/sortTask.ts'
import { sortedPieces } from './sortRun.ts'
import type { StageTask } from './stageTask.ts'

export interface SharedServices extends Omit<GroupServices, 'run'> {
  readonly run: (task: StageTask) => Promise<readonly ExecBatch[]>
}

/** The result in pieces, at least one; undefined for what is one task. */
export async function sharedWork(
  operator: WideOperator,
  [first = [], second = []]: readonly (readonly ExecBatch[])[],
  services: SharedServices,
): Promise<readonly ExecBatch[] | undefined> {
  switch (operator.kind) {
    case 'HashAggregateExec':
      return first.some((batch) => batch.length > 0) ? [await groupedRows(operator, first, services)] : undefined
    case 'HashJoinExec':
      return await joinedRows(operator, first, second, services)
    case 'SortExec': {
      const whole = operator.limit === undefined && services.workers > 1 ? sortable(first) : undefined
      return whole === undefined ? undefined : await sortedPieces(whole, operator.descending, services)
    }
    case 'GroupReduceExec':
    case 'GroupMapExec':
    case 'DistinctExec':
    case 'IndexExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return undefined
  }
}

/** The batches as one for a parallel sort, whose tasks all see all of it: where that copies nothing, and the key can be cut. */
function sortable(batches: readonly ExecBatch[]): ExecBatch | undefined {
  const filled = batches.filter((batch) => batch.length > 0)
  const [first] = filled
  const [key] = first?.hidden ?? []
  if (first === undefined || key === undefined || !isCuttable(key)) return undefined
  const isFree = (list: (batch: ExecBatch) => readonly Column[]): boolean =>
    list(first).every((_, i) => isConcatFree(filled.flatMap((batch) => list(batch)[i] ?? [])))
  return isFree((batch) => batch.columns) && isFree((batch) => batch.hidden ?? []) ? concatBatches(filled.map(withoutKeys)) : undefined
}
