/**
 * Two maps in a row become one function, so that the columns between them are never stored.
 *
 *     Map g                 Map g of f
 *       Map f       -->       X
 *         X
 *
 * Also a map over `withColumns`. Sound because the columns between change values as the composition does (`compose`),
 * and at most one of the two can fail: of two failures the plan would meet another one first.
 */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { isPure, runsUnnoticed } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'
import { asStored, compose } from './compose.ts'
import { closureOf, composedFunction } from './irRewrite.ts'

export const fuseMaps: Rule = {
  name: 'fuseMaps',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Map' || (plan.input.kind !== 'Map' && plan.input.kind !== 'WithColumns')) return undefined
    const inner = plan.input
    if (!isPure(plan.f) || !isPure(inner.f)) return undefined
    // what the first computes and the second does not read is dropped, so it must not fail
    if (!runsUnnoticed(inner)) return undefined
    const adds = inner.kind === 'WithColumns'
    if (adds && inner.element.kind !== 'row') return undefined
    const ir = compose({ first: inner.f.ir, input: inner.input.element, between: inner.element, second: plan.f.ir, adds })
    if (ir === undefined) return undefined
    const outer = closureOf(plan.f)
    const first = closureOf(inner.f)
    const between = adds
      ? (value: unknown, key: unknown) => ({ ...(value as object), ...(asStored(first(value, key)) as object) }) // withColumns takes and gives rows
      : (value: unknown, key: unknown) => asStored(first(value, key))
    const f = composedFunction(ir, {
      text: `${plan.f.text} of ${inner.f.text}`,
      span: plan.f.span,
      original: (value, key) => outer(between(value, key), key),
    })
    return { ...plan, f, input: inner.input }
  },
}
