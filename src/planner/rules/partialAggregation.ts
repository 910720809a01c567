/**
 * Groups are formed within each partition first where the aggregates of parts give the aggregate of the whole, so that
 * a group instead of its rows moves to the other partitions.
 *
 *     GroupBy r.shop: n = count()   -->   the same, per partition first
 *
 * Counts, extremes, firsts and lasts combine. Sums and means of numbers do not: their bits come from the fixed tree over
 * the group's own values in row order, whose chunks do not follow the partitions.
 */
import type { AggregateCall, LogicalPlan } from '../../core/logicalPlan.ts'
import type { Rule } from '../rule.ts'

const COMBINES: readonly AggregateCall['kind'][] = ['count', 'min', 'max', 'first', 'last']

export const partialAggregation: Rule = {
  name: 'partialAggregation',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'GroupBy' || plan.how.kind !== 'agg' || plan.how.partial === true) return undefined
    if (!plan.how.aggregates.every((call) => COMBINES.includes(call.kind))) return undefined
    return { ...plan, how: { ...plan.how, partial: true } }
  },
}
