/**
 * The schedules that a set of dependence vectors allows, and the choice among them.
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
 *     skewed        As a wavefront, cut along two forms h1, h2 instead of two axes: h(k) is a whole-number combination of
 *     along h1, h2  the loop indices, as i + t. Order 'serial': h1(d) >= 0 and h2(d) >= 0 in every vector. The proof is the
 *                   same: h is linear, so h(q) = h(p) + h(d) >= h(p), and bands of h are cut monotonely; the block of p is
 *                   not after that of q along either form. Order 'any': it is enough that h1(d) and h2(d) never have
 *                   opposite signs. The heat equation over time has (1, -1), (1, 0), (1, 1): i goes back, i + t does not.
 *                   (1d along h, in the same way: h(d) = 0 in every vector; bands of h then need no order.)
 *                   Vectors point forward in time, so enough of the outer axes makes up for any step back of known length;
 *                   a `*`, or a `-` of unknown length, it cannot make up for.
 *
 *     stepped       The first n axes, mostly one, run in order: all blocks of a step, a key of those axes, before any block of the
 *     on n axes     next, and inside a step as an inner schedule of the other axes has it. In every vector the first of the
 *                   first n entries that is not 0, if there is one, is positive: as in Lamport's hyperplane method (The parallel
 *                   execution of DO loops, 1974), where h = (1, 0, ...). Then either p's step is before q's, and so is p; or
 *                   p and q are in one step, and d is in one of the vectors whose first n entries are all 0. Those, and no
 *                   others, hold for the iterations of a step, so that a schedule is legal inside it that is legal for them.
 *                   (A vector with `*` or `-` in front could send q's step before p's.) Iterations of different steps
 *                   are in key order, so order 'serial' and 'any' differ inside the steps only.
 *                   Gaussian elimination over (k, i, j) has (+, *, *), and inside one k nothing depends on anything.
 *
 *     colored       No static schedule is legal, and a slice tells what each iteration touches (`slice.ts`). The first run finds
 *                   out which iterations are in conflict; see `exec/loops/inspector`.
 *
 *     serial        One block.
 *
 * `*` may be any integer, `+` any positive one, `-` any negative one.
 */
import type { Form, InnerSchedule, Schedule } from '../../core/loop/schedules.ts'
import { axisForm, CUT_ORDERS, cutAxesOf, cutFormsOf } from '../../core/loop/schedules.ts'
import {
  areUnimodular,
  axesIn,
  candidateForms,
  type FormsOf,
  goesForward,
  mayTurn,
  normalForms,
  remembered,
  skewOf,
  standsStill,
} from './dependence/forms.ts'
import { type Vector, vectorId } from './dependence/reach.ts'

export interface Space {
  readonly extents: readonly (number | undefined)[]
  readonly order: 'serial' | 'any'
}

/** Schedule kinds from the freest to the most ordered. */
export const KINDS = ['independent', '1d', '2d', 'wavefront', 'skewed', 'stepped', 'serial'] as const
export type PlannedKind = (typeof KINDS)[number]

type StaticSchedule = Exclude<Schedule, { kind: 'colored' }>

export interface Choice {
  readonly schedule: StaticSchedule
  /** The freer kinds that were tried in vain, in that order. */
  readonly rejected: readonly PlannedKind[]
}

/** A legal schedule and the freer kinds that have no legal one. */
export interface LegalSchedule extends Choice {
  readonly kind: PlannedKind
}

/** Returns the freest legal schedule; the same for every number of workers. */
export function chooseSchedule(vectors: readonly Vector[], space: Space): Choice {
  for (const { schedule, rejected } of legalSchedules(vectors, space)) return { schedule, rejected }
  return { schedule: { kind: 'serial' }, rejected: [] }
}

/** Yields the legal schedules, the freest first, at most `mostOfKind` of each kind. Serial, the last, is always among them. */
export function* legalSchedules(vectors: readonly Vector[], space: Space, mostOfKind = 1): Generator<LegalSchedule, void, void> {
  const rejected: PlannedKind[] = []
  for (const kind of KINDS) {
    let [tried, found] = [false, 0]
    for (const forms of cutChoices(kind, vectors, space)) {
      tried = true
      const schedules = kind === 'stepped' ? stepped(forms.length, vectors, space) : unstepped(kind, forms, vectors, space)
      for (const schedule of schedules) {
        if (found++ < mostOfKind) yield { kind, schedule, rejected: [...rejected] }
      }
      if (found >= mostOfKind) break
    }
    if (tried && found === 0) rejected.push(kind)
  }
}

