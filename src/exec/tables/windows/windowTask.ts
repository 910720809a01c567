/**
 * The tasks of a window on all workers, over columns and results in the arena: `windowRun.ts` says in which order they come.
 *
 *     marks      where partitions and peers begin, in a range of the places
 *     compute    all calls of whole partitions
 *     columns    the columns of results, for the rows of a batch
 */
import type { Column } from '../../../core/data/column.ts'
import { type ExecBatch, hiddenBatch } from '../operators/batches.ts'
import { markBoundaries } from './boundaries.ts'
import { computeWindows, resultColumn, type WindowResult, type WindowRows } from './windowColumns.ts'

export interface WindowTask {
  readonly kind: 'window'
  readonly work: WindowWork
  readonly from: number
  readonly to: number
}

export type WindowWork =
  | {
      readonly kind: 'marks'
      readonly rows: Int32Array
      readonly marks: Uint8Array
      readonly by?: Column | undefined
      readonly order?: Column | undefined
    }
  | ({ readonly kind: 'compute' } & WindowRows)
  | { readonly kind: 'columns'; readonly results: readonly { readonly result: WindowResult; readonly argument?: Column | undefined }[] }

export function runWindowTask({ work, from, to }: WindowTask): readonly ExecBatch[] {
  switch (work.kind) {
    case 'marks':
      markBoundaries(work.rows, { from, to }, work, work.marks)
      return []
    case 'compute':
      computeWindows(work, from, to)
      return []
    case 'columns':
      return [hiddenBatch(work.results.map(({ result, argument }) => resultColumn(result, argument, from, to)))]
  }
}

/** Whether a result's array is the column's buffer as it is. */
export function isHandedOn(result: WindowResult): boolean {
  return result.kind === 'bigints' || (result.kind === 'numbers' && result.present === undefined)
}
