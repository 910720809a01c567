/**
 * Proves that an access lies inside its array, so that it cannot fail.
 *
 * Statement: for no iteration in which the access happens is a subscript below 0, or at or above the extent of its axis.
 * Each of the two is a system over the integers, as in `collision.ts`; the access lies inside if none has a solution.
 */
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Budget } from '../dependence/elimination.ts'
import { Facts } from '../dependence/facts.ts'
import type { IntegerSystem } from '../dependence/integerSystem.ts'
import { TooLarge } from '../dependence/rows.ts'
import type { Access } from './accesses.ts'
import { type Constraint, constantForm, type Form, sum } from './affine.ts'
import { keyForm } from './axisForms.ts'

/** Whether the budget suffices to prove the access inside; unknown shapes and subscripts without affine form prove nothing. */
export function surelyInside(spec: LoopSpec, access: Access, budget: Budget): boolean {
  const binding = spec.env[access.name]
  if (binding?.kind !== 'array' || binding.shape === undefined || binding.shape.length !== access.subscripts.length) return false
  return access.subscripts.every((subscript, axis) => {
    const extent = binding.shape?.[axis]
    if (extent === undefined || subscript.kind !== 'affine' || hasReadValue(subscript.form)) return false
    const below = sum(constantForm(-1), subscript.form, -1)
    const above = sum(subscript.form, constantForm(extent), -1)
    return [below, above].every((form) => form !== undefined && neverHolds(spec, access, { kind: 'atLeast', form }, budget))
  })
}

/** Work limits for one question, in units of `Budget`: guards and an inner loop take a hundredth of the most. */
const MOST_WORK = 1_000
const LEAST_WORK = 20

/** Whether a system may have a solution; true as well where the budget ran out. */
export function maySolve(system: IntegerSystem, budget: Budget): boolean {
  const given = Math.min(MOST_WORK, budget.left)
  const own = { left: given }
  const found = system.least(own)
  budget.left -= Math.max(LEAST_WORK, given - own.left)
  return found !== 'none'
}

/** Whether a form contains a value read from an array, which may be a fraction. */
export function hasReadValue(form: Form): boolean {
  return form.terms.some(({ variable }) => variable.kind === 'distinct')
}

/** Whether all iterations in which the access happens have the same index along some axis, as those of `if (i === 0)`. */
export function isAtBorder(spec: LoopSpec, access: Access, budget: Budget): boolean {
  const { rank, extents } = spec.over
  if (access.constraints.length === 0 || budget.left <= 0) return false
  const facts = new Facts(rank)
  for (const side of ['p', 'q'] as const) {
    for (const [axis, extent] of extents.entries()) {
      facts.within(side, keyForm(spec, axis), extent === undefined ? undefined : constantForm(extent))
    }
    for (const constraint of access.constraints) facts.hold(side, constraint)
  }
  try {
    const { systems } = facts.systems()
    return extents.some(
      (extent, axis) => extent !== 1 && systems.every((system) => !maySolve(system.copy().atLeast(rank + axis, axis, 1), budget)),
    )
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return false
  }
}

function neverHolds(spec: LoopSpec, access: Access, outside: Constraint, budget: Budget): boolean {
  if (budget.left <= 0) return false
  const { rank, extents } = spec.over
  const facts = new Facts(rank)
  for (const [axis, extent] of extents.entries()) {
    const key = keyForm(spec, axis)
    facts.within('p', key, extent === undefined ? undefined : constantForm(extent))
    // One iteration is asked about: the other of the two that facts speak of has the same key.
    facts.agree(key, key)
  }
  for (const constraint of [...access.constraints, outside]) facts.hold('p', constraint)
  try {
    return facts.systems().systems.every((system) => !maySolve(system, budget))
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return false
  }
}