/** Returns the schedule of a kind cut along some hyperplanes, or none where a vector forbids it. */
function unstepped(
  kind: Exclude<PlannedKind, 'stepped'>,
  forms: readonly Form[],
  vectors: readonly Vector[],
  { order }: Space,
): readonly (InnerSchedule | { readonly kind: 'serial' })[] {
  return vectors.every((vector) => allowsVector(kind, vector, forms, order)) ? [scheduleOf(kind, forms)] : []
}

/** Yields schedules whose first `outer` axes run in order; the inner ones fit the vectors within a step, the freest first. */
function* stepped(outer: number, vectors: readonly Vector[], space: Space): Generator<StaticSchedule, void, void> {
  const inside = vectors.filter((vector) => !isCarried(vector, outer))
  if (!inside.every((vector) => vector.slice(0, outer).every((distance) => distance === 0))) return
  // Inside a step the outer axes have one index, and nothing is cut along an axis of one index.
  const step = { ...space, extents: space.extents.map((extent, axis) => (axis < outer ? 1 : extent)) }
  for (const kind of KINDS) {
    if (kind === 'stepped' || kind === 'serial') continue
    for (const forms of cutChoices(kind, inside, step)) {
      const [inner] = unstepped(kind, forms, inside, step)
      if (inner !== undefined && inner.kind !== 'serial') yield { kind: 'stepped', outer, inner }
    }
  }
}

/** Whether the first `outer` axes alone tell that p comes before q: their first entry that is not 0 is surely positive. */
function isCarried(vector: Vector, outer: number): boolean {
  const first = vector.slice(0, outer).find((distance) => distance !== 0)
  return first === '+' || (typeof first === 'number' && first > 0)
}

function scheduleOf(kind: Exclude<PlannedKind, 'stepped'>, forms: readonly Form[]): InnerSchedule | { readonly kind: 'serial' } {
  const [a = [], b = []] = forms
  switch (kind) {
    case 'independent':
    case 'serial':
      return { kind }
    case '1d':
      return skewOf(a) === 1 ? { kind, axis: axisOf(a) } : { kind, form: a }
    case '2d':
    case 'wavefront':
      return { kind, axes: [axisOf(a), axisOf(b)] }
    case 'skewed':
      return { kind, forms: [a, b] }
  }
}

const axisOf = (form: Form): number => form.indexOf(1)

/**
 * Whether a vector allows the kind, cut along these forms: the statement at the head of the file. A stepped schedule has a form for each
 * sequential axis, and every vector that these do not carry counts against it, though it may be legal inside a step.
 */
export function allowsVector(kind: PlannedKind, vector: Vector, forms: readonly Form[], order: Space['order']): boolean {
  if (kind === 'serial') return true
  if (kind === 'stepped') return isCarried(vector, forms.length)
  switch (CUT_ORDERS[kind]) {
    case 'free':
      return forms.length > 0 && forms.every((form) => standsStill(form, vector))
    case 'lines':
      return order === 'any' && forms.some((form) => standsStill(form, vector))
    case 'forward':
      if (forms.every((form) => goesForward(form, vector))) return true
      return order === 'any' && !mayTurn(forms[0] ?? [], forms[1] ?? [], vector)
  }
}

/** Yields the forms along which a kind could be cut, the best first; none where too few axes of the space have more than one index. */
export function* cutChoices(kind: PlannedKind, vectors: readonly Vector[], space: Space): Generator<readonly Form[], void, void> {
  const { extents } = space
  const rank = extents.length
  const axes = extents.map((_, axis) => axis).filter((axis) => widthOf(extents[axis]) > 1)
  const units = axes.map((axis) => axisForm(axis, rank))
  switch (kind) {
    case 'independent':
    case 'serial':
      yield []
      return
    case '1d':
      if (rank === 1) return
      yield* byWidth(
        units.map((form) => [form]),
        extents,
      )
      if (axes.length > 1) for (const form of bands(vectors, extents)) yield [form]
      return
    case '2d':
    case 'wavefront':
      yield* byWidth(pairsOf(units), extents)
      return
    case 'skewed':
      if (axes.length > 1) yield* skewedPairs(vectors, space)
      return
    case 'stepped':
      // The fewest outer axes come first: a step then has the most work.
      for (const axis of axes.slice(0, -1)) yield extents.slice(0, axis + 1).map((_, outer) => axisForm(outer, rank))
  }
}

/** Slanted hyperplanes whose bands no dependence leaves. */
const bands: FormsOf = remembered((vectors, extents) => {
  const forms = [...candidateForms(vectors, extents), ...normalForms(vectors, extents)]
  return forms.filter((form) => skewOf(form) > 1 && isForward(form) && isUsable(form, extents))
})

