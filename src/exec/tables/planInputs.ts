/** The inputs of the nodes of a physical plan. */
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'

/** The inputs of a node, left first. */
export function inputsOf(plan: PhysicalPlan): readonly PhysicalPlan[] {
  if ('inputs' in plan) return plan.inputs
  return 'input' in plan ? [plan.input] : []
}

/** Whether a plan reads arrays of the program, which the program may write. */
export function readsStorage(plan: PhysicalPlan): boolean {
  return plan.kind === 'StoredExec' || inputsOf(plan).some(readsStorage)
}
