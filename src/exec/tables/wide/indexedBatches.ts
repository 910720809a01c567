/**
 * Sorts elements by their explicit keys, by all workers. Of equal keys the first or the last row is kept, or they are an error; functions
 * that combine rows are called by one task (`operators/indexKeys.ts`).
 *
 *     keys     [2, 0] [0, 7] [2, 0]      rows in order   1 0 2
 *     kept     the last of each          rows            1 2         which are gathered, other columns once they are known
 */
import type { Column } from '../../../core/data/column.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { keepRows, repeatedKey, repeatedOf, repeatsIn } from '../operators/indexKeys.ts'
import { sortParts } from '../operators/sort/sortParts.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { type SortedServices, together } from './sortedBatches.ts'
import { SortRun } from './sortRun.ts'

/** The elements in the order of their keys; undefined where a function combines them, kernels cannot gather a column, or memory is short. */
export async function indexedBatches(
  { combine, keeps }: Extract<WideOperator, { kind: 'IndexExec' }>,
  batches: readonly ExecBatch[],
  services: SortedServices,
): Promise<readonly ExecBatch[] | undefined> {
  const whole = await together(
    batches.filter((batch) => batch.length > 0),
    services,
  )
  if (whole?.keys === undefined || whole.hidden !== undefined || !whole.columns.every(isGatherable)) return undefined
  const { length, element, columns } = whole
  const keys = whole.keys.map((values): Column => ({ type: { kind: 'i32' }, length, values }))
  const run = new SortRun(services)
  const blocks = new ResultBlocks(services.arena, 'IndexExec')
  try {
    const sorted = await run.rowsBy(
      keys.flatMap((key) => sortParts(key) ?? []),
      length,
      { descending: false, limit: length },
    )
    if (sorted === undefined) return undefined
    const order = run.memory.integers(sorted.address, length)
    const repeats = repeatsIn(whole.keys, order)
    if (repeats !== undefined && keeps === undefined) {
      if (combine === undefined) throw repeatedKey(repeatedOf(whole.keys, order, repeats))
      return undefined
    }
    const rows = { ...sorted, length: repeats === undefined || keeps === undefined ? length : keepRows(order, repeats, keeps) }
    const taken = await gatheredColumns([...keys, ...columns], rows, run, { workers: services.workers, blocks })
    services.hold(blocks.handedOver())
    const axes = taken.slice(0, keys.length).map(({ values }) => values as Int32Array) // as they were
    return [{ element, length: rows.length, columns: taken.slice(keys.length), keys: axes }]
  } catch (error) {
    blocks.freeAll()
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    run.end()
  }
}
