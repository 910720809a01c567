/** The first `count` elements of a partition; the executor cuts once more across partitions. */
import { sliceBatch } from './batches.ts'
import type { Narrow, OpenNarrow } from './operator.ts'

export const limitExec: OpenNarrow<'LimitExec'> = ({ count }) => {
  let left = count
  const narrow: Narrow = {
    next(batch) {
      const taken = sliceBatch(batch, 0, Math.min(left, batch.length))
      left -= taken.length
      return taken
    },
    get done() {
      return left === 0
    },
  }
  return narrow
}
