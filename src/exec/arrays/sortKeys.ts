/**
 * Keys in lexicographic order: a stable permutation that sorts them, and the duplicates among them.
 *
 * Least-significant-digit radix sort over the axes from the last to the first, 16 bits at a time: linear in the number
 * of keys, and no product of extents is ever formed that could overflow.
 */

/** The order in which the keys are sorted, equal keys in their old order; undefined when they are sorted already. */
export function sortOrder(keys: readonly Int32Array[], length: number): Int32Array | undefined {
  if (isSorted(keys, length)) return undefined
  let order = Int32Array.from({ length }, (_, i) => i)
  if (length < SMALL) return order.sort((a, b) => compareAt(keys, a, b) || a - b)
  let spare = new Int32Array(length)
  const counts = new Int32Array(DIGITS + 1)
  for (let axis = keys.length - 1; axis >= 0; axis--) {
    const column = keys[axis] as Int32Array // axis < keys.length
    const largest = largestOf(column, length)
    for (let shift = 0; shift < 32 && largest >>> shift > 0; shift += DIGIT_BITS) {
      sortByDigit(column, shift, order, spare, counts)
      ;[order, spare] = [spare, order]
    }
  }
  return order
}

const DIGIT_BITS = 16
const DIGITS = 2 ** DIGIT_BITS
/** Below this a comparison sort is quicker than counting 65,536 digits. */
const SMALL = 8192

function sortByDigit(column: Int32Array, shift: number, from: Int32Array, to: Int32Array, counts: Int32Array): void {
  counts.fill(0)
  for (let i = 0; i < from.length; i++) counts[(((column[i] as number) >>> shift) & (DIGITS - 1)) + 1]!++ // every key once, in any order
  for (let digit = 1; digit <= DIGITS; digit++) counts[digit]! += counts[digit - 1]!
  for (let i = 0; i < from.length; i++) {
    const index = from[i] as number // i < length
    const digit = ((column[index] as number) >>> shift) & (DIGITS - 1)
    to[counts[digit]!++] = index
  }
}

function largestOf(column: Int32Array, length: number): number {
  let largest = 0
  for (let i = 0; i < length; i++) if ((column[i] as number) > largest) largest = column[i] as number // keys are not negative
  return largest
}

function isSorted(keys: readonly Int32Array[], length: number): boolean {
  for (let i = 1; i < length; i++) if (compareAt(keys, i - 1, i) > 0) return false
  return true
}

/** Lexicographic order of the keys at two positions. */
export function compareAt(keys: readonly Int32Array[], a: number, b: number): number {
  for (const column of keys) {
    const difference = (column[a] as number) - (column[b] as number) // both inside; keys are below 2^31, so this is exact
    if (difference !== 0) return difference
  }
  return 0
}

/** The first position at which a key is not smaller than `key`; `length` when there is none. Keys are sorted. */
export function lowerBound(keys: readonly Int32Array[], length: number, key: readonly number[]): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareWith(keys, middle, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function compareWith(keys: readonly Int32Array[], at: number, key: readonly number[]): number {
  for (let axis = 0; axis < keys.length; axis++) {
    const difference = (keys[axis]?.[at] ?? 0) - (key[axis] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
