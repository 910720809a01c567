/**
 * The order of texts by UTF-16 code units, read off their UTF-8 bytes: that of the bytes, but for those that begin characters
 * beyond 16 bits (F0 to F4), whose surrogates come before U+E000 to U+FFFF (EE and EF).
 */
import type { Column } from '../../../../core/data/column.ts'
import { bytesOf } from '../../../../core/data/columnSlices.ts'

/** The rank of each byte among the bytes that can be at the same position of a text. */
const PLACES = Uint8Array.from({ length: 256 }, (_, byte) => (byte < 0xee ? byte : byte < 0xf0 ? byte + 5 : byte < 0xf5 ? byte - 2 : byte))

/** A function that compares two texts of the column, given their positions. */
export function textComparator(column: Column): (a: number, b: number) => number {
  const [bytes, offsets] = [bytesOf(column), offsetsOf(column)]
  return (a, b) => {
    let [i, j] = [offsets[a] as number, offsets[b] as number]
    const [endA, endB] = [offsets[a + 1] as number, offsets[b + 1] as number]
    const end = Math.min(endA, i + endB - j)
    while (i < end && bytes[i] === bytes[j]) {
      i++
      j++
    }
    if (i < end) return (PLACES[bytes[i] as number] as number) - (PLACES[bytes[j] as number] as number) // both are inside
    return endA - i - (endB - j)
  }
}

/** The bytes of a text that fit a double as a whole number. */
const WORD_BYTES = 6

/**
 * A number for each text, in the order of the texts; different texts may have equal ones. It has the six bytes behind the prefix that
 * all texts in [from, to) share; a text without that prefix has a number below or above all of theirs.
 */
export function textWords(column: Column, from: number, to: number): Float64Array {
  const { length } = column
  const [bytes, offsets] = [bytesOf(column), offsetsOf(column)]
  const [first, skipped] = [offsets[from] as number, sharedBytes(bytes, offsets, from, to)]
  const words = new Float64Array(length)
  for (let row = 0; row < length; row++) {
    const [start, end] = [offsets[row] as number, offsets[row + 1] as number] // length + 1 offsets
    let shared = 0
    while (shared < skipped && start + shared < end && bytes[start + shared] === bytes[first + shared]) shared++
    if (shared < skipped) {
      const isBefore =
        start + shared === end || (PLACES[bytes[start + shared] as number] as number) < (PLACES[bytes[first + shared] as number] as number)
      words[row] = isBefore ? -1 : 256 ** WORD_BYTES
      continue
    }
    let word = 0
    const last = start + skipped + WORD_BYTES
    for (let at = start + skipped; at < last; at++) word = word * 256 + (at < end ? (PLACES[bytes[at] as number] as number) : 0)
    words[row] = word
  }
  return words
}

/** The length in bytes of the prefix that all texts in [from, to) share. */
function sharedBytes(bytes: Uint8Array, offsets: Int32Array, from: number, to: number): number {
  const first = offsets[from] as number
  let shared = (offsets[from + 1] as number) - first
  for (let row = from + 1; row < to; row++) {
    const [start, end] = [offsets[row] as number, offsets[row + 1] as number]
    let same = 0
    while (same < shared && start + same < end && bytes[start + same] === bytes[first + same]) same++
    shared = same
  }
  return shared
}

function offsetsOf({ offsets, length }: Column): Int32Array {
  return offsets ?? new Int32Array(length + 1)
}
