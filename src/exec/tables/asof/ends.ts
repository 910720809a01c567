/** Of rows in any order, the first of those that come first in the order, and the last of those that come last: what as-of joins ask of rows that lie apart. */
import { type Column, isValid } from '../../../core/data/column.ts'
import { type ExecBatch, takeBatch } from '../operators/batches.ts'
import { comparatorOf } from '../operators/sort/order.ts'

/** Two rows; none where no row has a place in the order, which is the hidden column. */
export function endsOf(batch: ExecBatch): ExecBatch {
  const order = batch.hidden?.[0]
  let [first, last] = [-1, -1]
  if (order !== undefined && order.type.kind !== 'null' && order.type.kind !== 'unknown') {
    const compare = comparatorOf(order, false)
    for (let row = 0; row < batch.length; row++) {
      if (!hasPlace(order, row)) continue
      if (first < 0 || compare(row, first) < 0) first = row
      if (last < 0 || compare(row, last) >= 0) last = row
    }
  }
  return takeBatch(batch, first < 0 ? new Int32Array() : Int32Array.of(first, last))
}

function hasPlace(order: Column, row: number): boolean {
  const value = order.values?.[row]
  return isValid(order, row) && !(order.offsets === undefined && Number.isNaN(value))
}
