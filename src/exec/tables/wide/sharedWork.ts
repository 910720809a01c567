/** Runs wide operators by all workers together, each operator by its own kinds of tasks. */
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { asofRows } from '../asof/asofRun.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { type ExecBatch, elementColumn } from '../operators/batches.ts'
import { withoutKeys } from '../operators/operator.ts'
import { wholeMilliseconds } from '../operators/sort/wholeMilliseconds.ts'
import { windowedBatches } from '../windows/windowRun.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { GroupRun, type GroupServices, groupedRows, isCompared } from './groupRun.ts'
import { indexedBatches } from './indexedBatches.ts'
import { joinedRows } from './joinRun.ts'
import { sortedBatches, together } from './sortedBatches.ts'
import { SortRun } from './sortRun.ts'

/** The result in pieces, at least one; undefined where the operator has to run as one task. */
export async function sharedWork(
  operator: WideOperator,
  [first = [], second = []]: readonly (readonly ExecBatch[])[],
  services: GroupServices,
): Promise<readonly ExecBatch[] | undefined> {
  switch (operator.kind) {
    case 'HashAggregateExec':
      return await groups(operator, first, services)
    case 'HashJoinExec':
      return await joinedRows(operator, first, second, services)
    case 'AsofJoinExec':
      return first.some((batch) => batch.length > 0) ? await asofRows(operator, first, second, services) : undefined
    case 'SortExec':
      return await sortedBatches(operator, first, services)
    case 'WindowExec':
      return first.some((batch) => batch.length > 0) ? await windowedBatches(operator, first, services) : undefined
    case 'DistinctExec': {
      const found = await distinctRows(first, services)
      return found && [found]
    }
    case 'IndexExec':
      return await indexedBatches(operator, first, services)
    case 'GroupReduceExec':
    case 'GroupMapExec':
    case 'DrawExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return undefined
  }
}

async function groups(
  operator: Extract<WideOperator, { kind: 'HashAggregateExec' }>,
  batches: readonly ExecBatch[],
  services: GroupServices,
): Promise<readonly ExecBatch[] | undefined> {
  const found = batches.some((batch) => batch.length > 0) ? await groupedRows(operator, batches, services) : undefined
  return found && [found]
}

/** The first of equal elements, found as groups are; undefined for types that kernels do not compare or gather, or where memory is short. */
async function distinctRows(batches: readonly ExecBatch[], services: GroupServices): Promise<ExecBatch | undefined> {
  const filled = batches.filter((batch) => batch.length > 0).map(withoutKeys)
  const whole = await together(filled, services)
  if (whole === undefined) return undefined
  const key = wholeMilliseconds(elementColumn(whole))
  const columns = [...whole.columns, ...(whole.hidden ?? [])]
  if (!isCompared(key) || !columns.every(isGatherable)) return undefined
  const run = new GroupRun(key, services, 'DistinctExec')
  const gather = new SortRun(services)
  const blocks = new ResultBlocks(services.arena, 'DistinctExec')
  try {
    const { order, length } = await run.groups()
    if (length === whole.length) return whole
    const taken = await gatheredColumns(columns, { address: order, length }, gather, { workers: services.workers, blocks })
    services.hold(blocks.handedOver())
    const shown = taken.slice(0, whole.columns.length)
    return { element: whole.element, length, columns: shown, ...(whole.hidden && { hidden: taken.slice(shown.length) }) }
  } catch (error) {
    blocks.freeAll()
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    run.end()
    gather.end()
  }
}
