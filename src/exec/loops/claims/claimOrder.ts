/**
 * The order in which blocks that are ready are claimed: those first from which the longest way leads to the end of the pass,
 * by what each block took in the pass before.
 *
 *     took      1  1  1  1  4          in plan order          0 2 4 4 4 4
 *                                      2 workers              1 3
 *                                      the longest first      4 4 4 4
 *                                                             0 1 2 3
 *
 * Of blocks that wait for none the longest comes first (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969: no
 * pass then takes more than 4/3 of the shortest possible one); of others, those that most is left to do after (T. C. Hu,
 * 1961). It decides who runs a block and when, which no result depends on. Where blocks took much the same, plan order is
 * kept: neighbours then run one after another.
 */
import type { ClaimedBlocks } from '../blocks/claimedBlocks.ts'

/** A longest way that is longer than the mean by this factor is worth another order. */
const UNEVEN = 1.5

/** All blocks in that order; undefined where plan order will do. `took` has any unit of time, for each block. */
export function claimOrder(schedule: ClaimedBlocks, took: ArrayLike<number>): readonly number[] | undefined {
  const { count, waitsFor, successorStart, successors } = schedule
  const left = new Float64Array(count)
  // a block comes before those that wait for it
  for (let block = count - 1; block >= 0; block--) {
    let after = 0
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      after = Math.max(after, left[successors[i] as number] as number)
    }
    left[block] = (took[block] as number) + after
  }
  const ready = left.filter((_, block) => waitsFor[block] === 0)
  const mean = ready.reduce((sum, ms) => sum + ms, 0) / ready.length
  if (ready.every((ms) => ms <= UNEVEN * mean)) return undefined
  return Array.from(left.keys()).sort((a, b) => (left[b] as number) - (left[a] as number) || a - b)
}
