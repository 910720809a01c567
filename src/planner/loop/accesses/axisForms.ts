/** Builds forms of keys, extents and counters, and the bounds of the subscripts that are made of them. */
import type { Callee } from '../../../core/ir/functionIr.ts'
import type { EnvBinding, LoopSpec } from '../../../core/loop/loopSpec.ts'
import { type Constraint, constantForm, type Form, LARGEST_KEY, sum, variableForm } from './affine.ts'
import { below, equal, type Guard } from './guards.ts'

/** The end at which a function chooses among its arguments; `Math.abs` has two, of opposite sign. */
export const EXTREMES: Partial<Record<Callee, 'least' | 'greatest'>> = {
  'Math.min': 'least',
  'Math.max': 'greatest',
  'Math.abs': 'greatest',
}

/** Returns the guard that says a form is the least or the greatest beside the others. */
export function extreme(form: Form, others: readonly Form[], end: 'least' | 'greatest'): Guard {
  const constraints = others.flatMap((other) => (end === 'least' ? below(form, other, 0) : below(other, form, 0)))
  return { constraints, exact: constraints.length === others.length }
}

/** Returns the constraint index = from + step * turns. */
export function stepped(index: Form, from: Form, turns: Form, step: number): Constraint[] {
  const reached = sum(from, turns, step)
  return reached === undefined ? [] : equal(index, reached)
}

/** Most iterations of an inner loop: none runs longer than this in a lifetime. */
export const MOST_TURNS: number = 2 ** 40

/** Returns the loop index of an axis as a form. */
export function keyForm({ over }: LoopSpec, axis: number): Form {
  return variableForm({ kind: 'key', axis, low: 0, high: (over.extents[axis] ?? LARGEST_KEY) - 1 })
}

/** Returns the extent of an axis: a constant where the shape is known, else a variable that all iterations share. */
export function extentForm(binding: EnvBinding | undefined, axis: number): Form | undefined {
  if (binding?.kind !== 'array' && binding?.kind !== 'buffer') return undefined
  const extent = binding.shape?.[axis]
  if (extent !== undefined) return constantForm(extent)
  return variableForm({ kind: 'extent', array: binding.array, axis, name: `${binding.label}.shape[${axis}]`, low: 0, high: LARGEST_KEY })
}
