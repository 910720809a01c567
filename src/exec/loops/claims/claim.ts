/**
 * Claiming blocks: workers find ready blocks themselves, through a few words in shared memory, without a lock.
 *
 * A block is ready when all blocks it waits for are done. Who claims it does not matter to the result: blocks fix
 * the bits, not workers. Each worker has a *home*: a queue of the ready blocks of its share of the lanes, so that what
 * they touch stays in its cache. Whoever finishes the last block that another waits for puts that one into its home's
 * queue; a worker whose queue is empty takes from the others', the oldest first.
 *
 *     words   control | a line per home: head, tail, first slot | waits for, per block | home, per block | slots of all homes
 *
 * A home has as many slots as it has blocks, and each block enters it once: heads and tails only grow, and a compare and
 * exchange of the head claims. A worker that finds nothing ready looks again for a little, then sleeps until a block is
 * finished.
 *
 * Of the blocks that a worker makes ready, it *keeps* the last one of its own home and runs it next: that one goes through
 * no queue. The last is the one that lies farthest down, so that blocks of other homes are soon ready.
 *
 *     wavefront    0  2  4    home 0 goes down its rows, column by column
 *                  1  3  5
 *                  .  .  .    home 1 can begin after two blocks
 *                  .  .  .
 *
 * In a schedule of steps a block also waits for all blocks of the step before. Whoever finishes the last block of a step
 * opens the next one: queues are empty then, and are filled anew. Nothing is cleared for it. Heads and tails grow on, a slot
 * comes round with each step, and what is in it is numbered through all steps, so that a block of another step is known.
 *
 * What is called a block here may be a group of them (`claimedBlocks.ts`).
 */
import type { ClaimedBlocks } from '../blocks/claimedBlocks.ts'
import {
  ABORT,
  ARRIVED,
  blocksOfStep,
  type ClaimState,
  COUNT,
  DONE,
  ENDED,
  FAILED,
  FIRST,
  HEAD,
  KEPT,
  LINE,
  type Outbox,
  ROUND,
  SLEEPERS,
  SLOTS,
  TAIL,
  WAKE,
  waitsAt,
} from './claimWords.ts'

/** Milliseconds that a worker which finds nothing spins before it sleeps; being woken takes as long. */
const LOOK_MS = 0.03

/** Looks for a block between two readings of the clock, which take longer. */
const LOOKS_TO_A_CLOCK = 8

/** Sleepers look again after this long, should a wake-up be lost with its worker. */
const SLEEP_MS = 50

/**
 * The time for which a worker spins before it sleeps. The work of others is soon seen where they run at the same time; where they
 * wait for this one's core, spinning keeps them from it. So after spinning in vain it sleeps sooner, until something was not there
 * at the first look, but at a later one.
 */
export interface Patience {
  lookMs: number
}

export function createPatience(): Patience {
  return { lookMs: LOOK_MS }
}

/**
 * Waits until all workers are through with the pass; who comes last readies the words for the next one. False when there
 * is to be none: an iteration failed, or the pass was aborted. Who comes last decides that for all: when the others look,
 * an iteration of the next pass may have failed already.
 */
export function awaitOthers(state: ClaimState, workers: number, patience: Patience): boolean {
  const { words, start } = state
  const round = Atomics.load(words, ROUND)
  if (Atomics.add(words, ARRIVED, 1) === workers - 1) {
    words.set(start.subarray(LINE), LINE) // nobody claims now; the control words stay, but for one
    Atomics.store(words, DONE, 0)
    Atomics.store(words, ENDED, hasFailed(state) || isAborted(state) ? 1 : 0)
    Atomics.store(words, ARRIVED, 0)
    Atomics.add(words, ROUND, 1)
    Atomics.notify(words, ROUND)
  }
  const until = performance.now() + patience.lookMs
  let sleeps = false
  let look = 1
  for (; Atomics.load(words, ROUND) === round; look++) {
    if (isAborted(state)) return false
    if (sleeps) Atomics.wait(words, ROUND, round, SLEEP_MS)
    else if (look % LOOKS_TO_A_CLOCK === 0) sleeps = performance.now() >= until
  }
  if (look > 1) learn(patience, !sleeps)
  return Atomics.load(words, ENDED) === 0
}

function learn(patience: Patience, hasFound: boolean): void {
  patience.lookMs = hasFound ? LOOK_MS : patience.lookMs / 2
}

