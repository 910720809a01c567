/**
 * Walking and printing plans.
 *
 * One line per node, inputs indented below, left first. The same text stands in `explain()`, in tests, in messages and
 * in the docs:
 *
 *     Filter (r) => r.stars > 0
 *       Scan ratings.parquet [user, movie, stars]
 */
import type { UserFunction } from '../ir/functionIr.ts'
import { inputsOf, type LogicalPlan, withInputs } from './logicalPlan.ts'
import { traitsOf } from './nodeTraits.ts'

/** The node over mapped inputs; the node itself when no input changed. */
export function mapInputs(plan: LogicalPlan, f: (input: LogicalPlan) => LogicalPlan): LogicalPlan {
  return withInputs(plan, inputsOf(plan).map(f))
}

/** Calls `visit` on every node, parents first, left inputs first. */
export function visitPlan(plan: LogicalPlan, visit: (node: LogicalPlan) => void): void {
  visit(plan)
  for (const input of inputsOf(plan)) visitPlan(input, visit)
}

/** The whole plan, one line per node. `note` may add to a node's line; its further lines are indented below the node. */
export function planText(plan: LogicalPlan, note?: (node: LogicalPlan) => readonly string[]): string {
  return linesOf(plan, note).join('\n')
}

function linesOf(plan: LogicalPlan, note?: (node: LogicalPlan) => readonly string[]): string[] {
  const notes = (note?.(plan) ?? []).map((line) => `    ${line}`)
  const below = inputsOf(plan).flatMap((input) => linesOf(input, note).map((line) => `  ${line}`))
  return [nodeText(plan), ...notes, ...below]
}

/** Writes what a node does, on one line, and whether its array is streamed. */
export function nodeText(plan: LogicalPlan): string {
  const mark = plan.pipelined === undefined ? '' : plan.pipelined === true ? '  (pipelined)' : '  (pipelined for who wants the first)'
  return `${traitsOf(plan).text?.(plan) ?? plan.kind}${mark}`
}

/** The user functions of a node, in the order they are printed. */
export function functionsOf(plan: LogicalPlan): readonly UserFunction[] {
  const found: UserFunction[] = []
  withFunctions(plan, (f) => {
    found.push(f)
    return f
  })
  return found
}

/** The same node with its functions replaced; the node itself when none changed. */
export function withFunctions(plan: LogicalPlan, now: (f: UserFunction) => UserFunction): LogicalPlan {
  const changed = traitsOf(plan).withFunctions?.(plan, now) ?? {}
  return Object.entries(changed).every(([name, value]) => plan[name as keyof LogicalPlan] === value) ? plan : { ...plan, ...changed }
}

/** The functions of a node that take an element of its input. */
export function functionsOfElements(plan: LogicalPlan): readonly UserFunction[] {
  return traitsOf(plan).functionsOfElements?.(plan) ?? functionsOf(plan)
}
