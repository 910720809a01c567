/**
 * Dependence analysis: finds the iterations of a loop that must keep their order.
 *
 * Two accesses to one array, at least one a write, depend on each other when two different iterations can touch the
 * same element. The dependence vector is the step from the earlier of the two to the later, one entry per axis of the
 * iteration space: a number where it is always the same, else a direction.
 *
 *     A[i] = A[i - 1]           [1]           iteration i + 1 reads what i wrote
 *     W[u, :] in (u, m)         [0, '+']      all ratings of one user write one row
 *     A[i] = A[n - 1 - i]       ['+']         i and n - 1 - i meet, each pair at its own distance
 *     A[i + j] = …              ['+', '-']    the iterations of an antidiagonal write one element
 *     A[2 * i] = A[2 * i + 1]   nothing       even and odd elements
 *     A[i] = A[?]               ['+']         any later iteration may read what i wrote
 *     A[i] = B[i]               nothing       no element is shared
 *
 * Statement: if iterations p before q (in key order) touch one element, one of them writing, then some vector v has
 * q - p in v. Vectors are lexicographically positive: their first entry that is not 0 is positive; a leading `*` is
 * split into its three cases. A later entry is `*` only where both signs are possible.
 *
 * The test solves, for each pair of accesses, the system "p and q are iterations, both accesses happen, their
 * subscripts agree" over the integers (`collision.ts`, `integerSystem.ts`). It is exact for affine subscripts with affine
 * ranges and guards: each vector comes with two iterations that show it. A subscript that is unknown adds no equation. In
 * doubt, and when its budget ends, a vector is assumed: one too many costs speed, one too few would cost truth.
 */
import type { Key } from '../../../core/arrays/keys.ts'
import type { Dependence } from '../../../core/loop/loopPlan.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access, Subscript } from '../accesses/accesses.ts'
import { accessForm } from '../accesses/accessForm.ts'
import { isDecided } from '../accesses/affine.ts'
import { collisionOf } from './collision.ts'
import type { Budget } from './elimination.ts'
import { withFewReaches } from './knownSteps.ts'
import { type Vector, vectorId } from './reach.ts'
import { TooLarge } from './rows.ts'
import { anyVectors, type Solution, solutionsOf } from './vectors.ts'

export interface Conflict {
  readonly from: Access
  readonly to: Access
  readonly kind: 'flow' | 'anti' | 'output'
  readonly vector: Vector
  /** Two iterations in conflict, the earlier first; absent when a subscript is unknown or the test gave up. */
  readonly witness?: readonly [Key, Key]
  /** Whether the loop indices alone decide on the accesses: no condition is dropped, no subscript needs the data. */
  readonly decided: boolean
  /** Whether the witness surely conflicts: decided, and both iterations surely exist. */
  readonly certain: boolean
  /** Whether the exact test gave up, its budget spent: the conflict is assumed. */
  readonly assumed: boolean
}

/** The vector of a conflict, with its bounds, as the plan prints it. */
export type DescribedVector = Pick<Dependence, 'vector' | 'bounds'>

/** Returns the conflict as plain data, with the description of its vector. */
export function dependenceOf({ from, to, kind, witness }: Conflict, vector: DescribedVector): Dependence {
  return { array: from.name, kind, from: from.span, to: to.span, ...vector, ...(witness === undefined ? {} : { witness }) }
}

/** Returns all conflicts between different iterations, for each pair of accesses and each vector, in the order of the accesses. */
export function conflictsOf(spec: LoopSpec, accesses: readonly Access[]): Conflict[] {
  const collisions = new Collisions(spec)
  const conflicts: Conflict[] = []
  for (const [i, a] of accesses.entries()) {
    for (const b of accesses.slice(i)) {
      if (a.array !== b.array || (a.mode === 'read' && b.mode === 'read')) continue
      conflicts.push(...conflictsFrom(collisions, a, b))
      if (a !== b) conflicts.push(...conflictsFrom(collisions, b, a))
    }
  }
  return [...withFewReaches(conflicts, spec.over.extents)]
}

