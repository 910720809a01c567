/** The first of equal elements (by value; see `keyIds.ts`), in order of first appearance. */
import { concatBatches, type ExecBatch, elementColumn, takeBatch } from './batches.ts'
import { firstRows, KeyIds } from './hashing/keyIds.ts'
import { type OpenNarrow, type RunWide, withoutKeys } from './operator.ts'
import { wholeMilliseconds } from './sort/wholeMilliseconds.ts'

export const distinctExec: RunWide<'DistinctExec'> = (_, [input]) => distinctOf(input as ExecBatch)

/** The first of equal elements within a partition, so that the others need not travel. */
export const partialDistinctExec: OpenNarrow<'PartialDistinctExec'> = () => {
  const batches: ExecBatch[] = []
  return {
    next(batch) {
      batches.push(withoutKeys(batch))
      return undefined
    },
    end: () => distinctOf(concatBatches(batches)),
  }
}

function distinctOf(batch: ExecBatch): ExecBatch {
  const table = withoutKeys(batch)
  const column = wholeMilliseconds(elementColumn(table))
  const ids = new KeyIds(column.type)
  const encoded = ids.encode(column)
  return ids.size === table.length ? table : takeBatch(table, firstRows(encoded, ids.size))
}
