/**
 * Nodes that change nothing are removed.
 *
 *     Project of all columns in order   -->  its input          Distinct of Distinct   -->  one
 *     Project of Project                -->  the outer one      Limit of Limit         -->  the smaller
 *     Cast to the type it has           -->  its input          Union of Union         -->  one Union
 *     Repartition of Repartition        -->  the outer one      Union of one           -->  its input
 *
 * Without columns (`count()`) the elements cannot be told apart, so that a sort below, and maps and windows that cannot fail, go too.
 */

import { fieldsOf } from '../../core/data/schema.ts'
import { isKnown } from '../../core/plan/elements.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { functionsOf } from '../../core/plan/tree.ts'
import { cannotFail, runsUnnoticed } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'

type Node<K extends LogicalPlan['kind']> = Extract<LogicalPlan, { kind: K }>

export const removeRedundant: Rule = {
  name: 'removeRedundant',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    switch (plan.kind) {
      case 'Project':
        return simplerProject(plan)
      case 'Limit':
        return plan.input.kind === 'Limit' ? { ...plan.input, count: Math.min(plan.count, plan.input.count), keys: plan.keys } : undefined
      case 'Distinct':
        return plan.input.kind === 'Distinct' ? plan.input : undefined
      case 'Repartition':
        return simplerRepartition(plan)
      case 'Cast': {
        const { element } = plan.input
        return element.kind === 'scalar' && element.type.kind === plan.dtype ? plan.input : undefined
      }
      case 'Union':
        return simplerUnion(plan)
      default:
        return undefined
    }
  },
}

function simplerProject(plan: Node<'Project'>): LogicalPlan | undefined {
  const { input } = plan
  if (plan.columns.length === 0) return withoutColumns(plan)
  if (input.kind === 'Project') return { ...plan, input: input.input }
  if (input.element.kind !== 'row') return undefined
  const names = fieldsOf(input.element).map((field) => field.name)
  return names.length === plan.columns.length && names.every((name, i) => name === plan.columns[i]) ? input : undefined
}

/** Simplifies a projection to no columns at all. */
function withoutColumns(plan: Node<'Project'>): LogicalPlan | undefined {
  const { input } = plan
  switch (input.kind) {
    case 'Map':
    case 'WithColumns':
      return runsUnnoticed(input) ? { ...plan, input: input.input } : undefined
    case 'Project':
      return { ...plan, input: input.input }
    case 'Window':
      return isKnown(input.element) && functionsOf(input).every((f) => cannotFail(f, [input.input.element]))
        ? { ...plan, input: input.input }
        : undefined
    case 'Sort':
      // a sorted array with explicit keys becomes a table, so the sort stays
      return input.limit === undefined && input.input.keys.kind === 'rowNumber' && cannotFail(input.by, [input.input.element])
        ? { ...plan, input: input.input }
        : undefined
    case 'Repartition':
      // explicit keys tell the elements apart, in the order of the pieces
      return input.by === undefined || (input.keys.kind === 'rowNumber' && cannotFail(input.by, [input.input.element]))
        ? { ...plan, input: input.input }
        : undefined
    default:
      return undefined
  }
}

/** Drops an inner repartition by a number of pieces, which keeps the order; one by a value does not, and the outer one would see that. */
function simplerRepartition(plan: Node<'Repartition'>): LogicalPlan | undefined {
  const { input } = plan
  return input.kind === 'Repartition' && input.by === undefined ? { ...plan, input: input.input } : undefined
}

/** Most inputs of a flat union: an array appended to itself again and again doubles them; nested, the plan stays small. */
const MOST_INPUTS = 64

function simplerUnion(plan: Node<'Union'>): LogicalPlan | undefined {
  const [only, other] = plan.inputs
  if (only !== undefined && other === undefined && only.keys.kind === 'rowNumber') return only
  if (!plan.inputs.some((input) => input.kind === 'Union')) return undefined
  const inputs = plan.inputs.flatMap((input) => (input.kind === 'Union' ? input.inputs : [input]))
  return inputs.length > MOST_INPUTS ? undefined : { ...plan, inputs }
}
