/**
 * The worker's side of a pass: bind the kernel once, claim blocks, run them in slices, note what accumulators got and
 * where an iteration failed.
 *
 * After a failure only iterations that precede it in the serial order are run: what they need precedes them, so the
 * smallest failing rank is found whatever the schedule, and that is the error the serial program meets first.
 */

import type { Arena } from '../memory/arena.ts'
import type { TaskHandler } from '../workers/worker.ts'
import { partOf, resetLog } from './accumulatorLog.ts'
import { type BoundLoop, bindLoop } from './bindLoop.ts'
import { BlockRun } from './blockRun.ts'
import { abortPass, claimBlock, createClaimer, finishBlock } from './claim.ts'
import { errorToWire } from './failure.ts'
import type { LoopTask, LoopTaskResult } from './loopTask.ts'

/** Readies a bound kernel for a pass; `stopEvery` as `BlockRun` takes it. */
export function startPass(task: LoopTask, bound: BoundLoop, stopEvery?: number): BlockRun {
  for (const log of bound.logs) resetLog(log)
  bound.useShare?.(task.share)
  for (const rng of bound.rngs) rng.startPass(task.pass)
  for (const view of bound.keyed.values()) view.overlay.clear()
  return new BlockRun(task, bound, stopEvery)
}

/** Claims and runs blocks until none is left: one worker's share of a pass. */
export function runShare(task: LoopTask, run: BlockRun): void {
  const { claims, schedule } = task
  const claimer = createClaimer(task.share)
  try {
    for (let idleMs = 0, block = claimBlock(claims, claimer); block >= 0; block = claimBlock(claims, claimer)) {
      if (claimer.idleMs !== idleMs) run.forgetClock()
      idleMs = claimer.idleMs
      run.start(block)
      while (run.step());
      finishBlock(claims, schedule, block)
    }
  } catch (error) {
    abortPass(claims) // the others must not wait for blocks that nobody runs
    throw error
  }
}

export function resultOf({ bound, failure }: BlockRun, arena: Arena): LoopTaskResult {
  if (failure === undefined) return { accumulators: bound.logs.map((log) => partOf(log, arena)) }
  return { accumulators: [], failure: { ...failure, error: errorToWire(failure.error) } }
}

/** Kernels a worker keeps bound. */
const KEPT_KERNELS = 32

/** The handler of `loop` tasks. */
export const runLoopTask: TaskHandler = (payload, { cache, abortFlag, arena }) => {
  const sent = payload as LoopTask // sent by kernelLoop.ts
  const task = { ...sent, claims: { ...sent.claims, abortFlag } }
  const key = `loop ${task.id}`
  const bound = (cache.get(key) as BoundLoop | undefined) ?? bindLoop(task, arena)
  cache.delete(key)
  cache.set(key, bound)
  const kernels = [...cache.keys()].filter((name) => name.startsWith('loop '))
  for (const old of kernels.slice(0, Math.max(0, kernels.length - KEPT_KERNELS))) cache.delete(old)
  const run = startPass(task, bound)
  runShare(task, run)
  return resultOf(run, arena)
}
