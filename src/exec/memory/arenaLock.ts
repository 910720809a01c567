/**
 * The lock of the arena's allocator: one word of shared memory, held for microseconds.
 *
 *     0                      free
 *     holder << 1            held by that thread
 *     holder << 1 | 1        held, and somebody may be waiting
 *
 * The word names its holder, so that a lock whose thread was terminated in the middle can be taken over; the taker
 * must then repair what the lock guards.
 */
import { threadId } from 'node:worker_threads'

/** Tries before a thread waits: a holder on another core is usually done by then, and one without a core needs to be scheduled. */
const SPINS = 200
/** A terminated thread stops within milliseconds; after this it no longer writes. */
const GRACE_MS = 500

const SELF = (threadId + 1) << 1

/** Threads this thread has told to end. */
const ending = new Set<number>()

/** Marks a thread as told to end: its lock may be taken over after a grace time. */
export function markEnding(thread: number): void {
  ending.add(thread)
}

/** Takes the lock; true when it was taken over from a dead thread, whose work must be repaired. */
export function lock(words: Int32Array, at: number): boolean {
  for (let spin = 0; spin < SPINS; spin++) if (Atomics.compareExchange(words, at, 0, SELF) === 0) return false
  let deadSince: { readonly word: number; readonly ms: number } | undefined
  for (;;) {
    const word = Atomics.load(words, at)
    if (word === 0) {
      // others may still be waiting
      if (Atomics.compareExchange(words, at, 0, SELF | 1) === 0) return false
      continue
    }
    if ((word & 1) === 0 && Atomics.compareExchange(words, at, word, word | 1) !== word) continue
    Atomics.wait(words, at, word | 1, 20)
    if (!ending.has((word >> 1) - 1)) continue
    if (deadSince === undefined || deadSince.word !== (word | 1)) deadSince = { word: word | 1, ms: performance.now() }
    else if (performance.now() - deadSince.ms > GRACE_MS && Atomics.compareExchange(words, at, word | 1, SELF | 1) === (word | 1))
      return true
  }
}

export function unlock(words: Int32Array, at: number): void {
  const word = Atomics.exchange(words, at, 0)
  if ((word & 1) === 1) Atomics.notify(words, at, 1)
}

/** Takes the lock from a thread that has ended, if it holds it. */
export function takeFromEnded(words: Int32Array, at: number, thread: number): boolean {
  for (;;) {
    const word = Atomics.load(words, at)
    if (word === 0 || (word >> 1) - 1 !== thread) return false
    if (Atomics.compareExchange(words, at, word, SELF | 1) === word) return true
  }
}
