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
import { type Variable, variableId } from './affine.ts'
import { collisionSystem } from './collision.ts'
import { solutionsOf, witnessOf } from './vectors.ts'

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
  const collisions = new Collisions(spec)
  const conflicts: Conflict[] = []
  for (const [i, a] of accesses.entries()) {
    for (const b of accesses.slice(i)) {
      if (a.array !== b.array || (a.mode === 'read' && b.mode === 'read')) continue
      conflicts.push(...conflictsFrom(collisions, a, b))
      if (a !== b) conflicts.push(...conflictsFrom(collisions, b, a))
    }
  }
  return conflicts
}

/** Conflicts in which the earlier iteration does `from` and the later one `to`. */
function conflictsFrom(collisions: Collisions, from: Access, to: Access): Conflict[] {
  const known = [...from.subscripts, ...to.subscripts].every(isKnown)
  const decided = known && from.exact && to.exact
  const kind = to.mode === 'read' || (to.mode === 'add' && from.mode !== 'read') ? 'flow' : from.mode === 'read' ? 'anti' : 'output'
  return collisions.between(from, to).map(({ vector, witness }) => ({
    from,
    to,
    kind,
    vector,
    ...(known ? { witness } : {}),
    decided,
    certain: decided && collisions.isBox,
  }))
}

interface Collision {
  readonly vector: readonly Distance[]
  readonly witness: readonly [Key, Key]
}

/** Solves each pair of subscripts once, however many places of the body have them. */
class Collisions {
  readonly isBox: boolean
  private readonly spec: LoopSpec
  /** Accesses with one number touch the same elements under the same conditions. */
  private readonly numbers = new Map<Access, number>()
  private readonly numbersOfForms = new Map<string, number>()
  private readonly solved = new Map<number, Map<number, readonly Collision[]>>()

  constructor(spec: LoopSpec) {
    this.spec = spec
    this.isBox = isBox(spec)
  }

  between(from: Access, to: Access): readonly Collision[] {
    const solvedFrom = this.solved.get(this.numberOf(from)) ?? new Map<number, readonly Collision[]>()
    this.solved.set(this.numberOf(from), solvedFrom)
    const known = solvedFrom.get(this.numberOf(to))
    if (known !== undefined) return known
    const rank = this.spec.over.rank
    const system = collisionSystem(this.spec, from, to)
    const solutions = system === undefined ? [] : solutionsOf(system, rank)
    const found = solutions.map((solution) => ({ vector: solution.vector, witness: witnessOf(solution.system, rank) }))
    solvedFrom.set(this.numberOf(to), found)
    return found
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

/** A text that is equal for accesses that touch the same elements under the same conditions; inner loops are numbered as they come. */
function accessForm({ array, subscripts, constraints }: Access): string {
  const loops = new Map<number, number>()
  const name = (variable: Variable | undefined) => {
    if (variable?.kind !== 'inner') return variableId(variable)
    const number = loops.get(variable.loop) ?? loops.size
    loops.set(variable.loop, number)
    return `inner ${number}`
  }
  const elements = subscripts.map((one) => (one.kind === 'unknown' ? '?' : `${name(one.form.variable)} + ${one.form.offset}`))
  const conditions = constraints.map(({ left, right, bound }) => `${name(left)} - ${name(right)} <= ${bound}`)
  return `${array} [${elements.join(', ')}] if ${conditions.join(' and ')}`
}

/** Whether a subscript is decided by the loop indices alone. */
function isKnown(subscript: Subscript): boolean {
  return subscript.kind === 'affine' && subscript.form.variable?.kind !== 'distinct'
}

/** Whether every key within the extents is an iteration, and the extents are known. */
function isBox({ over }: LoopSpec): boolean {
  return over.kind !== 'sparse' && over.kind !== 'unknown' && over.extents.every((extent) => extent !== undefined)
}
