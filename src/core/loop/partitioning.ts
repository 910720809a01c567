/**
 * The number of blocks and the cuts between them, which follow from the schedule and the data, never from the number of workers.
 *
 *     equal       |    |    |    |    |      the same number of indices in each part
 *     histogram   | |  |       |      |      about the same number of elements in each part
 */
import type { Form, InnerSchedule, Schedule } from './schedules.ts'
import { CUT_ORDERS, cutAxesOf, cutFormsOf } from './schedules.ts'

/** The usual number of blocks along each of two axes: 16 x 16 keep 8 workers busy, and a block far above the cost of claiming it. */
const USUAL_PER_AXIS = 16
/** The least light iterations that make a block of two axes worth its claim. */
const LEAST_ITERATIONS_2D = 256
/** The most blocks along each axis of larger loops, which have more of them for more workers, and the least light iterations of such a block. */
const MOST_PER_AXIS = 256
const LEAST_LIGHT_ITERATIONS = 4096
/**
 * The least light iterations of a wavefront's block of such iterations: kernels run it row by row, several rows at a time, and small blocks
 * cost more. Where an iteration itself takes long this is nothing, and blocks may be smaller by its weight, up to a limit.
 */
const LEAST_OF_WAVEFRONT = 65_536
const MOST_WEIGHT_OF_WAVEFRONT = 16
/** The weight from which on memory is no matter to a wavefront. */
const HEAVY_OF_WAVEFRONT = 4
/** The usual and the most blocks along a single axis, and the least indices of a block that cuts the last axis, along which kernels run. */
const USUAL_ON_ONE_AXIS = 64
const MOST_ON_ONE_AXIS = 1024
const LEAST_RUN = 64
/** The most blocks of sparse elements in steps: their bounds are listed and sent to the workers. A loop with more is one block. */
export const MOST_LISTED_BLOCKS: number = 2 ** 16
/** The most blocks of a step, along one axis and along each of two. Workers wait for one another after every step, for the time of a block. */
const MOST_OF_STEP = 16
const MOST_OF_STEP_2D = 6
/**
 * The least light iterations that make a step's block worth its claim and its share of the wait. Weights are those of slow kernels: such
 * a block takes 10 microseconds, and its claim 2.
 */
const LEAST_ITERATIONS_OF_STEP = 3000

/**
 * The number of blocks along each cut axis, in the order of the schedule's axes: one number, two, or none for a serial loop. An iteration
 * counts as `weight` light ones; only in a schedule of steps may that be less than one. Axes that run in order come first, each index a block; `partitions` is about the others.
 */
export function blockCounts(
  schedule: Schedule,
  extents: readonly number[],
  partitions: number | readonly number[] | undefined,
  iterations: number,
  weight = 1,
): number[] {
  const heavy = Math.max(1, weight)
  const wanted = (axis: number): number | undefined => (typeof partitions === 'number' ? partitions : partitions?.[axis])
  if (schedule.kind === 'serial' || schedule.kind === 'colored') return [] // the inspector's result decides the blocks of a colored one
  if (schedule.kind === 'stepped') {
    const outer = extents.slice(0, schedule.outer)
    const steps = outer.reduce((count, extent) => count * extent, 1)
    const work = steps === 0 ? 0 : (iterations * weight) / steps
    const widths = widthsOf(schedule.inner, schedule.outer, extents)
    const most =
      widths.length === 1
        ? Math.min(MOST_OF_STEP, work / LEAST_ITERATIONS_OF_STEP)
        : Math.min(MOST_OF_STEP_2D, Math.sqrt(work / LEAST_ITERATIONS_OF_STEP))
    return [...outer, ...widths.map((width, i) => clampCount(wanted(i) ?? most, width))]
  }
  const widths = schedule.kind === 'independent' ? [iterations] : widthsOf(schedule, 0, extents)
  const light = iterations * heavy
  const counts =
    widths.length === 1 ? [countOnOneAxis(schedule, widths[0] as number, extents, light)] : countsOnTwo(schedule, widths, light, heavy)
  return counts.map((count, i) => clampCount(wanted(i) ?? count, widths[i] as number))
}

function countOnOneAxis(schedule: InnerSchedule, width: number, extents: readonly number[], light: number): number {
  const grown = alongOneAxis(light)
  const [axis = extents.length - 1] = cutAxesOf(schedule) ?? []
  const isAcrossRuns = schedule.kind !== 'independent' && axis > 0 && axis === extents.length - 1
  return isAcrossRuns || cutAxesOf(schedule) === undefined ? withRuns(grown, USUAL_ON_ONE_AXIS, width) : grown
}

