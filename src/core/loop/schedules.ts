/**
 * The kinds of schedules: the cut of an index space into blocks, and their order. Planner, cost model, cutter, race checker, gang
 * and reports know no kind by its name where they can ask here for the forms that it cuts along, and for the order of its blocks.
 *
 * A kind that is cut statically cuts along none, one or two *forms*, whole-number combinations of the loop indices, of which an axis is the
 * one with a single 1. Two blocks are ordered by where they lie along the forms:
 *
 *     free      blocks have no order                              independent (cuts positions), 1d (an axis or a form)
 *     lines     blocks of one row or of one column take turns     2d (two axes), in plan order, diagonal by diagonal
 *     forward   (s, t) runs after (s - 1, t) and (s, t - 1)       wavefront (two axes), skewed (two forms)
 *
 * The others: `stepped` runs the first `outer` axes in order, a step for each of their keys, all blocks of a step before any of the
 * next, and inside a step as `inner` says, whose axes and forms are of the others (a wavefront in the plan); `colored` runs as the
 * inspector finds at the first run, from the elements that the subscript slice lists; `serial` has one block.
 */

/** The machine form of `plan.schedule`. */
export type Schedule =
  | { readonly kind: 'independent' }
  | { readonly kind: '1d'; readonly axis: number }
  | { readonly kind: '1d'; readonly form: Form }
  | { readonly kind: '2d'; readonly axes: readonly [number, number] }
  | { readonly kind: 'wavefront'; readonly axes: readonly [number, number] }
  | { readonly kind: 'skewed'; readonly forms: readonly [Form, Form] }
  | { readonly kind: 'stepped'; readonly outer: number; readonly inner: InnerSchedule }
  | { readonly kind: 'colored' }
  | { readonly kind: 'serial' }

/** The schedule of the blocks inside of a step. */
export type InnerSchedule = Exclude<Schedule, { readonly kind: 'stepped' | 'colored' | 'serial' }>

/** A family of hyperplanes: an integer combination of the loop indices, one coefficient per axis. [1, 1] is i + j. Blocks are bands of its hyperplanes. */
export type Form = readonly number[]

/** The order between two blocks, from where they lie along the forms of the cuts. */
export type CutOrder = 'free' | 'lines' | 'forward'

/** A kind that says by itself how blocks are cut and ordered; `stepped` has one of these inside, `colored` an inspector. */
export type CutKind = InnerSchedule['kind']

/** The order of each kind's blocks. */
export const CUT_ORDERS: { readonly [K in CutKind]: CutOrder } = {
  independent: 'free',
  '1d': 'free',
  '2d': 'lines',
  wavefront: 'forward',
  skewed: 'forward',
}

/** The order of a kind's blocks within a step; 'free' for colored, serial and stepped schedules. */
export function cutOrderOf(kind: Schedule['kind']): CutOrder {
  return kind === 'stepped' || kind === 'colored' || kind === 'serial' ? 'free' : CUT_ORDERS[kind]
}

/** The axes that a schedule is cut along, each by itself; undefined where it is cut along forms. Empty for `independent`, which cuts positions. */
export function cutAxesOf(schedule: InnerSchedule): readonly number[] | undefined {
  if ('axis' in schedule) return [schedule.axis]
  if ('axes' in schedule) return schedule.axes
  return schedule.kind === 'independent' ? [] : undefined
}

/** The forms that a schedule is cut along, an axis as the form that it is; none for `independent`. */
export function cutFormsOf(schedule: InnerSchedule, rank: number): readonly Form[] {
  const axes = cutAxesOf(schedule)
  if (axes !== undefined) return axes.map((axis) => axisForm(axis, rank))
  if ('form' in schedule) return [schedule.form]
  return 'forms' in schedule ? schedule.forms : []
}

/** The form whose value is the index of an axis. */
export function axisForm(axis: number, rank: number): Form {
  const form = new Array<number>(rank).fill(0)
  form[axis] = 1
  return form
}

/** Writes the axes or forms that a schedule cuts along: "i and j", "i + t". */
export function cutText(schedule: InnerSchedule, nameOf: (axis: number) => string, textOf: (form: Form) => string): string {
  const axes = cutAxesOf(schedule)
  return (axes?.map(nameOf) ?? cutFormsOf(schedule, 0).map(textOf)).join(' and ')
}

/** The kind that a plan names: a schedule that runs in steps is a wavefront along its outer axes. */
export function plannedKind(kind: Schedule['kind']): Exclude<Schedule['kind'], 'stepped'> {
  return kind === 'stepped' ? 'wavefront' : kind
}
