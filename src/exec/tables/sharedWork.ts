/** Wide operators that all workers carry out together, by tasks of their own. */
import type { WideOperator } from '../../planner/physical/physicalPlan.ts'
import { asofRows } from './asof/asofRun.ts'
import { distinctRows } from './distinctRun.ts'
import { type GroupServices, groupedRows } from './groupRun.ts'
import { joinedRows } from './joinRun.ts'
import type { ExecBatch } from './operators/batches.ts'
import { sortedBatches } from './sortedBatches.ts'
import { windowedBatches } from './windows/windowRun.ts'

/** The result in pieces, at least one; undefined for what is one task. */
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
    case 'GroupReduceExec':
    case 'GroupMapExec':
    case 'DrawExec':
    case 'IndexExec':
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
