/**
 * The predicted time of a pass under a schedule on a nominal machine, by which one of the legal schedules is chosen.
 *
 *     pass = iterations x nanoseconds of one x share  +  blocks  +  steps
 *
 * - *nanoseconds of one* depend on the schedule: blocks that cut the last axis make runs short, and the rows of a large array
 *   are begun more often (`memory.ts`); where elements lie block by block, keys and values are copied there first.
 * - *share*: the fraction of the iterations on the critical path through the blocks, for so many workers. Blocks of a box are equal, and
 *   those of sparse data are taken for it until the data is there; then its elements are counted (`loads.ts`). Equal blocks that wait
 *   for equally many others before them run together; no worker has less of them than one, nor all together less than the whole.
 * - *blocks* are claimed; those that wait for others are handed on. At the end of a *step* all wait for all.
 *
 * Everything follows from the body, the extents and the keys, never from a clock or from the real workers, since the
 * schedule may decide on the bits of the result.
 */
import { blockCounts, bySubscript, MOST_LISTED_BLOCKS, rangeAlong } from '../loop/partitioning.ts'
import type { InnerSchedule, Schedule } from '../loop/schedules.ts'
import { CUT_ORDERS, cutAxesOf, cutFormsOf } from '../loop/schedules.ts'
import { type KeySample, loadShare } from './loads.ts'
import { weightIn } from './nominal.ts'

/** The workers of the nominal machine. */
export const NOMINAL_WORKERS = 4
/** The costs of claiming a block, of releasing one that others wait for, and of the barrier at the end of a step. */
const CLAIM_NS = 300
const RELEASE_NS = 2_000
const STEP_END_NS = 5_000
/** The cost of beginning one of the boxes that a slanted block is made of: where two axes are slanted, and where more are. */
const PIECE_NS = 150
const DEEP_PIECE_NS = 250
/** The cost of copying the keys and the value of an element to its block, and the passes over which it is spread. */
const COPY_NS = 10
const PASSES_OF_A_COPY = 4

type Parallel = Exclude<Schedule, { readonly kind: 'colored' | 'serial' }>

export interface CostedLoop {
  readonly extents: readonly number[]
  readonly iterations: number
  /** Whether every key of the box is an iteration, so that the last index counts up from one to the next. */
  readonly isBox: boolean
  readonly partitions: number | readonly number[] | undefined
  /** The nominal nanoseconds of an iteration, by which blocks are cut. */
  readonly nominalNs: number
  /** The estimated nanoseconds of an iteration in runs of `run` iterations. */
  readonly iterationNs: (run: number) => number
  /** The keys of sparse data, as soon as it exists. */
  readonly sample?: KeySample | undefined
  /** The rule by which axes are cut. Default: 'histogram'. */
  readonly balance?: 'histogram' | 'equal' | undefined
}

export interface ScheduleCost {
  readonly milliseconds: number
  readonly blocks: number
  /** The mean length of runs of iterations along the last axis. */
  readonly run: number
  /** The fraction of the iterations on the critical path through the blocks. */
  readonly share: number
}

/** The cost of a pass with so many workers; the choice of a schedule uses the nominal number. */
export function scheduleCost(schedule: Schedule, loop: CostedLoop, workers: number = NOMINAL_WORKERS): ScheduleCost {
  if (schedule.kind === 'serial' || schedule.kind === 'colored') {
    return { milliseconds: (loop.iterations * loop.iterationNs(fullRun(loop))) / 1e6, blocks: 1, run: fullRun(loop), share: 1 }
  }
  const { iterations, extents } = loop
  const planned = blockCounts(schedule, extents, loop.partitions, iterations, weightIn(schedule, loop.nominalNs))
  const outer = schedule.kind === 'stepped' ? schedule.outer : 0
  // where steps have one block each, or more blocks than can be listed, the whole loop is one block
  const isListed = !loop.isBox && schedule.kind === 'stepped' && productOf(planned) > MOST_LISTED_BLOCKS
  const isOne = isListed || productOf(planned.slice(outer)) === 1
  const inner = innerOf(schedule, loop)
  const counts = inner.kind === '1d' && 'axis' in inner ? atMost(planned, extents[inner.axis] ?? 1) : planned
  const along = counts.slice(outer)
  const inStep = productOf(along)
  const steps = isOne ? 1 : productOf(counts.slice(0, outer))
  const blocks = isOne ? 1 : steps * inStep
  const run = runOf(inner, along, loop, outer)
  const share = isOne ? 1 : (countedShare(inner, outer, counts, loop, workers) ?? shareOf(inner, along, loop, workers))
  const ns = loop.iterationNs(run) + pieceNs(inner, along, loop) + copyNs(schedule, loop)
  const blocksNs = (blocks * (CUT_ORDERS[inner.kind] === 'free' ? CLAIM_NS : RELEASE_NS)) / workers
  const stepsNs = outer > 0 && !isOne ? steps * STEP_END_NS : 0
  return { milliseconds: (iterations * ns * share + blocksNs + stepsNs) / 1e6, blocks, run, share }
}

