/** Orders elements by the hidden key column; the result is a table. With `hiddenKey` rows keep their keys and all hidden columns, for later steps. */
import { type ExecBatch, takeBatch } from '../batches.ts'
import { type RunWide, withoutKeys } from '../operator.ts'
import { sortedRows } from './order.ts'

export const sortExec: RunWide<'SortExec'> = ({ descending, limit, hiddenKey }, [input]) => {
  const given = input as ExecBatch
  const { hidden, ...payload } = withoutKeys(given)
  const batch: ExecBatch = hiddenKey === undefined ? payload : given
  const key = hidden?.[hiddenKey ?? 0]
  if (key === undefined || batch.length === 0) return batch
  return takeBatch(batch, sortedRows(key, { descending, ...(limit === undefined ? {} : { limit }) }))
}
