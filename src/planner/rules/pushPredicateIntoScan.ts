/**
 * A filter over a scan tells the source what cannot match, so that row groups are skipped by their statistics.
 *
 *     Filter r.stars > 3 && f(r)            Filter r.stars > 3 && f(r)
 *       Scan ratings [user, stars]   -->      Scan ratings [user, stars] where stars > 3
 *
 * The filter stays. A comparison is taken only when every row it skips makes the filter false without a trace: what is evaluated
 * before it cannot fail; the filter does not read row numbers, which skipping would change. Nulls are not in the statistics, and
 * JavaScript finds `null < 1` true: such a comparison skips only row groups that have no nulls.
 */

import type { ElementType } from '../../core/data/schema.ts'
import type { BinaryOperator, Expr, FunctionIr } from '../../core/ir/functionIr.ts'
import { readsKey } from '../../core/ir/functionUse.ts'
import { valueClassOf } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { type ColumnComparison, type ColumnPredicate, type ComparisonOperator, predicateText } from '../../core/plan/predicate.ts'
import { columnOf, isPure } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'
import { conjunctsOf, isColumn, isSafe } from './irRewrite.ts'

export const pushPredicateIntoScan: Rule = {
  name: 'pushPredicateIntoScan',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Filter' || plan.input.kind !== 'Scan' || !isPure(plan.f)) return undefined
    const scan = plan.input
    if (scan.keys.kind === 'rowNumber' && readsKey(plan.f)) return undefined
    const predicate = comparisonsOf(plan.f.ir, scan.element)
    if (predicate.length === 0 || predicateText(predicate) === predicateText(scan.predicate ?? [])) return undefined
    return { ...plan, input: { ...scan, predicate } }
  },
}

/** Returns comparisons that must all hold for the function to return something true. */
function comparisonsOf(ir: FunctionIr, element: ElementType): ColumnPredicate {
  const [only] = ir.body
  if (ir.body.length !== 1 || only?.kind !== 'Return' || only.value === undefined) return []
  const found: ColumnComparison[] = []
  for (const part of conjunctsOf(only.value)) {
    const comparison = comparisonOf(part, ir, element)
    if (comparison !== undefined && !found.some((one) => predicateText([one]) === predicateText([comparison]))) found.push(comparison)
    if (!isSafe(part, ir, element)) break // later parts are not reached where this one throws
  }
  return found
}

/** The comparison operator when the two sides are exchanged. */
const MIRRORED: Partial<Readonly<Record<BinaryOperator, ComparisonOperator>>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '===': '===',
  '==': '===',
}
const STRAIGHT: Partial<Readonly<Record<BinaryOperator, ComparisonOperator>>> = {
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '===': '===',
  '==': '===',
}

function comparisonOf(expr: Expr, ir: FunctionIr, element: ElementType): ColumnComparison | undefined {
  if (expr.kind !== 'Binary') return undefined
  const { left, right, operator } = expr
  if (isColumn(left)) return checked(left, STRAIGHT[operator], constantOf(right, ir), element)
  if (isColumn(right)) return checked(right, MIRRORED[operator], constantOf(left, ir), element)
  return undefined
}

function constantOf(expr: Expr, ir: FunctionIr): unknown {
  if (expr.kind === 'Literal') return expr.value
  if (expr.kind === 'Parameter') return ir.parameters.find((one) => one.name === expr.name)?.value
  if (expr.kind === 'Unary' && expr.operator === '-') {
    const value = constantOf(expr.operand, ir)
    return typeof value === 'number' || typeof value === 'bigint' ? -value : undefined
  }
  return undefined
}

function checked(
  field: Extract<Expr, { kind: 'Field' }>,
  operator: ComparisonOperator | undefined,
  value: unknown,
  element: ElementType,
): ColumnComparison | undefined {
  const column = columnOf(field, { inputs: [element] })
  if (column === undefined || operator === undefined || !isComparable(valueClassOf(column.type), operator, value)) return undefined
  return { column: field.name, operator, value, ...(column.nullable && holds(null, operator, value) ? { isOfNull: true } : {}) }
}

/** Whether the source's statistics order the column's values as JavaScript orders them against this constant. */
function isComparable(
  is: ReturnType<typeof valueClassOf>,
  operator: ComparisonOperator,
  value: unknown,
): value is ColumnComparison['value'] {
  switch (is) {
    case 'number':
    case 'bigint':
      return (typeof value === 'number' && !Number.isNaN(value)) || typeof value === 'bigint'
    case 'string':
      // statistics order by UTF-8, JavaScript by UTF-16; against text below the surrogates both agree
      return typeof value === 'string' && !/[\ud800-\uffff]/.test(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'Date':
      // a captured Date is a number to `<`; no Date is equal to a number
      return typeof value === 'number' && !Number.isNaN(value) && operator !== '==='
    case 'other':
    case 'unknown':
      return false
  }
}

function holds(value: null, operator: ComparisonOperator, constant: unknown): boolean {
  const other = constant as never // JavaScript compares null with anything
  switch (operator) {
    case '<':
      return (value as never) < other
    case '<=':
      return (value as never) <= other
    case '>':
      return (value as never) > other
    case '>=':
      return (value as never) >= other
    case '===':
      return value === other
  }
}
