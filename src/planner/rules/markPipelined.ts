/**
 * Marks the arrays between two nodes that are streamed from one to the other instead of stored.
 *
 *     GroupBy r.shop                  GroupBy r.shop
 *       Filter r.price > 0     -->      Filter r.price > 0  (pipelined)
 *         Scan orders                     Scan orders
 *
 * What takes one element after another and keeps none streams its input: it never has to be there as a whole. A node
 * that needs all elements first (a sort, a join, a grouping that keeps rows, row numbers that a filter below decides)
 * stores it. A mark that no longer holds is taken away again.
 */
import { isKnown } from '../../core/elements.ts'
import { readsKey } from '../../core/functionUse.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../../core/logicalPlan.ts'
import { functionsOf } from '../../core/tree.ts'

import type { Rule } from '../rule.ts'

export const markPipelined: Rule = {
  name: 'markPipelined',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    const inputs = inputsOf(plan)
    const marked = inputs.map((input) => withMark(input, streams(plan, input)))
    return marked.some((input, i) => input !== inputs[i]) ? withInputs(plan, marked) : undefined
  },
}

function withMark(input: LogicalPlan, pipelined: boolean): LogicalPlan {
  if ((input.pipelined === true) === pipelined) return input
  const { pipelined: _, ...plain } = input
  return pipelined ? { ...plain, pipelined } : plain
}

/** What a node computes element by element; sources are read, and what waits for all elements stores its result. */
const FLOWING: ReadonlySet<LogicalPlan['kind']> = new Set([
  'Map',
  'Filter',
  'WithColumns',
  'FlatMap',
  'MapPartitions',
  'Project',
  'Cast',
  'Sample',
  'Limit',
])

/** Whether `plan` takes the elements of its input one after another, as they come. */
function streams(plan: LogicalPlan, input: LogicalPlan): boolean {
  if (!FLOWING.has(input.kind) || !isKnown(input.element)) return false
  switch (plan.kind) {
    case 'Map':
    case 'WithColumns':
    case 'Filter':
    case 'FlatMap':
      return !waitsForNumbers(plan, input)
    case 'GroupBy':
      return plan.how.kind === 'agg' && plan.by.kind === 'function' && !waitsForNumbers(plan, input)
    case 'Project':
    case 'Limit':
      return true
    case 'Scan':
    case 'Array':
    case 'Stored':
    case 'MapPartitions':
    case 'Cast':
    case 'Index':
    case 'Join':
    case 'Sort':
    case 'Window':
    case 'Distinct':
    case 'Union':
    case 'Sample':
    case 'Repartition':
    case 'ShuffleKeys':
    case 'Materialize':
    case 'IndexBuild':
    case 'IndexLookup':
      return false
  }
}

/** A function that reads row numbers waits until the sizes of the partitions before are known. */
function waitsForNumbers(plan: LogicalPlan, input: LogicalPlan): boolean {
  return input.keys.kind === 'rowNumber' && functionsOf(plan).some(readsKey)
}
