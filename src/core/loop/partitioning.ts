/**
 * How many blocks, and where to cut: from the schedule and the data, never from the number of workers.
 *
 *     equal       |    |    |    |    |      the same number of indices in each part
 *     histogram   | |  |       |      |      about the same number of elements in each part
 */
import type { Form, InnerSchedule, Schedule } from './loopSpec.ts'

/** Blocks along one axis of two, as soon as there are iterations for them: 16 x 16 keep 8 workers busy and a block far above the cost of claiming it. */
const USUAL_PER_AXIS = 16
/** Iterations that make a further block along each of two axes worth its claim. */
const LEAST_ITERATIONS_2D = 256
/** Larger loops have more, for more workers: up to so many along each axis, of so many light iterations at least. */
const MOST_PER_AXIS = 256
const LEAST_LIGHT_ITERATIONS = 4096
/** Blocks of a wavefront are boxes that kernels run row by row, several rows at a time, and small ones cost them more. */
const LEAST_OF_WAVEFRONT = 65_536
/** Blocks along a single axis: as soon as there are iterations for them, and where each has so many light ones. */
const USUAL_ON_ONE_AXIS = 64
const MOST_ON_ONE_AXIS = 1024
const LEAST_RUN = 64
/** Bounds of the blocks of sparse elements that run in steps are listed, and sent to the workers: with more, the loop is one block. */
export const MOST_LISTED_BLOCKS: number = 2 ** 16
/** Most blocks of a step, along one axis and along each of two: workers wait for one another after every step, and what they wait for is a block. */
const MOST_OF_STEP = 16
const MOST_OF_STEP_2D = 6
/**
 * Light iterations that make a further block of a step worth its claim and its share of the wait. Weights are those of slow kernels: a
 * block of so many takes 10 microseconds, and its claim 2.
 */
const LEAST_ITERATIONS_OF_STEP = 3000

/**
 * Blocks per cut axis, in the order of the schedule's axes: one number, two, or none for a serial loop. An iteration
 * counts as `weight` light ones, in a schedule of steps as less than one too. Axes that run in order come first, each index a block of its own; `partitions` is about the others.
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
  switch (schedule.kind) {
    case 'serial':
    case 'colored': // the inspector's finding says how many
      return []
    case 'independent':
      return [clampCount(wanted(0) ?? alongOneAxis(iterations * heavy), iterations)]
    case '1d': {
      const width = 'form' in schedule ? widthAlong(schedule.form, extents) : (extents[schedule.axis] ?? 1)
      const isAcrossRuns = 'form' in schedule || (schedule.axis > 0 && schedule.axis === extents.length - 1)
      const grown = alongOneAxis(iterations * heavy)
      return [clampCount(wanted(0) ?? (isAcrossRuns ? withRuns(grown, USUAL_ON_ONE_AXIS, width) : grown), width)]
    }
    case '2d':
    case 'wavefront':
    case 'skewed': {
      const side = alongEachAxis(iterations * heavy, schedule.kind === '2d' ? LEAST_LIGHT_ITERATIONS : LEAST_OF_WAVEFRONT)
      const widths =
        schedule.kind === 'skewed'
          ? schedule.forms.map((form) => widthAlong(form, extents))
          : schedule.axes.map((axis) => extents[axis] ?? 1)
      // as many blocks, and rows twice as long, which are written some 5 to 10 % faster where they stream through the memory
      // (Smith–Waterman of 8,000 letters, 2 workers)
      const isWide = side >= USUAL_PER_AXIS && (widths[0] ?? 0) >= 2 * side
      const sides = schedule.kind === 'wavefront' && isWide ? [Math.min(MOST_PER_AXIS, 2 * side), Math.floor(side / 2)] : [side, side]
      const columns = withRuns(sides[1] as number, USUAL_PER_AXIS, widths[1] as number) // of two axes, as all of these
      // a column of blocks is in one row at a time, and goes from one to the next: with more rows it would go to and fro
      const rows = schedule.kind === '2d' ? Math.min(side, Math.max(USUAL_PER_AXIS, columns)) : (sides[0] as number)
      return [rows, columns].map((count, i) => clampCount(wanted(i) ?? count, widths[i] as number))
    }
    case 'stepped': {
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
  }
}

/** Kernels run along the last axis: more parts than usual leave it in runs of some length. */
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

/** How many blocks there could be along each cut of a step. */
function widthsOf(inner: InnerSchedule, outer: number, extents: readonly number[]): readonly number[] {
  switch (inner.kind) {
    case 'independent':
      return [extents.slice(outer).reduce((size, extent) => size * extent, 1)]
    case '1d':
      return ['form' in inner ? widthAlong(inner.form, extents) : (extents[inner.axis] ?? 1)]
    case '2d':
    case 'wavefront':
      return inner.axes.map((axis) => extents[axis] ?? 1)
    case 'skewed':
      return inner.forms.map((form) => widthAlong(form, extents))
  }
}

/** The values a form takes over a box: from the first up to, but not, the second. */
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

/** Bounds of `parts` parts of 0 … extent: part p is bounds[p] to bounds[p + 1]. */
export function cutEqual(extent: number, parts: number): number[] {
  return Array.from({ length: parts + 1 }, (_, part) => Math.floor((extent * part) / parts))
}

/** Bounds at multiples of `unit`, where the parts are large enough for it. */
export function cutAtMultiples(extent: number, parts: number, unit: number): number[] {
  const bounds = cutEqual(extent, parts)
  if (extent < parts * unit) return bounds
  return bounds.map((bound, part) => (part === parts ? extent : Math.round(bound / unit) * unit))
}

/** Bounds so that parts hold about equally many elements; `counts` has the elements at each index. */
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

/** A schedule that cuts elements by where they are. */
export type Subscripted = Exclude<InnerSchedule, { readonly kind: 'independent' }>

/** Sparse elements of a step are cut by where they are along an axis: a run of positions would be a run of steps. */
export function bySubscript(inner: InnerSchedule, outer: number, extents: readonly number[]): Subscripted {
  if (inner.kind !== 'independent') return inner
  const axis = extents.findIndex((extent, i) => i >= outer && extent > 1)
  return { kind: '1d', axis: Math.max(axis, outer) }
}
