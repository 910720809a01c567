/** The task that computes a sorted piece of a partition, with the state carried from before (`carried.ts`) and the rows that its frames reach. */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { type ExecBatch, sliceBatch } from '../operators/batches.ts'
import { markBoundaries, placesTo } from './boundaries.ts'
import type { Carried } from './carried.ts'
import { asksPeers, computeWindows, resultColumn, resultKind, resultOf, type WindowOperator, withResults } from './windowColumns.ts'
import { orderOf } from './windowFold.ts'

/** The positions of the wanted rows in a batch, and the state carried from the rows before the batch. */
export interface WindowPiece {
  readonly from: number
  readonly to: number
  readonly carried: Carried
}

export function windowPiece(operator: WindowOperator, batch: ExecBatch, { from, to, carried }: WindowPiece): ExecBatch {
  const { length } = batch
  const hidden = withCarried(operator, batch.hidden ?? [], carried)
  const rows = placesTo(length)
  const marks = new Uint8Array(length)
  markBoundaries(rows, { from: 0, to: length }, { order: asksPeers(operator) ? orderOf(operator, hidden) : undefined }, marks)
  const results = operator.calls.map((call) => resultOf(resultKind(call, hidden, operator.frame), length))
  computeWindows({ operator, rows, marks, hidden, results, carried }, 0, length)
  // one result for each call
  const added = results.map((result, c) => resultColumn(result, hidden[operator.calls[c]?.column ?? -1], from, to))
  return withResults(operator, sliceBatch(batch, from, to), added)
}

/** The hidden columns; one whose calls carry values has one more row for each call, in row length + c the value of call `c`. */
function withCarried({ calls }: WindowOperator, hidden: readonly Column[], carried: Carried): readonly Column[] {
  return hidden.map((column, h) => {
    const values = calls.map((call, c) => (call.column === h ? carried.calls[c]?.value : undefined))
    const some = values.find((value) => value !== undefined)
    return some === undefined ? column : concatColumns([column, ...values.map((value) => value ?? some)], 'window')
  })
}
