/**
 * Predicts the time of a pass, on one thread or on several, and where it should run: the runtime part of the cost model.
 *
 *     predicted = alone x share + claims + waking          share   the part of a pass that its busiest worker has
 *
 * The share follows from the blocks. Blocks that wait for equally many others before them, a *step*, run together: of a
 * step, no worker has less than its largest block, nor all of them together less than the whole.
 *
 *     2d, 3 x 3           steps of 3 blocks     2 workers: 1.5 blocks each step, 4.5 of 9
 *     wavefront, 3 x 3    1, 2, 3, 2, 1         2 workers: 1 + 1 + 1.5 + 1 + 1 of 9
 *
 * Times are estimated from the body until a pass was measured. They decide where passes run, never what they compute.
 */
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { BlockSchedule } from './blocks/schedule.ts'

/** Time to have workers begin and to hear that they are done, and time to claim a block: `bench/overhead.bench.ts`. */
const WAKE_MS = 0.1
const CLAIM_MS = 0.0004
/** Time of the barrier at the end of each step, where outer axes run in order. */
const STEP_END_MS = 0.005

/** Least time of a pass for workers: a shorter one is over before threads have started, or before running ones have woken. */
const WORTH_STARTING_MS = 4
const WORTH_WAKING_MS = 1
/** Time for threads to start. Passes that took as long on the caller's thread will most likely be followed by as many again. */
const STARTING_MS = 40
/** As many passes on workers that are no faster bring the loop back to the caller's thread; one may have been held up. */
const MOST_LOST = 2
/** Longest hold-up by the engine's garbage collection or compilation; a pass that took longer was not only held up. */
const LONGEST_HOLDUP_MS = 25
/** A pass on several workers should take less than this part of what it takes alone. */
const WORTH_PART = 0.8

/** The part of a pass's work that its busiest worker has, summed over the steps; 1 for one worker. */
export function busiestShare(blocks: BlockSchedule, workers: number): number {
  const { from, to } = blocks
  const inOne = blocks.steps?.blocks ?? blocks.count
  if (workers === 1 || blocks.iterations === 0) return 1
  const step = stepsWithin(blocks, inOne)
  let [longest, all] = [0, 0]
  // where a schedule runs its outer axes in order, each of their indices has steps of its own
  for (let first = 0; first < from.length; first += inOne) {
    const largest: number[] = []
    const total: number[] = []
    for (let block = 0; block < inOne; block++) {
      const size = (to[first + block] as number) - (from[first + block] as number)
      const at = step[block] as number
      largest[at] = Math.max(largest[at] ?? 0, size)
      total[at] = (total[at] ?? 0) + size
      all += size
    }
    for (const [at, size] of total.entries()) longest += Math.max(largest[at] ?? 0, size / workers)
  }
  return Math.min(1, longest / all)
}

/** The step of each block: one after the latest of those it waits for, which come before it in plan order. */
function stepsWithin({ successorStart, successors }: BlockSchedule, count: number): Int32Array {
  const step = new Int32Array(count)
  for (let block = 0; block < count; block++) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      step[next] = Math.max(step[next] as number, (step[block] as number) + 1)
    }
  }
  return step
}

/** Milliseconds of a pass that takes `aloneMs` on one thread. */
export function predictedMs(aloneMs: number, blocks: BlockSchedule, workers: number): number {
  if (workers === 1) return aloneMs
  const ends = blocks.steps === undefined ? 0 : blocks.count / blocks.steps.blocks - 1
  return aloneMs * busiestShare(blocks, workers) + (blocks.count / workers) * CLAIM_MS + ends * STEP_END_MS + wakingMs(blocks, workers)
}

/** The time of a pass for having workers begin, and for hearing that they are done. */
export function wakingMs({ rounds }: BlockSchedule, workers: number): number {
  return workers === 1 ? 0 : ((rounds?.length ?? 2) - 1) * WAKE_MS
}

/** The busiest worker's time on blocks as a multiple of the mean; 1 is perfect. */
export function balanceOf(busyMs: readonly number[]): number {
  const mean = busyMs.reduce((sum, ms) => sum + ms, 0) / busyMs.length
  return mean > 0 ? Math.max(...busyMs) / mean : 1
}

