/** Keeps the first `count` elements of each partition by the order, so that the sort above sees few. */
import { concatBatches, type ExecBatch, takeBatch } from '../batches.ts'
import type { OpenNarrow } from '../operator.ts'
import { sortedRows } from './order.ts'

export const topKExec: OpenNarrow<'TopKExec'> = ({ descending, count }) => {
  const batches: ExecBatch[] = []
  return {
    next(batch) {
      batches.push(batch)
      return undefined
    },
    end() {
      const all = concatBatches(batches)
      const [key] = all.hidden ?? []
      if (key === undefined || all.length <= count) return all
      // kept in element order, so that the sort above still breaks ties by it
      return takeBatch(all, sortedRows(key, { descending, limit: count }).sort())
    },
  }
}
