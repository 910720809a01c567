/** The name of an array in messages: how it was made, as `zeros([3, 4])` or `ratings.parquet.filter(…).index(…)`. */
import { inputsOf, type LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { traitsOf } from '../../core/plan/nodeTraits.ts'

/** Longer chains are cut in the middle. */
const LONGEST = 60

export function labelOf(node: LogicalPlan): string {
  const label = chain(node)
  return label.length <= LONGEST ? label : `${label.slice(0, LONGEST / 2)} … ${label.slice(-LONGEST / 2)}`
}

function chain(node: LogicalPlan): string {
  const [input] = inputsOf(node)
  const own = traitsOf(node).label?.(node) ?? `.${node.kind.charAt(0).toLowerCase()}${node.kind.slice(1)}(…)`
  return input === undefined ? own : `${chain(input)}${own}`
}
