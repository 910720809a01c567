/**
 * Computes dependence vectors from a collision system: the steps q - p of its solutions, p before q in key order.
 *
 * For each axis, the solutions that agree before it and move forward along it give a vector whose first entry is
 * positive; later entries are completed one by one. A vector stands only if there is a solution, its witness, or if the
 * search for one had to be given up.
 */
import type { Key } from '../../../core/arrays/keys.ts'
import type { Distance } from '../../../core/loop/loopPlan.ts'
import type { Budget } from './elimination.ts'
import type { IntegerSystem } from './integerSystem.ts'
import { withReach } from './knownSteps.ts'
import type { Vector } from './reach.ts'

export interface Solution {
  readonly vector: Vector
  /** Two iterations in conflict, the smallest; absent when the search was given up. */
  readonly witness?: readonly [Key, Key]
}

/** Numbers of indices of the axes, where they are known. */
type Extents = readonly (number | undefined)[]

/** The watched expressions of a collision system of `rank` axes: the key of p, then that of q. */
const earlier = (axis: number) => axis
const later = (axis: number, rank: number) => rank + axis

/** Returns the lexicographically positive vectors of q - p: for each axis, those that are 0 before it and positive there. */
export function solutionsOf(system: IntegerSystem, extents: Extents, budget: Budget): Solution[] {
  const rank = extents.length
  const solutions: Solution[] = []
  const equalSoFar = system.copy()
  for (let axis = 0; axis < rank && equalSoFar.feasible; axis++) {
    const carried = equalSoFar.copy().atLeast(later(axis, rank), earlier(axis), 1)
    solutions.push(...completed(carried, new Array<Distance>(axis).fill(0), extents, budget))
    if (axis + 1 < rank) equalSoFar.equal(later(axis, rank), earlier(axis), 0)
  }
  return solutions
}

/** Returns the vectors that are assumed where nothing is known: one carried by each axis. */
export function anyVectors(rank: number): Solution[] {
  return Array.from({ length: rank }, (_, axis) => ({
    vector: Array.from({ length: rank }, (_, other): Distance => (other < axis ? 0 : other === axis ? '+' : '*')),
  }))
}

/** Extends a vector over the axes that it lacks. An entry whose range ends at 0 is split into 0 and the rest. */
function completed(system: IntegerSystem, vector: readonly Distance[], extents: Extents, budget: Budget): Solution[] {
  const [axis, rank] = [vector.length, extents.length]
  if (axis === rank) return witnessed(system, vector, extents, budget)
  const range = system.range(later(axis, rank), earlier(axis), budget)
  if (range === undefined) return []
  const { least, greatest } = range
  const distance = least === greatest ? least : least > 0 ? '+' : greatest < 0 ? '-' : '*'
  if (distance !== '*' || (least < 0 && greatest > 0)) return completed(system, [...vector, distance], extents, budget)
  const still = system.copy().equal(later(axis, rank), earlier(axis), 0)
  const moving =
    least === 0 ? system.copy().atLeast(later(axis, rank), earlier(axis), 1) : system.copy().atLeast(earlier(axis), later(axis, rank), 1)
  return [...completed(still, [...vector, 0], extents, budget), ...completed(moving, vector, extents, budget)]
}

function witnessed(system: IntegerSystem, vector: readonly Distance[], extents: Extents, budget: Budget): Solution[] {
  const rank = extents.length
  const values = system.least(budget)
  if (values === 'none') return []
  const isFixed = vector.every((distance) => typeof distance === 'number')
  // The projection may still prove that there is no solution where the search was given up.
  const known = isFixed && values !== 'unknown' ? vector : withReach(vector, system, extents)
  if (known === 'none') return []
  return values === 'unknown' ? [{ vector: known }] : [{ vector: known, witness: [values.slice(0, rank), values.slice(rank)] }]
}
