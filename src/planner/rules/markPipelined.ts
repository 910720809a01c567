/**
 * Marks the arrays between two nodes that are streamed from one to the other instead of stored.
 *
 *     GroupBy r.shop                  GroupBy r.shop
 *       Filter r.price > 0     -->      Filter r.price > 0  (pipelined)
 *         Scan orders                     Scan orders
 *
 * `pipelining.ts` says which; the physical plan streams what is marked and stores the rest. The mark is on the way from
 * one node to the other: an array that two nodes read may be marked for one and stored for the other. A mark that no longer
 * holds is taken away again.
 */
import { inputsOf, type LogicalPlan, withInputs } from '../../core/plan/logicalPlan.ts'
import { storedBecause } from '../pipelining.ts'
import type { Rule } from '../rule.ts'

export const markPipelined: Rule = {
  name: 'markPipelined',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    const inputs = inputsOf(plan)
    const marked = inputs.map((input) => withMark(input, markOf(plan, input)))
    return marked.some((input, i) => input !== inputs[i]) ? withInputs(plan, marked) : undefined
  },
}

function markOf(plan: LogicalPlan, input: LogicalPlan): LogicalPlan['pipelined'] {
  const stored = storedBecause(plan, input)
  if (stored === undefined) return true
  return stored.isForTypes === true ? 'first' : undefined
}

function withMark(input: LogicalPlan, mark: LogicalPlan['pipelined']): LogicalPlan {
  if (input.pipelined === mark) return input
  const { pipelined: _, ...plain } = input
  return mark === undefined ? plain : { ...plain, pipelined: mark }
}
