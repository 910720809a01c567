/**
 * Of rows in any order, the first of those that come first in the order, and the last of those that come last: all that rows of other ranges
 * of the order can be matched with. What has no place in it, null and NaN, comes last of all, where no row is behind it that has one.
 */
import { type ExecBatch, takeBatch } from '../operators/batches.ts'
import { comparatorOf } from '../operators/sort/order.ts'

/** Two rows; none where there are none. The order is the hidden column. */
export function endsOf(batch: ExecBatch): ExecBatch {
  const order = batch.hidden?.[0]
  if (batch.length === 0 || order === undefined) return batch
  const compare = comparatorOf(order, false)
  let [first, last] = [0, 0]
  for (let row = 1; row < batch.length; row++) {
    if (compare(row, first) < 0) first = row
    if (compare(row, last) >= 0) last = row
  }
  return takeBatch(batch, Int32Array.of(first, last))
}
