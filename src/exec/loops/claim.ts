/**
 * Claiming blocks: workers find ready blocks themselves, through a few words in shared memory.
 *
 * A block is ready when all blocks it waits for are done. Who claims it does not matter to the result: blocks fix
 * the bits, not workers. A worker that finds nothing ready spins a little, then sleeps until a block is finished.
 */
import type { BlockSchedule } from './blockSchedule.ts'

/** Shared words of one pass. */
export interface ClaimState {
  readonly words: Int32Array
  /** The smallest rank that failed; NO_FAILURE while none did. */
  readonly failure: BigInt64Array
  /** The pool's word that tells this worker to stop; see `WorkerContext`. */
  readonly abortFlag?: Int32Array
}

export const NO_FAILURE: bigint = 2n ** 62n

// words
const ABORT = 0
const WAKE = 1
/** All blocks before this one are claimed. */
const NEXT = 2
const HEAD = 4

const SPINS = 1000
/** Sleepers look again after this long, should a wake-up be lost with its worker. */
const SLEEP_MS = 50

export function claimWords(blocks: number): number {
  return HEAD + 2 * blocks
}

/** Readies the state for another pass. */
export function resetClaims(state: ClaimState, schedule: BlockSchedule): void {
  state.words.fill(0)
  state.words.set(schedule.waitsFor, HEAD)
  state.failure[0] = NO_FAILURE
}

/** Who claims: worker number `worker` of `workers`. */
export interface Claimer {
  readonly worker: number
  readonly workers: number
}

export const ALONE: Claimer = { worker: 0, workers: 1 }

/**
 * A ready block, now the caller's own; -1 when no block is left to start or the pass is aborted. Blocks of the worker's
 * own share of the lanes come first, so that what they touch stays in its cache; then anybody's.
 */
export function claimBlock(state: ClaimState, schedule: BlockSchedule, claimer: Claimer = ALONE): number {
  const { words } = state
  const { count, lanes, laneCount } = schedule
  for (;;) {
    if (isAborted(state)) return -1
    const wake = Atomics.load(words, WAKE)
    let next = Atomics.load(words, NEXT)
    while (next < count && Atomics.load(words, HEAD + count + next) === 1) next++
    if (next >= count) return -1
    Atomics.store(words, NEXT, next) // may step back behind another's store, which only costs a longer scan
    let other = -1
    for (let block = next; block < count; block++) {
      if (!isReady(words, count, block)) continue
      const own = Math.floor(((lanes[block] as number) * claimer.workers) / laneCount) === claimer.worker
      if (own && tryClaim(words, count, block)) return block
      if (!own && other < 0) other = block
    }
    if (other < 0) waitForChange(words, wake)
    else if (tryClaim(words, count, other)) return other
  }
}

function isReady(words: Int32Array, count: number, block: number): boolean {
  return Atomics.load(words, HEAD + block) === 0 && Atomics.load(words, HEAD + count + block) === 0
}

function tryClaim(words: Int32Array, count: number, block: number): boolean {
  return Atomics.compareExchange(words, HEAD + count + block, 0, 1) === 0
}

function waitForChange(words: Int32Array, wake: number): void {
  for (let spin = 0; spin < SPINS; spin++) {
    if (Atomics.load(words, WAKE) !== wake) return
  }
  Atomics.wait(words, WAKE, wake, SLEEP_MS)
}

/** Releases the blocks that waited for this one. */
export function finishBlock(state: ClaimState, schedule: BlockSchedule, block: number): void {
  const from = schedule.successorStart[block] ?? 0
  const to = schedule.successorStart[block + 1] ?? 0
  if (from === to) return
  for (let i = from; i < to; i++) Atomics.sub(state.words, HEAD + (schedule.successors[i] ?? 0), 1)
  wakeAll(state)
}

function wakeAll(state: ClaimState): void {
  Atomics.add(state.words, WAKE, 1)
  Atomics.notify(state.words, WAKE)
}

export function abortPass(state: ClaimState): void {
  Atomics.store(state.words, ABORT, 1)
  wakeAll(state)
}

export function isAborted(state: ClaimState): boolean {
  return Atomics.load(state.words, ABORT) !== 0 || (state.abortFlag !== undefined && Atomics.load(state.abortFlag, 0) !== 0)
}

/** Lowers the smallest failing rank to `rank` if it is smaller. */
export function reportFailure(state: ClaimState, rank: number): void {
  const mine = BigInt(rank)
  for (let known = Atomics.load(state.failure, 0); mine < known; ) {
    const before = Atomics.compareExchange(state.failure, 0, known, mine)
    if (before === known) return
    known = before
  }
}

export function smallestFailure(state: ClaimState): number {
  return Number(Atomics.load(state.failure, 0))
}
