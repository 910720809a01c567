/**
 * Which iterations of a loop must keep their order.
 *
 * Two accesses to one array, at least one a write, depend on each other when two different iterations can touch the
 * same element. The dependence vector is the step from the earlier of the two to the later, one entry per axis of the
 * iteration space: a number where it is always the same, else a direction.
 *
 *     A[i] = A[i - 1]        [1]              iteration i + 1 reads what i wrote
 *     W[u, :] in (u, m)      [0, '+']         all ratings of one user write one row
 *     A[i] = A[?]            ['+']            any later iteration may read what i wrote
 *     A[i] = B[i]            nothing          no element is shared
 *
 * Statement: if iterations p before q (in key order) touch one element, one of them writing, then some vector v has
 * q - p in v. Vectors are lexicographically positive: their first entry that is not 0 is positive; a leading `*` is
 * split into its three cases. A later entry is `*` only where both signs are possible.
 *
 * The test solves, for each pair of accesses, the system "p and q are iterations, both accesses happen, their
 * subscripts agree" in difference constraints. It is exact for subscripts `index + constant`, constants and ranges,
 * with the known extents; a subscript that is unknown adds no constraint. In doubt a vector too many costs speed, a
 * vector too few would cost truth.
 */
import type { Key } from '../../core/indexSpace.ts'
import type { Dependence, Distance } from '../../core/loopPlan.ts'
import type { LoopSpec } from '../../core/loopSpec.ts'
import type { Access, Subscript } from './accesses.ts'
import { collisionSystem } from './collision.ts'
import type { Differences } from './differences.ts'

export interface Conflict {
  readonly from: Access
  readonly to: Access
  readonly kind: 'flow' | 'anti' | 'output'
  readonly vector: readonly Distance[]
  /** Two iterations in conflict, the earlier first; absent when a subscript is unknown. */
  readonly witness?: readonly [Key, Key]
  /** Whether nothing but the loop indices decides on the accesses: no condition, no subscript that needs the data. */
  readonly decided: boolean
  /** Whether the witness surely conflicts: decided, and both iterations surely exist. */
  readonly certain: boolean
}

/** The conflict as plain data. */
export function dependenceOf({ from, to, kind, vector, witness }: Conflict): Dependence {
  return { array: from.name, kind, from: from.span, to: to.span, vector, ...(witness === undefined ? {} : { witness }) }
}

/** All conflicts between different iterations, for each pair of accesses and each vector, in the order of the accesses. */
export function conflictsOf(spec: LoopSpec, accesses: readonly Access[]): Conflict[] {
  const conflicts: Conflict[] = []
  for (const [i, a] of accesses.entries()) {
    for (const b of accesses.slice(i)) {
      if (a.array !== b.array || (a.mode === 'read' && b.mode === 'read')) continue
      conflicts.push(...conflictsFrom(spec, a, b))
      if (a !== b) conflicts.push(...conflictsFrom(spec, b, a))
    }
  }
  return conflicts
}

/** Conflicts in which the earlier iteration does `from` and the later one `to`. */
function conflictsFrom(spec: LoopSpec, from: Access, to: Access): Conflict[] {
  const collision = collisionSystem(spec, from, to)
  if (collision === undefined) return []
  const rank = spec.over.rank
  const box = isBox(spec)
  const known = [...from.subscripts, ...to.subscripts].every(isKnown)
  const decided = known && from.exact && to.exact
  const kind = to.mode === 'read' || (to.mode === 'add' && from.mode !== 'read') ? 'flow' : from.mode === 'read' ? 'anti' : 'output'
  return solutionsOf(collision, rank).map((solution) => ({
    from,
    to,
    kind,
    vector: solution.vector,
    ...(known ? { witness: witnessOf(solution.system, rank) } : {}),
    decided,
    certain: decided && box,
  }))
}

/** Whether a subscript is decided by the loop indices alone. */
function isKnown(subscript: Subscript): boolean {
  return subscript.kind === 'affine' && subscript.form.variable?.kind !== 'distinct'
}

/** Whether every key within the extents is an iteration, and the extents are known. */
function isBox({ over }: LoopSpec): boolean {
  return over.kind !== 'sparse' && over.kind !== 'unknown' && over.extents.every((extent) => extent !== undefined)
}

interface Solution {
  readonly vector: readonly Distance[]
  readonly system: Differences
}

/** The axes of p are the variables 1 to rank of a collision system, those of q the next ones. */
const earlier = (axis: number) => 1 + axis
const later = (axis: number, rank: number) => 1 + rank + axis

/** The lexicographically positive vectors of q - p: for each axis, those that are 0 before it and positive there. */
function solutionsOf(system: Differences, rank: number): Solution[] {
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
function witnessOf(system: Differences, rank: number): [Key, Key] {
  const solved = system.copy()
  for (let variable = 1; variable <= 2 * rank; variable++) solved.equal(variable, 0, -solved.bound(0, variable))
  const keyAt = (first: number) => Array.from({ length: rank }, (_, axis) => solved.bound(first + axis, 0) + 0)
  return [keyAt(1), keyAt(1 + rank)]
}
