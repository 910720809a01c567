/**
 * A sort under a limit becomes a top-k: each partition keeps only its own first ones.
 *
 *     Limit 10                     Limit 10
 *       Sort r.price       -->       Sort r.price first 10
 *         X                            X
 *
 * The limit stays above, over at most as many rows.
 */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Rule } from '../rule.ts'

export const topK: Rule = {
  name: 'topK',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Limit' || plan.input.kind !== 'Sort') return undefined
    const sort = plan.input
    if (sort.limit !== undefined && sort.limit <= plan.count) return undefined
    return { ...plan, input: { ...sort, limit: plan.count } }
  },
}
