/** Whether the elements of a plan come in the order of their explicit keys, all of which differ. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { visitPlan } from '../../core/plan/tree.ts'

/** Whether an index sorts the elements, and what is above it keeps their keys as they are. */
export function hasKeysInOrder(plan: LogicalPlan): boolean {
  switch (plan.kind) {
    case 'Index':
      return !readsServer(plan.input)
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

/** Whether rows come from a server, which may index them there. */
function readsServer(plan: LogicalPlan): boolean {
  let isThere = false
  visitPlan(plan, (one) => {
    isThere ||= one.kind === 'Scan' && one.source.remote !== undefined
  })
  return isThere
}
