/** Equal elements found as the groups of a `groupBy` are (`groupRun.ts`), by all workers; the first of each is kept, in their order. */
import { MemoryError } from '../../core/errors.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { GroupRun, type GroupServices, isCompared } from './groupRun.ts'
import { type ExecBatch, elementColumn } from './operators/batches.ts'
import { withoutKeys } from './operators/operator.ts'
import { wholeMilliseconds } from './operators/sort/wholeMilliseconds.ts'
import { together } from './sortedBatches.ts'
import { SortRun } from './sortRun.ts'

/** Undefined for elements that kernels do not compare or gather, or where memory is short. */
export async function distinctRows(batches: readonly ExecBatch[], services: GroupServices): Promise<ExecBatch | undefined> {
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
