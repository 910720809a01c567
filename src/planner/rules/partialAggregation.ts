/**
 * Groups are formed within each partition first where the aggregates of parts give the aggregate of the whole, so that
 * a group instead of its rows moves to the other partitions.
 *
 *     GroupBy r.shop: n = count()   -->   the same, per partition first
 *
 * Counts, extremes, firsts and lasts combine. Sums and means of numbers do not: their bits come from the fixed tree over
 * the group's own values in row order, whose chunks do not follow the partitions.
 *
 * Rows of tables in memory need not move: workers share them, and count and compare numbers in kernels.
 */

import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import { valueClassOf } from '../../core/plan/elements.ts'
import type { AggregateCall, LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Rule } from '../rule.ts'
import { isColumn } from './irRewrite.ts'

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

/** Whether the aggregate is computed from the groups of all rows at once: counts of rows and of numbers, extremes of numbers, bigints and dates, firsts and lasts. */
function hasKernel({ element, input }: Extract<LogicalPlan, { kind: 'GroupBy' }>, { name, kind, of }: AggregateCall): boolean {
  if (kind === 'count') return of === undefined || isNumber(input.element, columnOf(of))
  if (kind === 'first' || kind === 'last') return true
  return (kind === 'min' || kind === 'max') && ['number', 'bigint', 'Date'].includes(classOf(element, name))
}

function isNumber(element: ElementType, name: string | undefined): boolean {
  return classOf(element, name) === 'number'
}

function classOf(element: ElementType, name: string | undefined): ReturnType<typeof valueClassOf> {
  return valueClassOf(fieldsOf(element).find((field) => field.name === name)?.type ?? { kind: 'unknown' })
}

/** Returns the column that a function returns unchanged; undefined where it computes anything. */
function columnOf({ ir }: UserFunction): string | undefined {
  const [only, ...rest] = ir?.body ?? []
  const value = only?.kind === 'Return' && rest.length === 0 ? only.value : undefined
  return value !== undefined && isColumn(value) ? value.name : undefined
}
