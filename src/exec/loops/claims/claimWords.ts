/** The shared words by which workers claim blocks, where each of them lies, and what they are before a pass. */
import type { ClaimedBlocks } from '../blocks/claimedBlocks.ts'

/** Shared words of one pass. */
export interface ClaimState {
  readonly words: Int32Array
  /** The smallest rank that failed; NO_FAILURE while none did. */
  readonly failure: BigInt64Array
  /** Milliseconds that each block took, in the last pass that measured them. */
  readonly took: Float64Array
  readonly homes: number
  /** The words as they are before a pass; shared, for workers that run several passes. */
  readonly start: Int32Array
  /** The pool's word that tells this worker to stop; see `WorkerContext`. */
  readonly abortFlag?: Int32Array
  /** The outbox for blocks that other processes wait for; absent where blocks have nothing to do with other processes. */
  readonly outbox?: Outbox
}

/** The words by which workers tell the caller's thread of finished blocks that other processes wait for. */
export interface Outbox {
  /** The number of finished blocks, and then their numbers, each plus 1. */
  readonly words: Int32Array
  /** 1 for each block that others wait for. */
  readonly tells: Uint8Array
}

export const NO_FAILURE: bigint = 2n ** 62n

// control words
export const ABORT = 0

/** Changes when sleepers are to look again. */
export const WAKE = 1

export const SLEEPERS = 2

export const FAILED = 3

/** Workers that are through with the pass, and passes that all are through with. */
export const ARRIVED = 4

export const ROUND = 5

/** Whether there is no further pass: set by the worker that comes last. */
export const ENDED = 6

/** Blocks of all steps, and how many of them are done. */
export const COUNT = 7

export const DONE = 8

/** Homes have a cache line each. */
export const LINE = 16

// words of a home's line
export const HEAD = 0

export const TAIL = 1

export const FIRST = 2

/** How many slots there are. */
export const SLOTS = 3

/** Blocks that workers of the home have kept. */
export const KEPT = 4

export const waitsAt = (homes: number): number => LINE * (1 + homes)

/** The number of words for so many blocks of one step. */
export function claimWords(blocks: number, homes: number): number {
  return waitsAt(homes) + 3 * blocks
}

export function blocksOfStep({ steps, count }: ClaimedBlocks): number {
  return steps?.blocks ?? count
}

/** The words as they are before a pass: blocks that wait for none are ready, in plan order or the one given. */
export function startWords(schedule: ClaimedBlocks, homes: number, order?: readonly number[]): Int32Array {
  const { lanes, laneCount, waitsFor } = schedule
  const count = blocksOfStep(schedule)
  const words = new Int32Array(claimWords(count, homes))
  const waits = waitsAt(homes)
  words[COUNT] = schedule.count
  const homeOf = words.subarray(waits + count, waits + 2 * count)
  words.set(waitsFor, waits)
  for (let block = 0; block < count; block++) homeOf[block] = Math.floor(((lanes[block] as number) * homes) / laneCount)
  let slot = waits + 2 * count
  for (let home = 0; home < homes; home++) {
    const line = LINE * (1 + home)
    words[line + FIRST] = slot
    for (let i = 0; i < count; i++) {
      const block = order?.[i] ?? i
      if (homeOf[block] !== home) continue
      if (waitsFor[block] === 0) words[(words[line + FIRST] as number) + words[line + TAIL]!++] = block + 1
      slot++
    }
    words[line + SLOTS] = slot - (words[line + FIRST] as number)
  }
  return words
}

/** Readies the state for another pass. */
export function resetClaims({ words, start, failure }: ClaimState): void {
  words.set(start)
  failure[0] = NO_FAILURE
}

/**
 * Readies the state for blocks `from` up to `to` alone, where those before them are done and the others are not to begin; `more`
 * counts what each block waits for besides blocks of the schedule.
 */
export function resetClaimsTo(state: ClaimState, schedule: ClaimedBlocks, from: number, to: number, more?: Int32Array): void {
  const { words, start, failure, homes } = state
  const { count, successors, successorStart } = schedule
  const waits = waitsAt(homes)
  words.set(start)
  failure[0] = NO_FAILURE
  words[COUNT] = to - from
  for (let home = 0; home < homes; home++) words[LINE * (1 + home) + TAIL] = 0
  words.fill(0, waits + from, waits + to)
  // blocks from `to` on get more to wait for than will be done, and so never become ready
  for (let i = successorStart[from] as number; i < (successorStart[to] as number); i++) words[waits + (successors[i] as number)]!++
  for (let block = from; block < to; block++) {
    words[waits + block]! += more?.[block] ?? 0
    if (words[waits + block] !== 0) continue
    const line = LINE * (1 + (words[waits + count + block] as number))
    words[(words[line + FIRST] as number) + words[line + TAIL]!++] = block + 1
  }
}
