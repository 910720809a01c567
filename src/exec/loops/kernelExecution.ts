/**
 * Decides where the passes of a compiled loop run, and why: on the caller's thread where something keeps them there, else
 * wherever a pass is expected to be over sooner (`passCost.ts`).
 */

import { endlessLoop } from '../../core/ir/mayNotEnd.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import { type CompiledLoop, serialFlushes, stepsOf, widthOf } from './blocks/kernelBlocks.ts'
import type { BlockSchedule } from './blocks/schedule.ts'
import { isWarm } from './claims/warmUp.ts'
import { estimatedPassMs } from './estimate.ts'
import { type KernelPlan, whyCallerOnly } from './kernelPlan.ts'
import { chooseWhere, type LastPass } from './passCost.ts'
import type { LoopResources } from './preparedLoop.ts'
import { addedInOrder } from './reductions/reductionCopyCount.ts'

/** Least time of a step worth sharing, as estimated and as measured: a shorter one costs less than the barrier at its end. */
const WORTH_STEP_MS = 0.015
const MEASURED_WORTH_STEP_MS = 0.01

/** Least time of a round worth sharing: a shorter one is over before the workers have begun it. */
const WORTH_ROUND_MS = 0.2

/** A compiled loop with its blocks and its kernel. */
export interface CutLoop extends CompiledLoop {
  readonly blocks: BlockSchedule
  /** The kernel; undefined where JavaScript was asked for. */
  readonly wasm: KernelPlan['wasm'] | undefined
  /** Why the inspector's finding is not used; undefined where it is, or where there is none. */
  readonly notWorth?: string | undefined
}

/** The reason that keeps the loop on the caller's thread, whatever its passes take; undefined if there is none. */
export function whyOnCaller(loop: CutLoop, { pool }: LoopResources): string | undefined {
  const { inputs, ir, blocks } = loop
  if (pool.size === 1) return 'The session has one worker.'
  const reason = whyCallerOnly(inputs, ir)
  if (reason !== undefined) return `${reason[0]?.toUpperCase()}${reason.slice(1)}.`
  const flushes = serialFlushes(loop)
  if (flushes !== undefined) return flushes.text
  for (const buffer of inputs.buffers.values()) {
    if (buffer.combine !== 'sum' && buffer.combine.portable === undefined)
      return `The combine function of ${buffer.label} cannot be sent to a worker.`
  }
  // a body that may not end runs on a worker, even if only one has blocks to run: there it can be ended
  if (endlessLoop(ir) !== undefined) return undefined
  if (loop.notWorth !== undefined) return loop.notWorth
  if (blocks.kind === 'stepped' && blocks.count < 2) return whyNoSteps(loop)
  if (blocks.count > 1 && roundsOfBlocks(blocks) > 1 && widthOf(blocks) < 2) return whyNoRounds(blocks)
  if (blocks.count < 2 || widthOf(blocks) < 2)
    return addedInOrder(inputs, ir, loop.space) ?? `The ${blocks.kind} schedule of this loop leaves nothing to run at the same time.`
  return undefined
}

/** Where the next pass of a loop that nothing keeps on the caller's thread should run; `current` stays where nothing is to be gained. */
export function chooseExecution(
  loop: CutLoop,
  { pool, worthThreadsMs }: LoopResources,
  { last, current }: { readonly last?: LastPass; readonly current?: LoopPlan['execution'] | undefined },
): LoopPlan['execution'] {
  const { blocks } = loop
  const endless = endlessLoop(loop.ir)
  if (endless !== undefined) {
    const because = `No bound is known of an inner loop, in line ${endless.span.line} of the body: on a worker it can be ended.`
    return { where: 'workers', because }
  }
  const times = { blocks, workers: workersOf(blocks, pool.size), isWarm: isWarm(pool), estimatedMs: estimatedMs(loop), worthThreadsMs }
  if (worthThreadsMs !== 0 && blocks.kind === 'stepped') {
    const steps = stepsOf(loop)
    const isShort = last === undefined ? times.estimatedMs < WORTH_STEP_MS * steps : last.aloneMs <= MEASURED_WORTH_STEP_MS * steps
    if (isShort && last?.where !== 'workers') return { where: 'caller', because: whyNoSteps(loop) }
  }
  const rounds = roundsOfBlocks(blocks)
  if (worthThreadsMs !== 0 && rounds > 1 && (last?.aloneMs ?? times.estimatedMs) < WORTH_ROUND_MS * rounds)
    return { where: 'caller', because: whyNoRounds(blocks) }
  return chooseWhere(last === undefined ? times : { ...times, last }, current)
}

/** The workers that a pass has: those of the pool, but no more than blocks can run at the same time. */
export function workersOf(blocks: BlockSchedule, workers: number): number {
  return Math.min(workers, widthOf(blocks))
}

const estimates = new WeakMap<CutLoop, number>()

/** The time of a pass on one thread, as estimated from the body. */
export function estimatedMs(loop: CutLoop): number {
  const { inputs, ir, space, blocks, wasm } = loop
  const known = estimates.get(loop)
  const ms = known ?? estimatedPassMs({ inputs, ir, space, wasm, isPermuted: blocks.order !== undefined }, blocks.iterations)
  estimates.set(loop, ms)
  return ms
}

/** Says why a step is not worth cutting: the barrier at its end would cost more than is gained. */
function whyNoSteps(loop: CutLoop): string {
  const steps = stepsOf(loop)
  const step = `A step of ${Math.ceil(loop.blocks.iterations / steps)} iterations`
  return `${step} is less than workers waiting for one another after each of ${steps} steps is worth.`
}

function roundsOfBlocks({ rounds }: BlockSchedule): number {
  return rounds === undefined ? 1 : rounds.length - 1
}

/** Says why a round is not worth sharing. */
function whyNoRounds(blocks: BlockSchedule): string {
  const round = `A round of ${Math.ceil(blocks.iterations / roundsOfBlocks(blocks))} iterations between two flushes`
  return `${round} is less than waking the workers is worth.`
}
