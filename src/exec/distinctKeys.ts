/** Keys of groups without aggregates, where they may be many: rows are sorted by key, and the first of equal ones are kept in their order. */
import type { Column } from '../core/column.ts'
import { concatColumns, isConcatFree } from '../core/columnConcat.ts'
import { MemoryError } from '../core/errors.ts'
import { sameType } from '../core/schema.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { type ExecBatch, hiddenBatch } from './operators/batches.ts'
import type { SortedServices } from './sortedBatches.ts'
import { SortRun } from './sortRun.ts'

/** The different keys, in order of first appearance; undefined for keys that are no words, or where memory is short. */
export async function distinctKeys(batches: readonly ExecBatch[], services: SortedServices): Promise<Column | undefined> {
  const keys = batches.flatMap((batch) => batch.hidden?.[0] ?? [])
  const [first] = keys
  if (first === undefined || keys.some(({ type }) => !sameType(type, first.type)) || !isGatherable(first)) return undefined
  const key = await together(keys, services)
  const run = new SortRun(services)
  const blocks = new ResultBlocks(services.arena, 'HashAggregateExec')
  try {
    const repeated = await run.repeatedRows(key)
    if (repeated === undefined) return undefined
    const rows = await run.firstRows(repeated, key.length)
    const [found] = await gatheredColumns([key], rows, run, { workers: services.workers, blocks })
    services.hold(blocks.handedOver())
    return found
  } catch (error) {
    blocks.freeAll()
    if (error instanceof MemoryError) return undefined // a table of keys needs less where they are few
    throw error
  } finally {
    run.end()
  }
}

/** The keys as one column: on a worker where that copies. */
async function together(keys: readonly Column[], { run }: SortedServices): Promise<Column> {
  if (keys.length === 1 || isConcatFree(keys)) return concatColumns(keys, 'key')
  const [whole] = await run({ kind: 'together', batches: keys.map((key) => hiddenBatch([key])) })
  return whole?.hidden?.[0] as Column // it has what its batches have
}
