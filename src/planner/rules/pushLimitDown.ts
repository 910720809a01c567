/**
 * A limit moves below nodes that give one element for each, so that the functions run only on the elements that are wanted.
 *
 *     Limit 10             Map f
 *       Map f      -->       Limit 10
 *         X                    X
 *
 * Sound because the first elements keep their keys, and the functions cannot fail on those that are left out.
 */

import { thinned } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { runsUnnoticed } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'

export const pushLimitDown: Rule = {
  name: 'pushLimitDown',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Limit') return undefined
    const node = plan.input
    // of rows whose columns are not known, only later ones may have the projected column
    const isProjected = node.kind === 'Project' && node.input.element.kind !== 'unknown'
    const isOneForOne = isProjected || ((node.kind === 'Map' || node.kind === 'WithColumns') && runsUnnoticed(node))
    if (!isOneForOne) return undefined
    const keys = thinned(node.input.keys)
    return { ...node, keys, input: { ...plan, input: node.input, element: node.input.element, keys } }
  },
}
