/** A pass on the caller's thread: the same blocks with the same kernel, yielding to the event loop between slices. */

import type { BoundLoop } from './bindLoop.ts'
import { firstOf } from './blocks/claimedBlocks.ts'
import type { BlockGate } from './claims/blockGate.ts'
import type { BlockRun } from './claims/blockRun.ts'
import { claimBlock, createClaimer, finishBlock, isAborted, leaveBlocks } from './claims/claim.ts'
import { startPass } from './claims/runBlocks.ts'
import type { LoopTask, LoopTaskResult, PassTurn } from './loopTask.ts'
import { otherTurn, TURN_MS, turnBegan } from './preparedLoop.ts'
import { keptPartOf, partOf } from './reductions/accumulatorLog.ts'
import { endRound, flushDue, type Lanes } from './reductions/reductionCopies.ts'

/** The result of one share of a pass. `thrown` is the error itself, of this thread's share; `rank` the process of another's. */
export type ShareResult = LoopTaskResult & { readonly thrown?: unknown; readonly rank?: number }

export interface CallerPass {
  /** The task; its schedule is that of `aloneBlocks` where this thread runs the whole pass. */
  readonly task: LoopTask
  readonly bound: BoundLoop
  readonly turn: Omit<PassTurn, 'share' | 'shares'>
  readonly lanes: readonly Lanes[]
  /** Iterations between places where buffers may be flushed in serial order; Infinity where they are not. */
  readonly flushEvery: number
  /** The blocks to run, from the first number up to the second. */
  readonly range: readonly [number, number]
  /** Whether the workers can take over what is left; undefined where this thread runs all blocks. */
  readonly isEnough?: () => boolean
  /** The order of the blocks, of which the range are all; undefined for plan order. */
  readonly order?: Int32Array | undefined
  /** The gate at which blocks wait for those of other processes; undefined where none does. */
  readonly gate?: BlockGate | undefined
}

export async function runOnCaller({
  task,
  bound,
  turn,
  lanes,
  flushEvery,
  range,
  isEnough,
  order,
  gate,
}: CallerPass): Promise<ShareResult> {
  const blocks = isEnough === undefined ? blocksInOrder(task, range, order) : blocksUntil(isEnough, task)
  const run = startPass(task, { ...turn, share: 0, shares: 1 }, bound, flushEvery)
  const started = performance.now()
  let turnStarted = turnBegan(started)
  for (let block = blocks.next(); block >= 0; block = blocks.next()) {
    if (gate?.isReady(block) === false) {
      await gate.ready(block)
      run.forgetClock()
      turnStarted = turnBegan(performance.now())
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

/** The numbers of the blocks to run, one after another; `next` returns -1 after the last. */
interface Blocks {
  next(): number
  /** Notes that the block last returned by `next` is done. */
  finish(): void
}

/** Returns all blocks of the range: in plan order, as in a given `order`, every block comes after those that it waits for. */
function blocksInOrder({ claims }: LoopTask, [from, to]: readonly [number, number], order: Int32Array | undefined): Blocks {
  let at = from - 1
  return {
    next: () => (++at < to && !isAborted(claims) ? (order?.[at] ?? at) : -1),
    finish: () => {},
  }
}

/** Claims ready blocks until `isEnough`; then the workers do what is left. */
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

/** Yields to the event loop; returns the time at which the run goes on. */
async function nextTurn(run: BlockRun): Promise<number> {
  await otherTurn()
  run.forgetClock()
  return turnBegan(performance.now())
}
