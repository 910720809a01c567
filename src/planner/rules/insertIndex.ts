/**
 * A point or range query over elements without an index gets one: built once, kept for the queries to come.
 *
 *     IndexLookup [3, :]             IndexLookup [3, :]
 *       X                   -->        IndexBuild
 *                                        X
 *
 * Stored arrays are sorted by their keys already.
 */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Rule } from '../rule.ts'

export const insertIndex: Rule = {
  name: 'insertIndex',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'IndexLookup') return undefined
    const { input } = plan
    if (input.kind === 'IndexBuild' || input.kind === 'Stored' || input.kind === 'Array') return undefined
    return { ...plan, input: { kind: 'IndexBuild', input, element: input.element, keys: input.keys } }
  },
}
