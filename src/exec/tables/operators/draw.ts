/**
 * A sample of a fixed number of elements: each has a draw, by the seed and its number alone, and those with the least draws stay, in their
 * order. A partition hands on only those that can be among them, so memory does not grow with the elements.
 */

import { fillUniform } from '../../../core/arrays/random.ts'
import type { Column } from '../../../core/data/column.ts'
import { concatBatches, type ExecBatch, takeBatch } from './batches.ts'
import { counting, type OpenNarrow, type RunWide } from './operator.ts'

/** The number of elements kept beyond those wanted, before the ones with the largest draws are dropped. */
const MOST_WAITING = 65_536

export const partialDrawExec: OpenNarrow<'PartialDrawExec'> = ({ count, seed }, context) => {
  let kept: ExecBatch[] = []
  let waiting = 0
  /** The least draw that cannot stay any more: enough elements with smaller ones have been seen. */
  let bound = 1
  const dropped = (): ExecBatch => {
    const all = leastDraws(concatBatches(kept), count)
    if (all.length === count && count > 0) bound = drawsOf(all).reduce((a, b) => Math.max(a, b))
    kept = [all]
    waiting = 0
    return all
  }
  const narrow = counting('sample', context, (batch, row) => {
    const draws = new Float64Array(batch.length)
    fillUniform(draws, row.firstRow, seed)
    const rows = Int32Array.from(draws.keys()).filter((i) => (draws[i] as number) < bound) // i < length
    const hidden: Column = { type: { kind: 'f64' }, length: draws.length, values: draws }
    kept.push(takeBatch({ ...batch, hidden: [hidden] }, rows))
    waiting += rows.length
    if (waiting > count + MOST_WAITING) dropped()
    return undefined
  })
  return { ...narrow, end: () => (kept.length === 0 ? undefined : dropped()) }
}

export const drawExec: RunWide<'DrawExec'> = ({ count }, [input]) => {
  const { hidden: _, ...batch } = leastDraws(input as ExecBatch, count)
  return batch
}

function drawsOf({ hidden }: ExecBatch): Float64Array {
  return (hidden?.[0]?.values ?? new Float64Array()) as Float64Array // draws are f64
}

/** The elements with the least draws, of equal draws the first. */
function leastDraws(batch: ExecBatch, count: number): ExecBatch {
  if (batch.length <= count) return batch
  const draws = drawsOf(batch)
  const rows = Int32Array.from(draws.keys()).sort((a, b) => (draws[a] as number) - (draws[b] as number) || a - b) // places of draws
  return takeBatch(batch, rows.subarray(0, count).sort())
}