/** A worker's state as it claims; with fewer homes than workers, some workers share one. */
export interface Claimer {
  readonly worker: number
  readonly patience: Patience
  /** Milliseconds spent looking for ready blocks in vain. */
  idleMs: number
  /** The block to run next; -1 for none. */
  kept: number
  /** Kept blocks that `KEPT` does not count yet. */
  uncounted: number
}

export function createClaimer(worker: number, patience: Patience = createPatience()): Claimer {
  return { worker, patience, idleMs: 0, kept: -1, uncounted: 0 }
}

/** A ready block, now the caller's own; -1 when no block is left to start or the pass is aborted. */
export function claimBlock(state: ClaimState, claimer: Claimer): number {
  if (isAborted(state)) return -1
  const block = takeReady(state, claimer)
  return block >= 0 ? block : waitForBlock(state, claimer)
}

/** The block that was kept, or a ready one of the claimer's home, or of another; -1 when there is none now. */
export function takeReady({ words, homes }: ClaimState, claimer: Claimer): number {
  const { worker, kept } = claimer
  if (kept >= 0) {
    claimer.kept = -1
    return kept
  }
  for (let i = 0; i < homes; i++) {
    const block = takeFrom(words, LINE * (1 + ((worker + i) % homes)), (words.length - waitsAt(homes)) / 3)
    if (block >= 0) return block
  }
  return -1
}

function takeFrom(words: Int32Array, line: number, blocksOfStep: number): number {
  for (;;) {
    const head = Atomics.load(words, line + HEAD)
    if (head >= Atomics.load(words, line + TAIL)) return -1
    const slots = words[line + SLOTS] as number
    const place = head < slots ? head : head % slots
    const block = Atomics.load(words, (words[line + FIRST] as number) + place) - 1
    // its slot was taken, but holds nothing yet, or still a block of the step before
    if (block < ((head - place) / slots) * blocksOfStep) return -1
    if (tryClaim(words, line, head)) return block
  }
}

function tryClaim(words: Int32Array, line: number, head: number): boolean {
  return Atomics.compareExchange(words, line + HEAD, head, head + 1) === head
}

function waitForBlock(state: ClaimState, claimer: Claimer): number {
  if (allClaimed(state)) return -1
  const started = performance.now()
  try {
    const until = started + claimer.patience.lookMs
    for (let look = 1; look % LOOKS_TO_A_CLOCK !== 0 || performance.now() < until; look++) {
      const block = takeReady(state, claimer)
      if (block < 0 && !allClaimed(state) && !isAborted(state)) continue
      if (look > 1) learn(claimer.patience, true)
      return block
    }
    learn(claimer.patience, false)
    for (;;) {
      const block = sleepForBlock(state, claimer)
      if (block >= 0 || allClaimed(state) || isAborted(state)) return block
    }
  } finally {
    claimer.idleMs += performance.now() - started
  }
}

/**
 * No wake-up is missed: who fills a queue looks for sleepers afterwards, and a sleeper looks into the queues after it said
 * so. Either it finds the block, or the one who filled it finds the sleeper, and then WAKE is no longer what it read.
 */
function sleepForBlock(state: ClaimState, claimer: Claimer): number {
  const { words } = state
  Atomics.add(words, SLEEPERS, 1)
  try {
    const wake = Atomics.load(words, WAKE)
    const block = takeReady(state, claimer)
    if (block >= 0 || allClaimed(state) || isAborted(state)) return block
    Atomics.wait(words, WAKE, wake, SLEEP_MS)
    return -1
  } finally {
    Atomics.sub(words, SLEEPERS, 1)
  }
}

/** Whether each block is claimed, or kept by a worker that will run it. */
export function allClaimed({ words, homes }: ClaimState): boolean {
  let claimed = 0
  for (let home = 0; home < homes; home++) {
    const line = LINE * (1 + home)
    claimed += Atomics.load(words, line + HEAD) + Atomics.load(words, line + KEPT)
  }
  return claimed >= (words[COUNT] as number)
}

