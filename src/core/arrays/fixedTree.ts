/**
 * The fixed tree of reductions: the same bits for any number of workers, any partitioning, any retry.
 *
 *     values   | chunk 0: 4,096, left to right | chunk 1 | chunk 2 |
 *     level 1  |          c0 + c1                        |   c2    |
 *     level 2  |               (c0 + c1) + c2                      |
 *
 * Where values lie never matters, only their position in element order.
 */

/** The number of values in a chunk. Part of the documented result: another number gives other bits. */
export const CHUNK = 4096

/** Combines chunk results pairwise by index, an odd last one carried on; undefined without any. Overwrites `parts`. */
export function combinePairwise<T>(parts: T[], combine: (a: T, b: T) => T): T | undefined {
  let length = parts.length
  while (length > 1) {
    let next = 0
    for (let i = 0; i < length; i += 2) {
      const left = parts[i] as T // i < length: inside the array
      parts[next++] = i + 1 < length ? combine(left, parts[i + 1] as T) : left
    }
    length = next
  }
  return parts[0]
}

/** The sum of numbers by the tree; 0 of nothing. */
export function sumByTree(values: ArrayLike<number>): number {
  if (values.length <= CHUNK) return sumOfRange(values, 0, values.length)
  const chunks: number[] = []
  for (let from = 0; from < values.length; from += CHUNK) chunks.push(sumOfRange(values, from, Math.min(from + CHUNK, values.length)))
  return combinePairwise(chunks, (a, b) => a + b) ?? 0
}

/** The sum by the tree of `length` terms, without an array of them; 0 of none. */
export function sumOfTerms(length: number, term: (i: number) => number): number {
  const chunks: number[] = []
  for (let from = 0; from < length; from += CHUNK) {
    let sum = 0
    for (let i = from; i < Math.min(from + CHUNK, length); i++) sum += term(i)
    chunks.push(sum)
  }
  return combinePairwise(chunks, (a, b) => a + b) ?? 0
}

function sumOfRange(values: ArrayLike<number>, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += values[i] as number // from <= i < to <= length
  return sum
}
