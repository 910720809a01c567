/**
 * The trip count of a loop inside a body, for estimates: always a finite number, whatever bounds the program captured. A loop up to
 * NaN has no iterations; one up to Infinity, or to 1e308, ends where something else ends it, which only the data tells.
 */

/** The assumed trip count of a loop that ends where only the data tells. */
export const UNKNOWN_TURNS = 16
/** The largest trip count that estimates believe: more iterations would take minutes even if each were of the shortest. */
const MOST_TURNS = 2 ** 40
/** The largest estimate: eleven days. */
const MOST_NS = 1e15

export function turnsBetween(from: number, to: number, step: number): number {
  const turns = (to - from) / step
  if (!(turns > 0)) return 0 // that of NaN is no turn either
  return turns <= MOST_TURNS ? turns : UNKNOWN_TURNS
}

/** Limits an estimate to a finite number, since trip counts of nested loops multiply up to Infinity. */
export function finiteNs(ns: number): number {
  return Math.min(ns, MOST_NS)
}
