/**
 * The worker's side of a pass: bind the kernel once, claim blocks, run them in slices, note what accumulators got and
 * where an iteration failed.
 *
 * After a failure only iterations that precede it in the serial order are run: what they need precedes them, so the
 * smallest failing rank is found whatever the schedule, and that is the error the serial program meets first.
 */

import type { Arena } from '../../memory/arena.ts'
import type { TaskHandler } from '../../workers/worker.ts'
import { type BoundLoop, bindLoop } from '../bindLoop.ts'
import { firstOf } from '../blocks/claimedBlocks.ts'
import { errorToWire } from '../failure.ts'
import type { LoopMessage, LoopTask, LoopTaskResult, PassTurn, SharePass } from '../loopTask.ts'
import { partOf, resetLog } from '../reductions/accumulatorLog.ts'
import { BlockRun } from './blockRun.ts'
import { abortPass, awaitOthers, type Claimer, claimBlock, createClaimer, createPatience, finishBlock, tellDone } from './claim.ts'

/** Readies a bound kernel for a pass; `stopEvery` as `BlockRun` takes it. */
export function startPass(task: LoopTask, turn: PassTurn, bound: BoundLoop, stopEvery?: number): BlockRun {
  for (const log of bound.logs) resetLog(log)
  bound.useShare?.(turn.share)
  bound.copies?.takeIn()
  for (const rng of bound.rngs) rng.startPass(turn.pass)
  for (const view of bound.keyed.values()) view.overlay.clear()
  return new BlockRun(task, turn, bound, stopEvery)
}

/** Claims and runs blocks until none is left: one worker's share of a pass. */
export function runShare(
  { claims, claimed }: Pick<LoopTask, 'claims' | 'claimed'>,
  run: Pick<BlockRun, 'start' | 'step' | 'forgetClock'>,
  claimer: Claimer,
  measures: boolean,
): Pick<SharePass, 'milliseconds' | 'busyMs'> {
  const started = performance.now()
  try {
    for (let idleMs = 0, one = claimBlock(claims, claimer); one >= 0; one = claimBlock(claims, claimer)) {
      if (claimer.idleMs !== idleMs) run.forgetClock()
      idleMs = claimer.idleMs
      const begun = measures ? performance.now() : 0
      for (let block = firstOf(claimed, one); block < firstOf(claimed, one + 1); block++) {
        run.start(block)
        while (run.step());
      }
      if (measures) claims.took[one] = performance.now() - begun
      if (claims.outbox !== undefined) tellDone(claims.outbox, one)
      finishBlock(claims, claimed, one, claimer)
    }
  } catch (error) {
    abortPass(claims) // the others must not wait for blocks that nobody runs
    throw error
  }
  const milliseconds = performance.now() - started
  return { milliseconds, busyMs: milliseconds - claimer.idleMs }
}

/** Passes one after another, without a word to the driver in between. */
function runPasses(task: LoopTask, turn: PassTurn, bound: BoundLoop, arena: Arena): LoopTaskResult {
  const passes: SharePass[] = []
  const patience = createPatience()
  for (let i = 0; i < turn.passes; i++) {
    if (i > 0 && !awaitOthers(task.claims, turn.shares, patience)) break
    const run = startPass(task, { ...turn, pass: turn.pass + i }, bound)
    const times = runShare(task, run, createClaimer(turn.share, patience), turn.measures)
    const { failure } = run
    passes.push({ ...times, accumulators: failure === undefined ? bound.logs.map((log) => partOf(log, arena)) : [] })
    if (failure !== undefined) return leaveFailed(task, turn, { passes, failure: { ...failure, error: errorToWire(failure.error) } }, i)
  }
  return { passes }
}

/** Returns the result after the other workers are through with the pass, so that the words tell them that none follows. */
function leaveFailed({ claims }: LoopTask, { passes, shares }: PassTurn, result: LoopTaskResult, pass: number): LoopTaskResult {
  if (pass + 1 < passes) awaitOthers(claims, shares, createPatience())
  return result
}

/** Kernels a worker keeps bound. */
const KEPT_KERNELS = 32

interface KnownLoop {
  readonly task: LoopTask
  readonly bound: BoundLoop
}

/** The handler of `loop` tasks. */
export const runLoopTask: TaskHandler = (payload, { cache, abortFlag, arena }) => {
  const { id, turn, loop } = payload as LoopMessage // sent by workerPasses.ts
  const key = `loop ${id}`
  const known = (cache.get(key) as KnownLoop | undefined) ?? learn(loop, abortFlag, arena)
  if (known === undefined) return undefined
  cache.delete(key)
  cache.set(key, known)
  if (loop !== undefined) {
    const kernels = [...cache.keys()].filter((name) => name.startsWith('loop '))
    for (const old of kernels.slice(0, Math.max(0, kernels.length - KEPT_KERNELS))) cache.delete(old)
  }
  return runPasses(known.task, turn, known.bound, arena)
}

function learn(loop: LoopTask | undefined, abortFlag: Int32Array, arena: Arena): KnownLoop | undefined {
  if (loop === undefined) return undefined
  return { task: { ...loop, claims: { ...loop.claims, abortFlag } }, bound: bindLoop(loop, arena) }
}
