/**
 * Bounds of the steps of a dependence along each axis, where they say more than the entries of its vector.
 *
 *     if (j >= i) a.set(Math.ceil(i / 2), Math.floor(j / 2), …)     [1, *], and j goes back by 1 at most: [1, -1..]
 *
 * Bounds are those of all conflicts of an array, under whichever of its names, with the same entries: one stands for all of
 * them in a plan. A bound that lies as far as half of the axis says nothing of use to a schedule, and is left out.
 */

import type { Dependence, Distance } from '../../../core/loop/loopPlan.ts'
import { axisForm } from '../../../core/loop/schedules.ts'
import type { Conflict, DescribedVector } from './dependence.ts'
import { stepAlong } from './forms.ts'
import { limitOf } from './knownSteps.ts'
import { type Range, type Vector, vectorId } from './reach.ts'

type Extents = readonly (number | undefined)[]

/** Returns a function that describes the vector of any of these conflicts. */
export function vectorsDescribed(conflicts: readonly Conflict[], extents: Extents): (conflict: Conflict) => DescribedVector {
  const groups = new Map<string, Map<string, Vector>>()
  for (const conflict of conflicts) {
    const group = groups.get(groupOf(conflict)) ?? new Map<string, Vector>()
    groups.set(groupOf(conflict), group)
    group.set(vectorId(conflict.vector), conflict.vector)
  }
  const described = new Map<string, DescribedVector>()
  return (conflict) => {
    const id = groupOf(conflict)
    const known = described.get(id) ?? describe(conflict.vector, [...(groups.get(id)?.values() ?? [])], extents)
    described.set(id, known)
    return known
  }
}

function groupOf({ from, vector }: Conflict): string {
  return `${from.array} ${vector.join()}`
}

function describe(vector: readonly Distance[], members: readonly Vector[], extents: Extents): DescribedVector {
  const entries = [...vector]
  // a member without a polyhedron has no bounds
  if (members.some(({ reach }) => reach === undefined)) return { vector: entries }
  const bounds = entries.map((entry, axis) => boundsOf(entry, axis, members, extents))
  return bounds.every((one) => one === null) ? { vector: entries } : { vector: entries, bounds }
}

function boundsOf(entry: Distance, axis: number, members: readonly Vector[], extents: Extents): NonNullable<Dependence['bounds']>[number] {
  if (typeof entry === 'number') return null
  const form = axisForm(axis, extents.length)
  const ranges = members.map((member) => stepAlong(form, member))
  const least = Math.min(...ranges.map(([end]) => end))
  const greatest = Math.max(...ranges.map(([, end]) => end))
  const limit = limitOf(extents[axis])
  const [low, high] = SAID[entry]
  const isTold = [least > low && least >= -limit, greatest < high && greatest <= limit]
  if (!isTold.includes(true)) return null
  return [isTold[0] === true ? least : ends(low), isTold[1] === true ? greatest : ends(high)]
}

/** The bounds that an entry has by its sign. */
const SAID: Readonly<Record<'*' | '+' | '-', Range>> = {
  '*': [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '-': [Number.NEGATIVE_INFINITY, -1],
}

const ends = (end: number): number | null => (Number.isFinite(end) ? end : null)

/** Prints a vector, as `[0, +]`; bounds that say more than an entry stand in its place: `[1, -1..]`, `[+, -2..2]`. */
export function vectorText({ vector, bounds }: DescribedVector): string {
  const entries = vector.map((entry, axis) => {
    const [least, greatest] = bounds?.[axis] ?? [null, null]
    return least === null && greatest === null ? entry : `${least ?? ''}..${greatest ?? ''}`
  })
  return `[${entries.join(', ')}]`
}