/** Returns the conflicts in which the earlier iteration does `from` and the later one `to`. */
function conflictsFrom(collisions: Collisions, from: Access, to: Access): Conflict[] {
  const known = [...from.subscripts, ...to.subscripts].every(isKnown)
  const kind = to.mode === 'read' || (to.mode === 'add' && from.mode !== 'read') ? 'flow' : from.mode === 'read' ? 'anti' : 'output'
  const { solutions, complete, needsExtents } = collisions.between(from, to)
  return solutions.map(({ vector, witness }) => {
    const decided = known && from.exact && to.exact && complete && witness !== undefined
    return {
      from,
      to,
      kind,
      vector,
      ...(known && witness !== undefined ? { witness } : {}),
      decided,
      certain: decided && collisions.isBox && !needsExtents,
      assumed: witness === undefined,
    }
  })
}

/** Work limit for one pair of accesses, in units of `Budget`: some thousand times what a stencil takes. */
const BUDGET_OF_A_PAIR = 4_000

/** Work limit for all pairs of a loop together, so that the analysis of any body ends in a moment. */
const BUDGET_OF_A_LOOP = 100_000

interface Solved {
  readonly solutions: readonly Solution[]
  /** Whether each solution is a conflict whenever both accesses happen as they are described. */
  readonly complete: boolean
  /** Whether the solutions depend on extents that only the run knows. */
  readonly needsExtents: boolean
}

/** Solves each pair of subscripts once, however many places of the body have them. */
class Collisions {
  readonly isBox: boolean
  private readonly spec: LoopSpec
  /** Number of each access; accesses with one number touch the same elements under the same conditions. */
  private readonly numbers = new Map<Access, number>()
  private readonly numbersOfForms = new Map<string, number>()
  private readonly solved = new Map<number, Map<number, Solved>>()
  private left = BUDGET_OF_A_LOOP

  constructor(spec: LoopSpec) {
    this.spec = spec
    this.isBox = isBox(spec)
  }

  between(from: Access, to: Access): Solved {
    const solvedFrom = this.solved.get(this.numberOf(from)) ?? new Map<number, Solved>()
    this.solved.set(this.numberOf(from), solvedFrom)
    const known = solvedFrom.get(this.numberOf(to))
    if (known !== undefined) return known
    const budget = { left: Math.min(BUDGET_OF_A_PAIR, this.left) }
    const before = budget.left
    const found = this.solve(from, to, budget)
    this.left -= Math.min(before, before - budget.left)
    solvedFrom.set(this.numberOf(to), found)
    return found
  }

  private solve(from: Access, to: Access, budget: Budget): Solved {
    const { rank, extents } = this.spec.over
    try {
      const { systems, complete, needsExtents } = collisionOf(this.spec, from, to)
      return { solutions: distinct(systems.flatMap((system) => solutionsOf(system, extents, budget))), complete, needsExtents }
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error
      return { solutions: anyVectors(rank), complete: false, needsExtents: false }
    }
  }

  private numberOf(access: Access): number {
    const known = this.numbers.get(access)
    if (known !== undefined) return known
    const form = accessForm(access)
    const number = this.numbersOfForms.get(form) ?? this.numbersOfForms.size
    this.numbersOfForms.set(form, number)
    this.numbers.set(access, number)
    return number
  }
}

/** Returns each vector once, with the smallest witness. */
function distinct(solutions: readonly Solution[]): Solution[] {
  const best = new Map<string, Solution>()
  for (const solution of solutions) {
    const id = vectorId(solution.vector)
    const known = best.get(id)
    if (known === undefined || isSmaller(solution.witness, known.witness)) best.set(id, solution)
  }
  return [...best.values()]
}

function isSmaller(a: Solution['witness'], b: Solution['witness']): boolean {
  if (a === undefined || b === undefined) return b === undefined && a !== undefined
  const [left, right] = [a.flat(), b.flat()]
  const at = left.findIndex((k, axis) => k !== right[axis])
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0)
}

/** Whether the loop indices alone decide a subscript. */
function isKnown(subscript: Subscript): boolean {
  return subscript.kind === 'affine' && isDecided(subscript.form)
}

/** Whether every key within the extents is an iteration, and the extents are known. */
function isBox({ over }: LoopSpec): boolean {
  return over.kind !== 'sparse' && over.kind !== 'unknown' && over.extents.every((extent) => extent !== undefined)
}
