/** Whether the elements of a plan come in the order of their explicit keys, all of which differ. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'

/** Whether an index sorts the elements, and what is above it keeps their keys as they are. */
export function hasKeysInOrder(plan: LogicalPlan): boolean {
  switch (plan.kind) {
    case 'Index':
      return true
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'Project':
    case 'Cast':
    case 'IndexBuild':
      return plan.keys.kind === 'explicit' && hasKeysInOrder(plan.input)
    default:
      return false
  }
}