/** Most forms from which pairs are made: the least skewed ones. */
const MOST_FORMS = 24

/**
 * Yields pairs of forms that are not both axes. Those along which no dependence goes back come first. With order 'any' all others follow;
 * with order 'serial' only near misses, for the reasons given when there is no legal pair.
 */
function* skewedPairs(vectors: readonly Vector[], { extents, order }: Space): Generator<readonly Form[], void, void> {
  const forms = candidateForms(vectors, extents)
  const forward = forms.filter((form) => vectors.every((vector) => goesForward(form, vector)))
  yield* leastSkewed(forward, extents)
  if (order === 'any') yield* leastSkewed(forms, extents)
  const [outer] = axesIn(forms)
  if (outer === undefined) return
  const first = axisForm(outer, extents.length)
  for (const form of forms.slice(0, MOST_FORMS)) if (areUnimodular(first, form)) yield [first, form]
}

function* leastSkewed(forms: readonly Form[], extents: Space['extents']): Generator<readonly Form[], void, void> {
  const pairs = pairsOf(forms.slice(0, MOST_FORMS)).filter((pair) => pair.some((form) => skewOf(form) > 1 || !isForward(form)))
  const least = byKey(pairs, (pair) => pair.reduce((sum, form) => sum + skewOf(form), 0))
  for (const pair of byWidth(least, extents)) if (areUnimodular(pair[0] ?? [], pair[1] ?? [])) yield pair
}

/** Whether the outermost index of a form counts up. */
function isForward(form: Form): boolean {
  return (form.find((coefficient) => coefficient !== 0) ?? 0) > 0
}

function isUsable(form: Form, extents: Space['extents']): boolean {
  return form.every((coefficient, axis) => coefficient === 0 || widthOf(extents[axis]) > 1)
}

function pairsOf(forms: readonly Form[]): Form[][] {
  return forms.flatMap((a, i) => forms.slice(i + 1).map((b) => [a, b]))
}

/** An axis of this extent or more gives enough blocks; among such axes the outer one is better, for locality. */
const WIDE = 64

const widthOf = (extent: number | undefined): number => Math.min(extent ?? WIDE, WIDE)

/** The width of a form: that of its widest axis, skewed or not. */
function widthAlong(form: Form, extents: Space['extents']): number {
  return Math.max(...form.map((coefficient, axis) => (coefficient === 0 ? 0 : widthOf(extents[axis]))))
}

/** Sorts the widest choice first; equals keep their order, for axes the outer ones first. */
function byWidth(choices: readonly (readonly Form[])[], extents: Space['extents']): readonly (readonly Form[])[] {
  return byKey(choices, (forms) => -forms.reduce((product, form) => product * widthAlong(form, extents), 1))
}

/** Sorts the smallest key first; equals keep their order. */
function byKey(choices: readonly (readonly Form[])[], keyOf: (choice: readonly Form[]) => number): readonly (readonly Form[])[] {
  const keyed = choices.map((choice) => ({ choice, key: keyOf(choice) }))
  return keyed.sort((a, b) => a.key - b.key).map(({ choice }) => choice)
}

/** Returns each vector once. */
export function distinctVectors(conflicts: readonly { readonly vector: Vector }[]): Vector[] {
  const vectors = [...new Map(conflicts.map(({ vector }) => [vectorId(vector), vector])).values()]
  // Vectors without a distance polyhedron come first: their entries alone decide, which costs less.
  return [...vectors.filter((vector) => vector.reach === undefined), ...vectors.filter((vector) => vector.reach !== undefined)]
}

/** Returns the axes a schedule cuts, alone or in a form; those that it runs in order come first. */
export function axesOf(schedule: Schedule): readonly number[] {
  return schedule.kind === 'stepped' ? [...stepAxes(schedule), ...cutAxes(schedule, schedule.outer)] : cutAxes(schedule)
}

/** The axes that a schedule runs in order, step by step. */
export function stepAxes(schedule: Schedule): readonly number[] {
  return schedule.kind === 'stepped' ? Array.from({ length: schedule.outer }, (_, axis) => axis) : []
}

/** The axes along which blocks that may run together are cut. */
export function cutAxes(schedule: Schedule, outer = 0): readonly number[] {
  if (schedule.kind === 'colored' || schedule.kind === 'serial') return []
  if (schedule.kind === 'stepped') return cutAxes(schedule.inner, schedule.outer)
  if (schedule.kind === 'independent') return [outer]
  return cutAxesOf(schedule) ?? axesIn(cutFormsOf(schedule, 0))
}
