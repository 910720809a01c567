/** A piece of a partition whose rows are in order, as one task: what comes before it is carried (`carried.ts`), what its frames reach lies around it. */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { type ExecBatch, sliceBatch } from '../operators/batches.ts'
import { markBoundaries, placesTo } from './boundaries.ts'
import type { Carried } from './carried.ts'
import { asksPeers, computeWindows, resultColumn, resultKind, resultOf, type WindowOperator, withResults } from './windowColumns.ts'
import { orderOf } from './windowFold.ts'

/** Which rows of a batch are wanted, and what the batch is told of those before it. */
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

/** The columns with a row more for each call, where some carry a value: that of the call, in the column of its argument. */
function withCarried({ calls }: WindowOperator, hidden: readonly Column[], carried: Carried): readonly Column[] {
  return hidden.map((column, h) => {
    const values = calls.map((call, c) => (call.column === h ? carried.calls[c]?.value : undefined))
    const some = values.find((value) => value !== undefined)
    return some === undefined ? column : concatColumns([column, ...values.map((value) => value ?? some)], 'window')
  })
}
