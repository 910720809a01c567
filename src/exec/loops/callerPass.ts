/** A pass on the caller's thread: the same blocks with the same kernel, letting others have their turn between slices. */

import type { BoundLoop } from './bindLoop.ts'
import { firstOf } from './blocks/claimedBlocks.ts'
import type { BlockGate } from './claims/blockGate.ts'
import type { BlockRun } from './claims/blockRun.ts'
import { claimBlock, createClaimer, finishBlock, isAborted, leaveBlocks } from './claims/claim.ts'
import { startPass } from './claims/runBlocks.ts'
import type { LoopTask, LoopTaskResult, PassTurn } from './loopTask.ts'
import { otherTurn, TURN_MS } from './preparedLoop.ts'
import { keptPartOf, partOf } from './reductions/accumulatorLog.ts'
import { endRound, flushDue, type Lanes } from './reductions/reductionCopies.ts'

/** A worker's result, or this thread's, with the error itself; `rank` of one of another process. */
export type ShareResult = LoopTaskResult & { readonly thrown?: unknown; readonly rank?: number }

export interface CallerPass {
  /** Of a pass that this thread runs alone, its schedule may have blocks of its own. */
  readonly task: LoopTask
  readonly bound: BoundLoop
  readonly turn: Omit<PassTurn, 'share' | 'shares'>
  readonly lanes: readonly Lanes[]
  /** Iterations between places where lanes may flush. */
  readonly flushEvery: number
  /** Blocks to run: from the first up to the second. */
  readonly range: readonly [number, number]
  /** Whether others do what is left; undefined where there are no others. */
  readonly isEnough?: () => boolean
  /** Where blocks wait for those of other processes. */
  readonly gate?: BlockGate | undefined
}

export async function runOnCaller({ task, bound, turn, lanes, flushEvery, range, isEnough, gate }: CallerPass): Promise<ShareResult> {
  const blocks = isEnough === undefined ? blocksInOrder(task, range, gate?.order) : blocksUntil(isEnough, task)
  const run = startPass(task, { ...turn, share: 0, shares: 1 }, bound, flushEvery)
  const started = performance.now()
  let turnStarted = started
  for (let block = blocks.next(); block >= 0; block = blocks.next()) {
    if (gate !== undefined) {
      await gate.ready(block)
      run.forgetClock()
      turnStarted = performance.now()
    }
    run.start(block)
    while (run.step()) {
      if (Number.isFinite(flushEvery) && run.place % flushEvery === 0) {
        flushDue(lanes, run.place)
        if (run.place < task.schedule.iterations) endRound(lanes)
      }
      if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
    }
    blocks.finish()
    gate?.finished(block)
    if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
  }
  gate?.end()
  const milliseconds = performance.now() - started
  const { failure } = run
  const isRound = task.schedule.rounds !== undefined
  const accumulators = failure === undefined ? bound.logs.map((log) => (isRound ? keptPartOf(log) : partOf(log))) : []
  const passes = [{ accumulators, milliseconds, busyMs: milliseconds - (gate?.waitedMs ?? 0) }]
  return failure === undefined ? { passes } : { passes, failure: { ...failure, error: { name: '', message: '' } }, thrown: failure.error }
}

/** Which blocks to run: -1 after the last. */
interface Blocks {
  next(): number
  /** The block that was last begun is done. */
  finish(): void
}

/** All of them, one after another: in plan order, as in any that is given, every block comes after those that it waits for. */
function blocksInOrder({ claims }: LoopTask, [from, to]: readonly [number, number], order: Int32Array | undefined): Blocks {
  let at = from - 1
  return {
    next: () => (++at < to && !isAborted(claims) ? (order?.[at] ?? at) : -1),
    finish: () => {},
  }
}

/** Those that are ready, until others do what is left. */
function blocksUntil(isEnough: () => boolean, { claims, claimed }: LoopTask): Blocks {
  const claimer = createClaimer(0)
  let group = -1
  let block = -1
  return {
    next: () => {
      if (group >= 0 && block + 1 < firstOf(claimed, group + 1)) return ++block
      group = isEnough() ? -1 : claimBlock(claims, claimer)
      if (group < 0) leaveBlocks(claims, claimed, claimer)
      block = group < 0 ? -1 : firstOf(claimed, group)
      return block
    },
    finish: () => {
      if (block + 1 === firstOf(claimed, group + 1)) finishBlock(claims, claimed, group, claimer)
    },
  }
}

/** Lets others have their turn; when the next of the run's begins. */
async function nextTurn(run: BlockRun): Promise<number> {
  await otherTurn()
  run.forgetClock()
  return performance.now()
}
