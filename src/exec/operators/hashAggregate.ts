/** Groups by the first hidden column, in order of first appearance, and computes aggregates of the others. */
import type { Column } from '../../core/column.ts'
import { takeColumn } from '../../core/columnOps.ts'
import { aggregateColumn } from './aggregates.ts'
import { type ExecBatch, emptyBatch, rowBatch } from './batches.ts'
import { firstRows, KeyIds, rowsById } from './keyIds.ts'
import type { RunWide } from './operator.ts'

export const hashAggregateExec: RunWide<'HashAggregateExec'> = ({ aggregates, element }, [input]) => {
  const batch = input as ExecBatch
  const [key, ...columns] = batch.hidden ?? []
  if (key === undefined || batch.length === 0) return emptyBatch(element)
  const ids = new KeyIds(key.type)
  const encoded = ids.encode(key)
  const groups = rowsById(encoded, ids.size)
  const results = aggregates.map((call) => aggregateColumn(call, call.column === undefined ? undefined : columns[call.column], groups))
  const keys = keyColumns(takeColumn(key, firstRows(encoded, ids.size)))
  return rowBatch(
    [...keys.map(([name]) => name), ...aggregates.map((call) => call.name)],
    [...keys.map(([, column]) => column), ...results],
    ids.size,
  )
}

/** The columns that name a group: an object's own fields, else one called `key`. */
export function keyColumns(key: Column): readonly (readonly [string, Column])[] {
  if (key.type.kind !== 'struct' || key.validity !== undefined) return [['key', key]]
  return key.type.fields.map((field, i) => [field.name, key.children?.[i] as Column] as const)
}