function countsOnTwo(
  schedule: InnerSchedule,
  [height = 1, width = 1]: readonly number[],
  light: number,
  weight: number,
): readonly [number, number] {
  const takesTurns = CUT_ORDERS[schedule.kind] === 'lines'
  const least = takesTurns ? LEAST_LIGHT_ITERATIONS : LEAST_OF_WAVEFRONT / Math.min(weight, MOST_WEIGHT_OF_WAVEFRONT)
  const side = alongEachAxis(light, least)
  // a column's data is used by one row of blocks at a time and moves on to the next: with more rows than columns it would go to and fro
  if (takesTurns) {
    const columns = withRuns(side, USUAL_PER_AXIS, width)
    return [Math.min(side, Math.max(USUAL_PER_AXIS, columns)), columns]
  }
  // the same number of blocks, with rows twice as long: these are written 5 to 10 % faster where they stream through the memory
  // (Smith–Waterman of 8,000 letters, 2 workers)
  const isWide = weight < HEAVY_OF_WAVEFRONT && cutAxesOf(schedule) !== undefined && side >= USUAL_PER_AXIS && height >= 2 * side
  const [rows, columns] = isWide ? [Math.min(MOST_PER_AXIS, 2 * side), Math.floor(side / 2)] : [side, side]
  return [rows, withRuns(columns, USUAL_PER_AXIS, width)]
}

/** The number of parts of the last axis, along which kernels run: more than the usual number only where runs keep at least LEAST_RUN indices. */
function withRuns(parts: number, usual: number, width: number): number {
  return Math.min(parts, Math.max(usual, width / LEAST_RUN))
}

function alongOneAxis(light: number): number {
  return Math.max(USUAL_ON_ONE_AXIS, Math.min(MOST_ON_ONE_AXIS, light / LEAST_LIGHT_ITERATIONS))
}

function alongEachAxis(light: number, least: number): number {
  const usual = Math.min(USUAL_PER_AXIS, Math.sqrt(light / LEAST_ITERATIONS_2D))
  return Math.floor(Math.max(usual, Math.min(MOST_PER_AXIS, Math.sqrt(light / least))))
}

/** The most blocks that there could be along each cut, behind the first `outer` axes. */
function widthsOf(inner: InnerSchedule, outer: number, extents: readonly number[]): readonly number[] {
  if (inner.kind === 'independent') return [extents.slice(outer).reduce((size, extent) => size * extent, 1)]
  return cutAxesOf(inner)?.map((axis) => extents[axis] ?? 1) ?? cutFormsOf(inner, extents.length).map((form) => widthAlong(form, extents))
}

/** The range of a form's values over a box; `high` is exclusive. */
export function rangeAlong(form: Form, extents: readonly number[]): [low: number, high: number] {
  if (extents.some((extent) => extent === 0)) return [0, 0]
  const ends = form.map((coefficient, axis) => coefficient * ((extents[axis] ?? 1) - 1))
  const low = ends.reduce((sum, end) => sum + Math.min(0, end), 0)
  return [low, ends.reduce((sum, end) => sum + Math.max(0, end), 0) + 1]
}

function widthAlong(form: Form, extents: readonly number[]): number {
  const [low, high] = rangeAlong(form, extents)
  return high - low
}

function clampCount(count: number, most: number): number {
  return Math.max(1, Math.min(Math.floor(count), most))
}

/** Cuts 0 … extent into `parts` equal parts: part p is bounds[p] to bounds[p + 1]. */
export function cutEqual(extent: number, parts: number): number[] {
  return Array.from({ length: parts + 1 }, (_, part) => Math.floor((extent * part) / parts))
}

/** Cuts at multiples of `unit`, where the parts are large enough for it, else into equal parts. */
export function cutAtMultiples(extent: number, parts: number, unit: number): number[] {
  const bounds = cutEqual(extent, parts)
  if (extent < parts * unit) return bounds
  return bounds.map((bound, part) => (part === parts ? extent : Math.round(bound / unit) * unit))
}

/** Cuts into parts with about equally many elements; `counts` has the number of elements at each index. */
export function cutByHistogram(counts: ArrayLike<number>, parts: number): number[] {
  let total = 0
  for (let index = 0; index < counts.length; index++) total += counts[index] ?? 0
  if (total === 0) return cutEqual(counts.length, parts)
  const bounds = [0]
  let before = 0
  let index = 0
  for (let part = 1; part < parts; part++) {
    const goal = (total * part) / parts
    // An index goes to the side on which the cut comes closer to the goal.
    while (index < counts.length && before + (counts[index] ?? 0) / 2 <= goal) before += counts[index++] ?? 0
    bounds.push(index)
  }
  bounds.push(counts.length)
  return bounds
}

/** A schedule that cuts sparse elements by their keys, not by their positions. */
export type Subscripted = Exclude<InnerSchedule, { readonly kind: 'independent' }>

/** The schedule that cuts a step's sparse elements by their keys along an axis: a range of positions would be a range of steps. */
export function bySubscript(inner: InnerSchedule, outer: number, extents: readonly number[]): Subscripted {
  if (inner.kind !== 'independent') return inner
  const axis = extents.findIndex((extent, i) => i >= outer && extent > 1)
  return { kind: '1d', axis: Math.max(axis, outer) }
}
