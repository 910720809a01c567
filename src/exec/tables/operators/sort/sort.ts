/** Orders elements by the hidden key column; the result is a table. */
import { type ExecBatch, takeBatch } from '../batches.ts'
import { type RunWide, withoutKeys } from '../operator.ts'
import { sortedRows } from './order.ts'

export const sortExec: RunWide<'SortExec'> = ({ descending, limit, hiddenKey }, [input]) => {
  const { hidden, ...payload } = withoutKeys(input as ExecBatch)
  const batch: ExecBatch = hiddenKey !== undefined && hidden !== undefined ? { ...payload, hidden } : payload
  const key = hidden?.[hiddenKey ?? 0]
  if (key === undefined || batch.length === 0) return batch
  return takeBatch(batch, sortedRows(key, { descending, ...(limit === undefined ? {} : { limit }) }))
}
