/** Keeps an element when the random number drawn for its row number is below the fraction. */
import { uniformAt } from '../../../core/arrays/random.ts'
import { takeBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'

export const sampleExec: OpenNarrow<'SampleExec'> = ({ fraction, seed }, context) =>
  counting('sample', context, (batch, row) => {
    const kept = Int32Array.from({ length: batch.length }, (_, i) => i).filter((i) => uniformAt(seed, row.firstRow + i) < fraction)
    return takeBatch(batch, kept)
  })