/** Releases the blocks that waited for this one; the last block of a step, those of the next one that wait for no other. */
export function finishBlock(state: ClaimState, schedule: ClaimedBlocks, block: number, claimer: Claimer): void {
  const { words, homes } = state
  const { successors, successorStart, waitsFor, steps } = schedule
  const count = blocksOfStep(schedule)
  const waits = waitsAt(homes)
  const at = block < count ? block : block % count
  const first = block - at
  const home = claimer.worker % homes
  const to = successorStart[at + 1] as number
  let queued = 0
  for (let i = successorStart[at] as number; i < to; i++) {
    const next = successors[i] as number
    if (Atomics.sub(words, waits + next, 1) !== 1) continue
    if (steps !== undefined) Atomics.store(words, waits + next, waitsFor[next] as number) // for the next step, which nobody has begun
    const isKept = steps === undefined && words[waits + count + next] === home // slots of steps come round only if each block enters one
    const given = isKept ? claimer.kept : next
    if (isKept) claimer.kept = next
    if (given >= 0) {
      enqueue(words, waits + count, given, first)
      queued++
    } else claimer.uncounted++
  }
  if (count < schedule.count && (Atomics.add(words, DONE, 1) + 1) % count === 0 && first + count < schedule.count) {
    for (let next = 0; next < count; next++) if (waitsFor[next] === 0) enqueue(words, waits + count, next, first + count)
  }
  if (claimer.kept >= 0 && queued === 0) return // nothing that others could claim
  countKept(words, home, claimer)
  if (Atomics.load(words, SLEEPERS) > 0) wakeAll(words)
}

/** Adds kept blocks to KEPT. Sleepers are woken afterwards, as they look whether all blocks are claimed. */
function countKept(words: Int32Array, home: number, claimer: Claimer): void {
  if (claimer.uncounted === 0) return
  Atomics.add(words, LINE * (1 + home) + KEPT, claimer.uncounted)
  claimer.uncounted = 0
}

/** Leaves the rest to others: a block that was kept goes to where they find it. */
export function leaveBlocks({ words, homes }: ClaimState, schedule: ClaimedBlocks, claimer: Claimer): void {
  if (claimer.kept < 0) return
  enqueue(words, waitsAt(homes) + blocksOfStep(schedule), claimer.kept, 0) // of a schedule without steps
  claimer.kept = -1
  claimer.uncounted--
  countKept(words, claimer.worker % homes, claimer)
  if (Atomics.load(words, SLEEPERS) > 0) wakeAll(words)
}

/** Lowers the count of what a block waits for, as something is done in another process; at 0 the block is ready. */
export function releaseBlock({ words, homes }: ClaimState, { count }: ClaimedBlocks, block: number): void {
  const waits = waitsAt(homes)
  if (Atomics.sub(words, waits + block, 1) !== 1) return
  enqueue(words, waits + count, block, 0) // of a schedule without steps
  if (Atomics.load(words, SLEEPERS) > 0) wakeAll(words)
}

/** Writes a block that is done to the outbox, if other processes wait for it. */
export function tellDone({ words, tells }: Outbox, block: number): void {
  if (tells[block] === 0) return
  const place = Atomics.add(words, 0, 1)
  Atomics.store(words, 1 + place, block + 1)
  Atomics.notify(words, 0)
}

/** Puts a block of the step that starts at `first` into the queue of its home. */
function enqueue(words: Int32Array, homeOf: number, at: number, first: number): void {
  const line = LINE * (1 + (words[homeOf + at] as number))
  const slots = words[line + SLOTS] as number
  const tail = Atomics.add(words, line + TAIL, 1)
  const place = tail < slots ? tail : tail % slots
  Atomics.store(words, (words[line + FIRST] as number) + place, first + at + 1)
}

function wakeAll(words: Int32Array): void {
  Atomics.add(words, WAKE, 1)
  Atomics.notify(words, WAKE)
}

export function abortPass({ words }: ClaimState): void {
  Atomics.store(words, ABORT, 1)
  wakeAll(words)
}

export function isAborted(state: ClaimState): boolean {
  return Atomics.load(state.words, ABORT) !== 0 || (state.abortFlag !== undefined && Atomics.load(state.abortFlag, 0) !== 0)
}

/** Lowers the smallest failing rank to `rank` if it is smaller. */
export function reportFailure(state: ClaimState, rank: number): void {
  const mine = BigInt(rank)
  for (let known = Atomics.load(state.failure, 0); mine < known; ) {
    const before = Atomics.compareExchange(state.failure, 0, known, mine)
    if (before === known) break
    known = before
  }
  Atomics.store(state.words, FAILED, 1)
}

/** Whether any iteration has failed: far cheaper to ask than which. */
export function hasFailed(state: ClaimState): boolean {
  return Atomics.load(state.words, FAILED) !== 0
}

export function smallestFailure(state: ClaimState): number {
  return Number(Atomics.load(state.failure, 0))
}
