/** A window as one task: partitions by ids of their keys, for keys of any type and where memory is short. */
import type { Column } from '../../../core/data/column.ts'
import { markBoundaries, placesTo } from '../windows/boundaries.ts'
import { computeWindows, resultColumn, resultKind, resultOf, type WindowResult, withResults } from '../windows/windowColumns.ts'
import type { ExecBatch } from './batches.ts'
import { KeyIds } from './hashing/keyIds.ts'
import { isTuple } from './hashing/tupleKeys.ts'
import type { RunWide } from './operator.ts'
import { directionOf, sortedRows } from './sort/order.ts'

export const windowExec: RunWide<'WindowExec'> = (operator, [input]) => {
  const batch = input as ExecBatch
  const { hidden = [], length } = batch
  if (length === 0) return nothing(batch)
  const by = operator.by ? idsOf(hidden[0] as Column) : undefined // a hidden column for each
  const order = operator.ordered ? (hidden[operator.by ? 1 : 0] as Column) : undefined
  const orders = order === undefined ? [] : itemsOf(order)
  const keys = by === undefined ? orders : [by, ...orders]
  const directions = orders.map((_, k) => directionOf(operator.descending, k))
  const goesDown = by === undefined ? directions : [false, ...directions]
  // one key has one direction, which is that of all its items where it is arrays
  const descending = keys.length === 1 ? goesDown[0] === true : goesDown
  const rows = keys.length === 0 ? placesTo(length) : sortedRows(together(keys), { descending })
  const marks = new Uint8Array(length)
  markBoundaries(rows, { from: 0, to: length }, { by, order }, marks)
  const results = operator.calls.map((call) => resultOf(resultKind(call, hidden, operator.frame), length))
  computeWindows({ operator, rows, marks, hidden, results }, 0, length)
  const added = operator.calls.map(({ column }, c) =>
    resultColumn(results[c] as WindowResult, column === undefined ? undefined : hidden[column], 0, length),
  )
  return withResults(operator, batch, added)
}

function idsOf(column: Column): Column {
  return { type: { kind: 'i32' }, length: column.length, values: new KeyIds(column.type).encode(column) }
}

/** The columns to order by, one after another: the items of a tuple without nulls, else the column itself. */
function itemsOf(order: Column): readonly Column[] {
  return order.validity === undefined && isTuple(order.type) ? (order.children ?? []) : [order]
}

/** Columns as one struct to sort by, the first column first. */
function together(keys: readonly Column[]): Column {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return first
  const fields = keys.map(({ type }, i) => ({ name: String(i), type, nullable: true }))
  return { type: { kind: 'struct', fields }, length: first?.length ?? 0, children: keys }
}

/** The result for no rows, whose columns the plan declares. */
function nothing({ hidden: _, ...batch }: ExecBatch): ExecBatch {
  return { ...batch, element: { kind: 'unknown' }, columns: [] }
}
