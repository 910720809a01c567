/** A sort on all workers: each sorts a part of the order; bounds are picked from a sample, which decides who does how much and nothing else. */
import type { Column } from '../core/column.ts'
import { isValid } from '../core/column.ts'
import { takeColumn } from '../core/columnSlices.ts'
import type { ExecBatch } from './operators/batches.ts'
import { sortedRows } from './operators/order.ts'
import type { SortTask } from './operators/sortTask.ts'

export interface SortServices {
  /** Tasks worth running at once. */
  readonly workers: number
  readonly run: (task: SortTask) => Promise<readonly ExecBatch[]>
}

const SAMPLED_ROWS = 1024

/** The sorted table in pieces, at least one. */
export async function sortedPieces(batch: ExecBatch, descending: boolean, { workers, run }: SortServices): Promise<readonly ExecBatch[]> {
  const [key] = batch.hidden ?? []
  const bounds = key === undefined ? [] : boundsOf(key, descending, workers)
  const starts = [undefined, ...bounds]
  const outcomes = await Promise.allSettled(
    starts.map((from, part) => {
      const to = starts[part + 1]
      return run({ kind: 'sortPart', batch, descending, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) })
    }),
  )
  const pieces = outcomes.flatMap((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
  const filled = pieces.filter((piece) => piece.length > 0)
  return filled.length === 0 ? pieces.slice(0, 1) : filled
}

/** Rows whose keys begin the second part and those after it. */
function boundsOf(key: Column, descending: boolean, parts: number): readonly number[] {
  const step = Math.max(1, Math.floor(key.length / SAMPLED_ROWS))
  const sample = Int32Array.from({ length: Math.ceil(key.length / step) }, (_, i) => i * step).filter((row) => isValid(key, row))
  if (sample.length < parts) return []
  const order = sortedRows(takeColumn(key, sample), { descending })
  return Array.from({ length: parts - 1 }, (_, i) => sample[order[Math.floor(((i + 1) * sample.length) / parts)] as number] as number) // inside the sample
}
