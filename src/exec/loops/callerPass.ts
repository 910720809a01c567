/** A pass on the caller's thread: the same blocks with the same kernel, letting others have their turn between slices. */
import { partOf } from './accumulatorLog.ts'
import type { BoundLoop } from './bindLoop.ts'
import type { BlockRun } from './blockRun.ts'
import { claimBlock, createClaimer, finishBlock, leaveBlocks } from './claim.ts'
import { flushDue, type Lanes } from './lanes.ts'
import type { LoopTask, LoopTaskResult, PassTurn } from './loopTask.ts'
import { otherTurn, TURN_MS } from './preparedLoop.ts'
import { startPass } from './runBlocks.ts'

/** A worker's result, or this thread's, with the error itself. */
export type ShareResult = LoopTaskResult & { readonly thrown?: unknown }

export interface CallerPass {
  readonly task: LoopTask
  readonly bound: BoundLoop
  readonly turn: Omit<PassTurn, 'share' | 'shares'>
  readonly lanes: readonly Lanes[]
  /** Iterations between places where lanes may flush. */
  readonly flushEvery: number
  /** Whether others do what is left. */
  readonly isEnough?: () => boolean
}

export async function runOnCaller({ task, bound, turn, lanes, flushEvery, isEnough }: CallerPass): Promise<ShareResult> {
  const { claims, schedule } = task
  const run = startPass(task, { ...turn, share: 0, shares: 1 }, bound, flushEvery)
  const claimer = createClaimer(0)
  const started = performance.now()
  let turnStarted = started
  while (isEnough?.() !== true) {
    const block = claimBlock(claims, claimer)
    if (block < 0) break
    run.start(block)
    while (run.step()) {
      if (Number.isFinite(flushEvery) && run.place % flushEvery === 0) flushDue(lanes, run.place)
      if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
    }
    finishBlock(claims, schedule, block, claimer)
    if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
  }
  leaveBlocks(claims, schedule, claimer)
  const milliseconds = performance.now() - started
  const { failure } = run
  const accumulators = failure === undefined ? bound.logs.map((log) => partOf(log)) : []
  const passes = [{ accumulators, milliseconds, busyMs: milliseconds }]
  return failure === undefined ? { passes } : { passes, failure: { ...failure, error: { name: '', message: '' } }, thrown: failure.error }
}

/** Lets others have their turn; when the next of the run's begins. */
async function nextTurn(run: BlockRun): Promise<number> {
  await otherTurn()
  run.forgetClock()
  return performance.now()
}
