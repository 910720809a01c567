/**
 * Hashes of 53 bits, so that collisions are rare enough to count different values without keeping them. Values that are equal as keys
 * (see `keyIds.ts`) have equal hashes, whatever the types of their columns are.
 *
 * The state is two words, mixed as in MurmurHash3 with 128 bits for x86 (Appleby), whose state is four.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { NUMBERS } from '../../../../core/data/columnConversions.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'

/** The hash of each value, as a whole number; arbitrary for null. */
export function valueHashes(column: Column): Float64Array {
  const { type, length, values, offsets } = column
  const hashes = new Float64Array(length)
  if (NUMBERS.has(type.kind) && values !== undefined) {
    for (let i = 0; i < length; i++) hashes[i] = hashOfNumber(values[i] as number) // NUMBERS says so
    return hashes
  }
  if ((type.kind === 'utf8' || type.kind === 'binary') && values instanceof Uint8Array && offsets !== undefined) {
    for (let i = 0; i < length; i++) hashes[i] = hashOfBytes(values, offsets[i] as number, offsets[i + 1] as number) // length + 1 offsets
    return hashes
  }
  const read = valueReader(column)
  for (let i = 0; i < length; i++) if (isValid(column, i)) hashes[i] = hashOfValue(read(i))
  return hashes
}

let first = 0
let second = 0

function begin(): void {
  first = 0x243f6a88 // digits of pi
  second = 0x13198a2e
}

function addWord(word: number): void {
  let k = Math.imul(word, 0x239b961b)
  k = Math.imul((k << 15) | (k >>> 17), 0xab0e9789)
  first ^= k
  first = (first << 19) | (first >>> 13)
  first = (Math.imul(first + second, 5) + 0x561ccd1b) | 0
  k = Math.imul(word, 0x38b34ae5)
  k = Math.imul((k << 17) | (k >>> 15), 0xa1e38b93)
  second ^= k
  second = (second << 17) | (second >>> 15)
  second = (Math.imul(second + first, 5) + 0x0bcaa747) | 0
}

function finished(words: number): number {
  first ^= words
  second ^= words
  first = (first + second) | 0
  second = (second + first) | 0
  first = spread(first)
  second = spread(second)
  first = (first + second) | 0
  second = (second + first) | 0
  return (first >>> 11) * 2 ** 32 + (second >>> 0)
}

function spread(word: number): number {
  let h = word ^ (word >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 16)
}

const NUMBER = new Float64Array(1)
const WORDS = new Int32Array(NUMBER.buffer)

/** The hash of a number: 0 and -0 have one, and so have all NaNs. */
function hashOfNumber(value: number): number {
  NUMBER[0] = Number.isNaN(value) ? Number.NaN : value + 0 // -0 + 0 is 0
  begin()
  addWord(WORDS[0] as number)
  addWord(WORDS[1] as number)
  return finished(2)
}

function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  begin()
  let i = from
  for (; i + 4 <= to; i += 4)
    addWord((bytes[i] as number) | ((bytes[i + 1] as number) << 8) | ((bytes[i + 2] as number) << 16) | ((bytes[i + 3] as number) << 24)) // i + 3 < to
  let rest = 0
  for (let at = 0; i < to; i++, at += 8) rest |= (bytes[i] as number) << at // i < to
  addWord(rest)
  return finished(to - from)
}

const encoder = new TextEncoder()

function hashOfText(text: string): number {
  const bytes = encoder.encode(text)
  return hashOfBytes(bytes, 0, bytes.length)
}

/** The hash of any value: of an object by its fields in any order, without those that are null; of a list by its items in order. */
function hashOfValue(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return hashOfNumber(value)
    case 'boolean':
      return hashOfNumber(Number(value))
    case 'bigint':
      return hashOfText(String(value))
    case 'string':
      return hashOfText(value)
    default:
      break
  }
  if (value === null || typeof value !== 'object') return 0
  if (value instanceof Date) return hashOfNumber(value.getTime())
  if (value instanceof Uint8Array) return hashOfBytes(value, 0, value.length)
  if (Array.isArray(value))
    return hashOfText(value.map((item) => (item === null || item === undefined ? 'null' : hashOfValue(item))).join(' '))
  let sum = 0
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === undefined) continue
    sum = (sum + Math.floor(hashOfText(`${name} ${hashOfValue(item)}`) / 2)) % 2 ** 52 // so that no bit of the sum is lost
  }
  return hashOfNumber(sum)
}