/** The lower bound of all schedules: all work in long runs, evenly shared. */
export function leastMs(loop: CostedLoop): number {
  return (loop.iterations * loop.iterationNs(fullRun(loop))) / NOMINAL_WORKERS / 1e6
}

function fullRun({ extents }: CostedLoop): number {
  return Math.max(1, extents[extents.length - 1] ?? 1)
}

/** The length of runs inside a block: the indices that the last axis has there. */
function runOf(schedule: InnerSchedule, counts: readonly number[], loop: CostedLoop, outer: number): number {
  const { extents } = loop
  // blocks are ranges of positions; for one axis a block is one run
  if (schedule.kind === 'independent') return Math.max(1, Math.min(fullRun(loop), productOf(extents.slice(outer)) / (counts[0] ?? 1)))
  const last = extents.length - 1
  return Math.min(...cutFormsOf(schedule, extents.length).map((form, i) => bandWidth(form, last, counts[i] ?? 1, loop)))
}

/** The cost per iteration of beginning boxes: slanted blocks of a box consist of one for each index of the axes before the last slanted one. */
function pieceNs(schedule: InnerSchedule, counts: readonly number[], loop: CostedLoop): number {
  if (!loop.isBox) return 0
  const forms = cutAxesOf(schedule) === undefined ? cutFormsOf(schedule, loop.extents.length) : []
  const last = Math.max(-1, ...forms.map((form) => form.findLastIndex((coefficient) => coefficient !== 0)))
  if (last < 0) return 0
  const size = Math.min(...forms.map((form, i) => bandWidth(form, last, counts[i] ?? 1, loop)))
  const slanted = loop.extents.filter((_, axis) => forms.some((form) => (form[axis] ?? 0) !== 0)).length
  return (slanted > 2 ? DEEP_PIECE_NS : PIECE_NS) / (size * productOf(loop.extents.slice(last + 1)))
}

/** The number of indices of an axis inside a band of a form. */
function bandWidth(form: readonly number[], axis: number, count: number, { extents }: CostedLoop): number {
  const coefficient = Math.abs(form[axis] ?? 0)
  const full = Math.max(1, extents[axis] ?? 1)
  if (coefficient === 0) return full
  const [low, high] = rangeAlong(form, extents)
  return Math.max(1, Math.min(full, (high - low) / count / coefficient))
}

/** The schedule by which the blocks inside a step are cut. */
function innerOf(schedule: Parallel, { isBox, extents }: CostedLoop): InnerSchedule {
  if (schedule.kind !== 'stepped') return schedule
  return isBox ? schedule.inner : bySubscript(schedule.inner, schedule.outer, extents)
}

/** The counts with no more blocks along the only cut than it has indices. */
function atMost(counts: readonly number[], most: number): readonly number[] {
  return counts.map((count, at) => (at === counts.length - 1 ? Math.min(count, most) : count))
}

/** The share counted by the elements in each block; undefined where they are not known, or blocks are runs of positions. */
function countedShare(
  inner: InnerSchedule,
  outer: number,
  counts: readonly number[],
  loop: CostedLoop,
  workers: number,
): number | undefined {
  const { sample, extents, balance = 'histogram' } = loop
  if (sample === undefined || inner.kind === 'independent') return undefined
  return loadShare({ inner, outer, counts }, { sample, extents, balance }, workers)
}

/** The fraction of all iterations on the critical path, for equal blocks. */
function shareOf(schedule: InnerSchedule, counts: readonly number[], loop: CostedLoop, workers: number): number {
  const [rows = 1, columns = 1] = counts
  switch (CUT_ORDERS[schedule.kind]) {
    case 'free':
      return Math.ceil(rows / workers) / rows
    case 'lines':
      return Math.max(1 / Math.min(rows, columns), 1 / workers)
    case 'forward': {
      // bands of a skewed space reach beyond it, so that whole blocks are larger than the mean
      const fill = fillOf(cutFormsOf(schedule, loop.extents.length), loop)
      let longest = 0
      for (let front = 0; front < rows + columns - 1; front++) {
        const together = Math.min(front + 1, rows, columns, rows + columns - 1 - front)
        longest += Math.max(1 / fill, together / workers)
      }
      return Math.min(1, longest / (rows * columns))
    }
  }
}

/** The fraction of a skewed grid that the iterations fill. */
function fillOf(forms: readonly (readonly number[])[], { extents }: CostedLoop): number {
  const cut = [...new Set(forms.flatMap((form) => form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [axis]))))]
  const points = productOf(cut.map((axis) => extents[axis] ?? 1))
  const cells = productOf(
    forms.map((form) => {
      const [low, high] = rangeAlong(form, extents)
      return Math.max(1, high - low)
    }),
  )
  return Math.min(1, Math.max(1e-3, points / cells))
}

/** The cost per element of copying elements into the order of their blocks, where that is not key order. */
function copyNs(schedule: Parallel, { isBox }: CostedLoop): number {
  if (isBox || schedule.kind === 'independent' || (schedule.kind === '1d' && 'axis' in schedule && schedule.axis === 0)) return 0
  return COPY_NS / PASSES_OF_A_COPY
}

function productOf(numbers: readonly number[]): number {
  return numbers.reduce((product, number) => product * number, 1)
}
