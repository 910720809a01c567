/** Physical plans of logical ones that no optimizer has seen, but with the marks that say what is streamed: their nodes run as they were written. */
import type { LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import { optimize } from '../src/planner/optimize.ts'
import { type LowerOptions, lower } from '../src/planner/physical/lower.ts'
import type { PhysicalPlan } from '../src/planner/physical/physicalPlan.ts'
import { markPipelined } from '../src/planner/rules/markPipelined.ts'

export function lowerMarked(plan: LogicalPlan, options: LowerOptions = {}): PhysicalPlan {
  return lower(optimize(plan, [markPipelined]).plan, options)
}