/** A pass that was measured. */
export interface MeasuredPass {
  /** The work of all workers together, and how long the pass took where it ran. */
  readonly aloneMs: number
  readonly milliseconds: number
  readonly where: 'workers' | 'caller'
}

/** The last pass, with what the passes before it tell. */
export interface LastPass extends MeasuredPass {
  /** The work of the pass before it, as on one thread. */
  readonly beforeMs?: number | undefined
  /** The time of the passes on the caller's thread since the loop began, or since workers were last at it. */
  readonly spentMs?: number
  /** The time of the last pass that ran on the caller's thread. */
  readonly callerMs?: number | undefined
  /** How many passes on workers took as long as that one, one after another; passes on the caller's thread leave it as it is. */
  readonly lost?: number
}

/** What is known after a pass. */
export function afterPass(before: LastPass | undefined, pass: MeasuredPass): LastPass {
  const { callerMs, spentMs = 0, lost = 0 } = before ?? {}
  const beforeMs = before?.aloneMs
  if (pass.where === 'caller') return { ...pass, beforeMs, spentMs: spentMs + pass.milliseconds, callerMs: pass.milliseconds, lost }
  return { ...pass, beforeMs, spentMs: 0, callerMs, lost: pass.milliseconds < (callerMs ?? pass.aloneMs) ? 0 : lost + 1 }
}

/** The facts by which `chooseWhere` decides: the loop's blocks, its workers, and the times of passes. */
export interface PassTimes {
  readonly blocks: BlockSchedule
  /** The workers that a pass has: those of the pool, but no more than blocks can run at the same time. */
  readonly workers: number
  /** Whether the workers' threads run. */
  readonly isWarm: boolean
  /** The time of a pass on one thread, as estimated from the body. */
  readonly estimatedMs: number
  /** The last pass, and what is known from those before it. */
  readonly last?: LastPass
  /** The estimate from which a first pass runs on workers, where it is not the usual; 0 asks for workers in every pass. */
  readonly worthThreadsMs?: number | undefined
}

/** Where the next pass should run; `current` stays where nothing is to be gained. */
export function chooseWhere(times: PassTimes, current: LoopPlan['execution'] | undefined): LoopPlan['execution'] {
  const { blocks, workers, last, estimatedMs } = times
  if (times.worthThreadsMs === 0) return { where: 'workers', because: 'It was asked for.' }
  const isReady = (times.isWarm && (last?.lost ?? 0) < MOST_LOST) || (last?.spentMs ?? 0) > STARTING_MS
  const worthMs = isReady ? WORTH_WAKING_MS : WORTH_STARTING_MS
  const isWorth = (aloneMs: number, leastMs: number): boolean =>
    aloneMs > leastMs && predictedMs(aloneMs, blocks, workers) < WORTH_PART * aloneMs
  if (last === undefined || current === undefined) {
    return isWorth(estimatedMs, times.worthThreadsMs ?? worthMs)
      ? { where: 'workers', because: `A pass takes ${aboutMs(estimatedMs)} on one thread.` }
      : {
          where: 'caller',
          because: `A pass of ${blocks.iterations} iterations takes ${aboutMs(estimatedMs)}, not worth ${times.isWarm ? 'waking' : 'starting'} threads.`,
        }
  }
  if (last.where === 'caller') {
    const isHeldUp = last.aloneMs < LONGEST_HOLDUP_MS && !isWorth(last.beforeMs ?? estimatedMs, worthMs)
    return !isHeldUp && isWorth(last.aloneMs, worthMs)
      ? { where: 'workers', because: `A pass took ${msText(last.aloneMs)} on one thread.` }
      : current
  }
  return (last.lost ?? 0) < MOST_LOST || last.aloneMs > WORTH_STARTING_MS
    ? current
    : {
        where: 'caller',
        because: `A pass took ${msText(last.milliseconds)} on ${workers} workers, ${last.callerMs === undefined ? `which did ${msText(last.aloneMs)} of work` : `and ${msText(last.callerMs)} on one thread`}.`,
      }
}

function aboutMs(milliseconds: number): string {
  return milliseconds < 1 ? 'less than a millisecond' : `about ${msText(milliseconds)}`
}

function msText(milliseconds: number): string {
  return milliseconds < 1 ? 'a fraction of a millisecond' : `${Math.round(milliseconds)} ms`
}
