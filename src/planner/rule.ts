/**
 * A rule: one rewrite of one node, told apart by what it returns.
 *
 * The optimizer walks the plan and calls `rewrite` on every node, inputs first; a rule looks at the node and what is
 * below it. `undefined` means that there is nothing to say. The result must have the same elements, the same keys and
 * the same promised order (`invariants.ts`).
 */
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'

export interface Rule {
  readonly name: string
  rewrite(plan: LogicalPlan): LogicalPlan | undefined
}
