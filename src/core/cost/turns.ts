/**
 * How often a loop inside a body turns, for estimates: always a finite number, whatever the program captured as its ends. A loop up to
 * NaN turns not at all; one up to Infinity, or to 1e308, ends where something else ends it, which only the data tells.
 */

/** Turns of a loop that ends where only the data tells. */
export const UNKNOWN_TURNS = 16
/** Nobody waits for more turns than these: some minutes of the shortest ones. */
const MOST_TURNS = 2 ** 40
/** Eleven days: beyond them, estimates say no more. */
const MOST_NS = 1e15

export function turnsBetween(from: number, to: number, step: number): number {
  const turns = (to - from) / step
  if (!(turns > 0)) return 0 // that of NaN is no turn either
  return turns <= MOST_TURNS ? turns : UNKNOWN_TURNS
}

/** Nanoseconds as a finite number: nested loops multiply beyond all numbers. */
export function finiteNs(ns: number): number {
  return Math.min(ns, MOST_NS)
}
