/**
 * Radix sort of rows by numbers, on their bits: from the lowest digit to the highest, which is stable.
 *
 * Every number becomes one or two 32-bit words that are ordered as it is: the sign bit of integers is inverted, and all
 * bits of negative floats. 0 and -0 are equal, and NaN comes after Infinity. Digits that all keys share cost no pass.
 */
import type { Column } from '../../../core/data/column.ts'
import { typedLoop, wordsOf } from './typedLoops.ts'

/** Bits of a digit: the histogram of its values fits the L1 cache. */
const DIGIT = 11
const DIGITS = 1 << DIGIT
/** The fewest rows that are sorted by radix; fewer are sorted by comparison. */
export const FEWEST_ROWS = 64

/** Returns the positions of the keys in order, equal ones in their old order, nulls last; undefined for few keys, or none of numbers. */
export function radixRows(key: Column, descending: boolean): Int32Array | undefined {
  const kind = wordsOf(key.type.kind)
  if (kind === undefined || key.values === undefined || key.length < FEWEST_ROWS) return undefined
  const rows = new Int32Array(key.length)
  const low = new Uint32Array(key.length)
  const high = new Uint32Array(kind === 'integer' || key.type.kind === 'f32' ? 0 : key.length)
  const present = orderedWords(key, { rows, low, high, flip: descending ? -1 : 0 })
  sortByWord(rows, low, high, present)
  if (high.length > 0) sortByWord(rows, high, low, present)
  return rows
}

interface Target {
  readonly rows: Int32Array
  readonly low: Uint32Array
  readonly high: Uint32Array
  readonly flip: number
}

/** Fills words and rows of the keys that are not null, then the rows of nulls; returns the number of the former. */
function orderedWords(key: Column, { rows, low, high, flip }: Target): number {
  const { values, validity, length } = key
  const bits =
    key.values === undefined || wordsOf(key.type.kind) === 'integer'
      ? undefined
      : new Int32Array(key.values.buffer, key.values.byteOffset, key.values.byteLength / 4)
  const loop = typedLoop<(...args: readonly unknown[]) => number>(
    ['k', 'bits', 'validity', 'length', 'rows', 'lows', 'highs', 'flip'],
    `let n = 0; // ${key.type.kind}
for (let i = 0; i < length; i++) {
${validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'}
${wordsText(key)}
rows[n++] = i;
}
const present = n;
${validity === undefined ? '' : 'for (let i = 0; i < length; i++) if ((validity[i >> 3] & (1 << (i & 7))) === 0) rows[n++] = i;'}
return present;`,
  )
  return loop(values, bits, validity, length, rows, low, high, flip)
}

/** The text that writes a key's words. `flip` is -1 for descending order: it inverts all bits, so that equal keys stay equal. */
function wordsText({ type }: Column): string {
  switch (type.kind) {
    case 'f64':
      return `let a = bits[2 * i], b = bits[2 * i + 1];
if (k[i] === 0) { a = 0; b = 0; } else if (k[i] !== k[i]) { a = 0; b = 0x7ff80000; }
const turn = b >> 31;
lows[n] = a ^ turn ^ flip;
highs[n] = b ^ (turn | 0x80000000) ^ flip;`
    case 'f32':
      return `let a = bits[i];
if (k[i] === 0) a = 0; else if (k[i] !== k[i]) a = 0x7fc00000;
lows[n] = a ^ ((a >> 31) | 0x80000000) ^ flip;`
    case 'u64':
      return 'lows[n] = bits[2 * i] ^ flip;\nhighs[n] = bits[2 * i + 1] ^ flip;'
    case 'i64':
    case 'time':
    case 'timestamp':
      return 'lows[n] = bits[2 * i] ^ flip;\nhighs[n] = bits[2 * i + 1] ^ 0x80000000 ^ flip;'
    case 'u32':
      return 'lows[n] = k[i] ^ flip;'
    default:
      // signed integers of at most 32 bits, or unsigned ones that fit them
      return 'lows[n] = k[i] ^ 0x80000000 ^ flip;'
  }
}

interface Words {
  readonly rows: Int32Array
  readonly words: Uint32Array
  readonly others: Uint32Array
}

/** Sorts the first `length` rows by `words`, stably; `words` and `others` (unless that is empty) are permuted along. */
export function sortByWord(rows: Int32Array, words: Uint32Array, others: Uint32Array, length: number): void {
  let from: Words = { rows, words, others }
  let to: Words = {
    rows: new Int32Array(length),
    words: new Uint32Array(length),
    others: new Uint32Array(others.length === 0 ? 0 : length),
  }
  for (let shift = 0; shift < 32; shift += DIGIT) {
    const starts = startsOf(from.words, shift, length)
    if (starts === undefined) continue
    scatter(from, to, starts, shift, length)
    ;[from, to] = [to, from]
  }
  if (from.rows === rows) return
  rows.set(from.rows.subarray(0, length))
  words.set(from.words.subarray(0, length))
  if (others.length > 0) others.set(from.others.subarray(0, length))
}

/** Returns the first position of each digit; undefined where all rows have the same digit. */
function startsOf(words: Uint32Array, shift: number, length: number): Int32Array | undefined {
  const starts = new Int32Array(DIGITS)
  for (let i = 0; i < length; i++) {
    const digit = ((words[i] as number) >>> shift) & (DIGITS - 1) // i < length
    starts[digit] = (starts[digit] as number) + 1
  }
  let at = 0
  for (let digit = 0; digit < DIGITS; digit++) {
    const count = starts[digit] as number
    if (count === length) return undefined
    starts[digit] = at
    at += count
  }
  return starts
}

function scatter(from: Words, to: Words, starts: Int32Array, shift: number, length: number): void {
  const both = from.others.length > 0
  for (let i = 0; i < length; i++) {
    const word = from.words[i] as number // i < length, and starts lead inside
    const digit = (word >>> shift) & (DIGITS - 1)
    const at = starts[digit] as number
    starts[digit] = at + 1
    to.words[at] = word
    to.rows[at] = from.rows[i] as number
    if (both) to.others[at] = from.others[i] as number
  }
}
