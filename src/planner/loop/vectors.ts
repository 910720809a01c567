/**
 * From a collision system to dependence vectors: which steps q - p its solutions take, p before q in key order.
 *
 * For each axis, the solutions that agree before it and move forward along it give a vector whose first entry is
 * positive; later entries are completed one by one. A closed system has solutions at both ends of each range, so a
 * vector is never empty.
 */
import type { Key } from '../../core/indexSpace.ts'
import type { Distance } from '../../core/loopPlan.ts'
import type { Differences } from './differences.ts'

export interface Solution {
  readonly vector: readonly Distance[]
  readonly system: Differences
}

/** The axes of p are the variables 1 to rank of a collision system, those of q the next ones. */
const earlier = (axis: number) => 1 + axis
const later = (axis: number, rank: number) => 1 + rank + axis

/** The lexicographically positive vectors of q - p: for each axis, those that are 0 before it and positive there. */
export function solutionsOf(system: Differences, rank: number): Solution[] {
  const solutions: Solution[] = []
  const equalSoFar = system.copy()
  for (let axis = 0; axis < rank && equalSoFar.feasible; axis++) {
    const carried = equalSoFar.copy().atMost(earlier(axis), later(axis, rank), -1)
    if (carried.feasible) {
      const leading = new Array<Distance>(axis).fill(0)
      solutions.push(...completed(carried, [...leading, distanceAt(carried, axis, rank)], rank))
    }
    equalSoFar.equal(later(axis, rank), earlier(axis), 0)
  }
  return solutions
}

/** Extends a vector over the axes that it lacks; an entry that is 0 or has one sign is split into the two cases. */
function completed(system: Differences, vector: readonly Distance[], rank: number): Solution[] {
  const axis = vector.length
  if (axis === rank) return [{ vector, system }]
  const distance = distanceAt(system, axis, rank)
  const [least, greatest] = rangeAt(system, axis, rank)
  if (distance !== '*' || (least < 0 && greatest > 0)) return completed(system, [...vector, distance], rank)
  const still = system.copy().equal(later(axis, rank), earlier(axis), 0)
  const moving =
    least === 0 ? system.copy().atMost(earlier(axis), later(axis, rank), -1) : system.copy().atMost(later(axis, rank), earlier(axis), -1)
  return [...completed(still, [...vector, 0], rank), ...completed(moving, [...vector, distanceAt(moving, axis, rank)], rank)]
}

function distanceAt(system: Differences, axis: number, rank: number): Distance {
  const [least, greatest] = rangeAt(system, axis, rank)
  if (least === greatest) return least
  return least > 0 ? '+' : greatest < 0 ? '-' : '*'
}

function rangeAt(system: Differences, axis: number, rank: number): [least: number, greatest: number] {
  // Adding 0 turns -0 into 0.
  return [-system.bound(earlier(axis), later(axis, rank)) + 0, system.bound(later(axis, rank), earlier(axis)) + 0]
}

/** The smallest iterations that solve the system; it is closed, so each variable may take its lower bound in turn. */
export function witnessOf(system: Differences, rank: number): [Key, Key] {
  const solved = system.copy()
  for (let variable = 1; variable <= 2 * rank; variable++) solved.equal(variable, 0, -solved.bound(0, variable))
  const keyAt = (first: number) => Array.from({ length: rank }, (_, axis) => solved.bound(first + axis, 0) + 0)
  return [keyAt(1), keyAt(1 + rank)]
}
