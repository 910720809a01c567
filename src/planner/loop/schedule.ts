/**
 * Which schedules a set of dependence vectors allows, and which of them is taken.
 *
 * Let p before q in key order be two iterations in conflict, d = q - p; d is in one of the vectors. A schedule is legal
 * when it runs every such pair one after the other, and with order 'serial' p first. Blocks are cut by any monotone
 * cuts along their axes, so for the block numbers: p[a] <= q[a] implies s(p) <= s(q), equality implies equality, and
 * nothing more is known. Inside a block iterations run in key order, which is right for p and q in one block.
 *
 *     independent   There are no vectors. Nothing to order.
 *
 *     1d on a       d[a] = 0 in every vector. Then p and q lie in one block, and blocks need no order.
 *                   (Were d[a] = 1 possible, a cut between p and q would let their blocks run together.)
 *
 *     2d on a, b    Order 'any'; d[a] = 0 or d[b] = 0 in every vector. Then the blocks of p and q share their row or
 *                   their column, so they never run together, and the result is that of the order in which the plan
 *                   runs them. Blocks that share neither hold no conflict and may run together.
 *
 *     wavefront     Block (s, t) runs after (s-1, t) and (s, t-1), hence after every other (s', t') with s' <= s, t' <= t;
 *     on a, b       all others run in any order with it. Order 'serial': d[a] >= 0 and d[b] >= 0 in every vector. Then
 *                   the block of p is not after that of q in either axis: it is the same block or runs before.
 *                   (Were d[a] < 0 possible, a cut between q[a] and p[a] would run q's block first, or together.)
 *                   So (0, 1), (1, 0), (1, 1) are legal and (1, -1) is not. That d[a] = 0 or d[b] = 0 is enough
 *                   in two axes, where d[0] >= 0 and a vector (0, x) has x > 0; in three it is not: (1, -1, 0)
 *                   is illegal on axes 1, 2, though legal there for 2d.
 *                   Order 'any': it is enough that the two entries never have opposite signs, for then the blocks of p
 *                   and q are ordered, either way.
 *
 *     serial        One block.
 *
 * `*` may be any integer, `+` any positive one, `-` any negative one.
 */
import type { Distance } from '../../core/loopPlan.ts'
import type { Schedule } from '../../core/loopSpec.ts'

export type Vector = readonly Distance[]

export interface Space {
  readonly extents: readonly (number | undefined)[]
  readonly order: 'serial' | 'any'
}

/** From the freest to the most ordered; the first legal one is taken. */
const KINDS = ['independent', '1d', '2d', 'wavefront', 'serial'] as const
export type PlannedKind = (typeof KINDS)[number]

export interface Choice {
  readonly schedule: Schedule
  /** The freer kinds that were tried in vain, in that order. */
  readonly rejected: readonly PlannedKind[]
}

/** The freest legal schedule; the same for every number of workers. */
export function chooseSchedule(vectors: readonly Vector[], space: Space): Choice {
  const rejected: PlannedKind[] = []
  for (const kind of KINDS) {
    const schedule = legalSchedule(kind, vectors, space)
    if (schedule !== undefined) return { schedule, rejected }
    if (axisChoices(kind, space).length > 0) rejected.push(kind)
  }
  return { schedule: { kind: 'serial' }, rejected }
}

function legalSchedule(kind: PlannedKind, vectors: readonly Vector[], space: Space): Schedule | undefined {
  const axes = axisChoices(kind, space).find((choice) => vectors.every((vector) => allowsVector(kind, vector, choice, space.order)))
  const [a, b] = axes ?? []
  switch (kind) {
    case 'independent':
    case 'serial':
      return axes === undefined ? undefined : { kind }
    case '1d':
      return a === undefined ? undefined : { kind, axis: a }
    case '2d':
    case 'wavefront':
      return a === undefined || b === undefined ? undefined : { kind, axes: [a, b] }
  }
}

/** Whether a vector allows the kind on these axes: the statement at the head of the file. */
export function allowsVector(kind: PlannedKind, vector: Vector, axes: readonly number[], order: Space['order']): boolean {
  const entries = axes.map((axis) => vector[axis] ?? '*')
  const [a = '*', b = '*'] = entries
  switch (kind) {
    case 'independent':
      return false
    case '1d':
      return a === 0
    case '2d':
      return order === 'any' && (a === 0 || b === 0)
    case 'wavefront':
      if (isNotNegative(a) && isNotNegative(b)) return true
      return order === 'any' && (a === 0 || b === 0 || (isNegative(a) && isNegative(b)))
    case 'serial':
      return true
  }
}

function isNotNegative(distance: Distance): boolean {
  return typeof distance === 'number' ? distance >= 0 : distance === '+'
}

function isNegative(distance: Distance): boolean {
  return typeof distance === 'number' ? distance < 0 : distance === '-'
}

/** The axes that a kind could cut, the best choice first; none where the space has too few axes with more than one index. */
export function axisChoices(kind: PlannedKind, { extents }: Space): readonly (readonly number[])[] {
  const axes = extents.map((_, axis) => axis).filter((axis) => widthOf(extents[axis]) > 1)
  switch (kind) {
    case 'independent':
    case 'serial':
      return [[]]
    case '1d':
      return byWidth(extents.length === 1 ? [] : axes.map((axis) => [axis]), extents)
    case '2d':
    case 'wavefront':
      return byWidth(
        axes.flatMap((a) => axes.filter((b) => b > a).map((b) => [a, b])),
        extents,
      )
  }
}

/** An axis of this extent or more gives enough blocks; among such axes the outer one is better, for locality. */
const WIDE = 64

const widthOf = (extent: number | undefined): number => Math.min(extent ?? WIDE, WIDE)

/** The widest choice first, outer axes first among equals. */
function byWidth(choices: readonly (readonly number[])[], extents: Space['extents']): readonly (readonly number[])[] {
  const width = (axes: readonly number[]) => axes.reduce((product, axis) => product * widthOf(extents[axis]), 1)
  return choices.toSorted((a, b) => width(b) - width(a))
}

/** Each vector once. */
export function distinctVectors(conflicts: readonly { readonly vector: Vector }[]): Vector[] {
  return [...new Map(conflicts.map(({ vector }) => [vector.join(), vector])).values()]
}

/** The axes a schedule cuts. */
export function axesOf(schedule: Schedule): readonly number[] {
  switch (schedule.kind) {
    case 'independent':
      return [0]
    case '1d':
      return [schedule.axis]
    case '2d':
    case 'wavefront':
      return schedule.axes
    case 'serial':
      return []
  }
}
