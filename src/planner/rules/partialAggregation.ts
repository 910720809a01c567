/**
 * Groups are formed within each partition first where the aggregates of parts give the aggregate of the whole, so that
 * a group instead of its rows moves to the other partitions.
 *
 *     GroupBy r.shop: n = count()   -->   the same, per partition first
 *
 * Counts, extremes, firsts and lasts combine. Sums and means of numbers do not: their bits come from the fixed tree over
 * the group's own values in row order, whose chunks do not follow the partitions.
 *
 * Rows of tables in memory need not move: workers share them, and count, compare numbers and ask truth values in kernels, whose values
 * compiled functions compute as columns.
 */

import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { valueClassOf } from '../../core/plan/elements.ts'
import type { AggregateCall, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Rule } from '../rule.ts'

const COMBINES: readonly AggregateCall['kind'][] = ['count', 'min', 'max', 'first', 'last', 'any', 'all']

export const partialAggregation: Rule = {
  name: 'partialAggregation',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'GroupBy' || plan.how.kind !== 'agg' || plan.how.partial === true) return undefined
    if (!plan.how.aggregates.every((call) => COMBINES.includes(call.kind))) return undefined
    if (isOverTable(plan.input) && plan.how.aggregates.every((call) => hasKernel(plan, call))) return undefined
    return { ...plan, how: { ...plan.how, partial: true } }
  },
}

/** Whether the rows come from columns in memory, as those of joins and groups do too, through steps that tasks run over them. */
function isOverTable(plan: LogicalPlan): boolean {
  switch (plan.kind) {
    case 'Scan':
      return plan.source.columns !== undefined
    case 'Stored':
      return plan.storage.kind === 'table'
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'Project':
      return isOverTable(plan.input)
    case 'Join':
      return true
    case 'GroupBy':
      return plan.how.kind === 'agg'
    default:
      return false
  }
}

/** Whether the aggregate is computed from the groups of all rows at once: counts, truth values, extremes of numbers, bigints and dates, firsts and lasts. */
function hasKernel({ element }: Extract<LogicalPlan, { kind: 'GroupBy' }>, { name, kind, of }: AggregateCall): boolean {
  if (kind === 'count' || kind === 'any' || kind === 'all') return of === undefined || of.ir !== undefined
  if (kind === 'first' || kind === 'last') return true
  return (kind === 'min' || kind === 'max') && ['number', 'bigint', 'Date'].includes(classOf(element, name))
}

function classOf(element: ElementType, name: string | undefined): ReturnType<typeof valueClassOf> {
  return valueClassOf(fieldsOf(element).find((field) => field.name === name)?.type ?? { kind: 'unknown' })
}
