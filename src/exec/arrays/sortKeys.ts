/**
 * Keys in lexicographic order: a stable permutation that sorts them, and the duplicates among them.
 *
 * Radix sort over the axes from the last to the first: linear in the number of keys. Neighbouring axes whose keys need no
 * more than 32 bits together are sorted as one number:
 *
 *     user 16 bits | movie 13 bits          one word of 29 bits
 */
import { FEWEST_ROWS, sortByWord } from '../kernels/js/radixSort.ts'

/** The order in which the keys are sorted, equal keys in their old order; undefined when they are sorted already. */
export function sortOrder(keys: readonly Int32Array[], length: number): Int32Array | undefined {
  if (isSorted(keys, length)) return undefined
  const order = new Int32Array(length)
  for (let i = 0; i < length; i++) order[i] = i
  if (length < FEWEST_ROWS) return order.sort((a, b) => compareAt(keys, a, b) || a - b)
  const words = new Uint32Array(length)
  for (const axes of wordsOf(keys, length)) {
    words.fill(0)
    for (const { column, shift } of axes) addDigits(column, shift, { order, words })
    sortByWord(order, words, NO_WORDS, length)
  }
  return order
}

const NO_WORDS = new Uint32Array(0)

/** An axis and its place in the word that it is a part of. */
interface WordPart {
  readonly column: Int32Array
  readonly shift: number
}

/** The words from the last axes to the first. */
function wordsOf(keys: readonly Int32Array[], length: number): WordPart[][] {
  const words: WordPart[][] = []
  let used = 32
  for (const column of [...keys].reverse()) {
    const bits = 32 - Math.clz32(largestOf(column, length))
    if (used + bits > 32) {
      words.push([])
      used = 0
    }
    words.at(-1)?.push({ column, shift: used })
    used += bits
  }
  return words
}

function addDigits(column: Int32Array, shift: number, { order, words }: { readonly order: Int32Array; readonly words: Uint32Array }): void {
  for (let i = 0; i < words.length; i++) words[i]! |= (column[order[i] as number] as number) << shift // positions are inside
}

/** The largest of keys that are not negative; 0 without any. */
export function largestOf(column: Int32Array, length: number): number {
  let largest = 0
  for (let i = 0; i < length; i++) if ((column[i] as number) > largest) largest = column[i] as number
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
