/**
 * The first rows by an order, of a file whose columns memory has no room for: those of each range are kept in order, and the sort goes
 * over those.
 *
 *     first 2 of range 1   5 3 9 3   ->  3 3
 *     first 2 of range 2   4 2 7     ->  2 4      the sort finds 2 3 among these
 *
 * Ranges follow one another, and sorts leave equal keys in their order: so it is that of the rows in the file.
 */
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { refused } from '../columns/refused.ts'
import type { Dataset, Pipeline } from '../dataset.ts'
import type { Ranges } from './rangedInputs.ts'
import { leftOfRanges, RangedPieces } from './rangedPieces.ts'
import { withComparedKeys, withoutTopK } from './runPlans.ts'

type Sort = Extract<WideOperator, { kind: 'SortExec' }>

/** The first rows of each range, or of several, as the input of the sort; undefined where no column program makes them, kernels do not sort by the key, or memory is short. */
export async function topInRanges(input: Pipeline, operator: Sort, ranges: Ranges): Promise<Dataset | undefined> {
  const plan = withoutTopK(input)
  if (plan === undefined || operator.limit === undefined) return undefined
  const pieces = new RangedPieces(ranges.state, { ...operator, hiddenKey: 0 }) // later sorts need the key
  return await leftOfRanges({ input, plan, pieces }, ranges, {
    how: { keySets: () => [] },
    add: async ({ batch }) => {
      const made = withComparedKeys(batch, operator)
      const first = await pieces.leaves([made])
      if (first === undefined) return refused('kernels do not sort by its key')
      pieces.add(first)
      return made
    },
  })
}
