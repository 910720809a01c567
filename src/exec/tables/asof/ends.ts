/**
 * The two rows of a range of the order that rows of other ranges can match: the first of those that are least in the order, and the last of
 * those that are greatest. Null and NaN, which match nothing, come last: where one is the last row, no later range has rows with a place.
 */
import { type ExecBatch, takeBatch } from '../operators/batches.ts'
import { comparatorOf } from '../operators/sort/order.ts'

/** The first and the last row of a batch by its hidden column; an empty batch stays empty. */
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
