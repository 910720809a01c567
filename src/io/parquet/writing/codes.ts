/**
 * Dictionary codes for the values of a column; distinct values are numbered in the order in which they come first:
 *
 *     ['b', null, 'a', 'b']  -->  codes [0, 1, 0] of ['b', 'a'], there [1, 0, 1, 1]
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import type { NewArray } from '../../../core/data/columnSlices.ts'
import { FIXED_FORMS, isFixedKind } from '../../../core/data/fixedValues.ts'
import { type ColumnType, sameType } from '../../../core/data/schema.ts'

export interface Coded {
  /** The code of each value that is not null, in row order. */
  readonly codes: Int32Array
  /** 1 for each row with a value and 0 for nulls; absent where no row is null. */
  readonly there?: Int32Array
  /** The distinct values, without nulls. */
  readonly values: Column
}

/** Whether values of a type are numbered: texts, and values of four or eight bytes. */
export function hasCodes({ kind }: ColumnType): boolean {
  return kind === 'utf8' || wordsOf(kind) >= 1
}

function wordsOf(kind: ColumnType['kind']): number {
  return isFixedKind(kind) ? new FIXED_FORMS[kind].array(1).byteLength / 4 : 0
}

/** Numbers the values of a column in parts; undefined where these differ in type, all rows are null, or distinct values take `mostBytes` or more. */
export function codesOf(parts: readonly Column[], mostBytes: number, newArray: NewArray): Coded | undefined {
  const [first] = parts
  if (first === undefined || parts.some(({ type }) => !sameType(type, first.type))) return undefined
  const rows = parts.reduce((sum, { length }) => sum + length, 0)
  const codes = newArray(Int32Array, rows)
  const found = first.type.kind === 'utf8' ? textCodes(parts, mostBytes, codes) : fixedCodes(parts, mostBytes, codes)
  if (found === undefined || found.count === 0) return undefined
  return {
    codes: codes.subarray(0, found.count),
    values: found.values,
    ...(found.count === rows ? {} : { there: presence(parts, rows, newArray) }),
  }
}

interface Found {
  readonly values: Column
  /** Number of values that are not null. */
  readonly count: number
}

function presence(parts: readonly Column[], rows: number, newArray: NewArray): Int32Array {
  const there = newArray(Int32Array, rows)
  let at = 0
  for (const part of parts) for (let row = 0; row < part.length; row++) there[at++] = isValid(part, row) ? 1 : 0
  return there
}

/**
 * Distinct values by their hashes, found by linear probing: a place holds an entry's number plus one, 0 where it is free. At least half of
 * the places are free. A thread uses one table again for each column, so that the tables of large dictionaries are not garbage.
 */
class Entries {
  /** The low and high words of numbers; of texts, where they begin in `bytes`. */
  lows: Int32Array<ArrayBuffer> = new Int32Array(FIRST_ENTRIES)
  highs: Int32Array<ArrayBuffer> = new Int32Array(FIRST_ENTRIES)
  hashes: Int32Array<ArrayBuffer> = new Int32Array(FIRST_ENTRIES)
  places: Int32Array<ArrayBuffer> = new Int32Array(4 * FIRST_ENTRIES)
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(2 ** 14)
  /** The view of `bytes`, kept since making one for each text takes longer than comparing it. */
  view = new DataView(this.bytes.buffer)
  /** The places in use, a power of two, less one. */
  mask = 0
  size = 0

  begin(): this {
    this.size = 0
    this.mask = 4 * FIRST_ENTRIES - 1
    this.places.fill(0, 0, this.mask + 1)
    return this
  }

  /** Makes room for one more entry, the number of which it returns. Arrays may be others from then on. */
  add(hash: number, place: number): number {
    const code = this.size++
    this.hashes[code] = hash
    this.places[place] = this.size
    if (this.size + 1 === this.lows.length) {
      this.lows = grown(this.lows)
      this.highs = grown(this.highs)
      this.hashes = grown(this.hashes)
    }
    if (2 * this.size > this.mask) this.spread()
    return code
  }

  private spread(): void {
    const length = 4 * (this.mask + 1)
    if (this.places.length < length) this.places = new Int32Array(length)
    else this.places.fill(0, 0, length)
    this.mask = length - 1
    const { places, hashes, mask } = this
    for (let entry = 0; entry < this.size; entry++) {
      let at = (hashes[entry] as number) & mask
      while (places[at] !== 0) at = (at + 1) & mask
      places[at] = entry + 1
    }
  }

  /** Keeps the bytes from `begin` to `end` as an entry that begins at `from`. */
  write(text: Uint8Array, begin: number, end: number, from: number): void {
    const to = from + end - begin
    if (to > this.bytes.length) {
      const more = new Uint8Array(2 * to)
      more.set(this.bytes.subarray(0, from))
      this.bytes = more
      this.view = new DataView(more.buffer)
    }
    // a view of a short text takes longer to make than its bytes to copy
    if (to - from > 64) this.bytes.set(text.subarray(begin, end), from)
    else for (let i = begin, at = from; i < end; i++, at++) this.bytes[at] = text[i] as number // i < end
  }
}

const FIRST_ENTRIES = 512
let own: Entries | undefined

/** The largest difference of whole numbers, plus one, whose codes are looked up by the number itself. */
const SMALL_RANGE = 2 ** 16

/** Numbers values by their bits: zeros of both signs are two values, and so are NaNs that differ in their bits. */
function fixedCodes(parts: readonly Column[], mostBytes: number, codes: Int32Array): Found | undefined {
  const { type } = parts[0] as Column // there is one
  if (!isFixedKind(type.kind)) return undefined
  const { array } = FIXED_FORMS[type.kind]
  const words = wordsOf(type.kind)
  const pieces: Words[] = []
  for (const { values, validity, length } of parts) {
    if (values?.BYTES_PER_ELEMENT !== 4 * words) return undefined
    pieces.push({ own: new Int32Array(values.buffer, values.byteOffset, words * length), validity, length })
  }
  const found = (words === 1 ? nearCodes(pieces, mostBytes, codes) : undefined) ?? hashedCodes(pieces, { words, mostBytes }, codes)
  if (found === undefined) return undefined
  const { size, count, lows, highs } = found
  const values = new array(size)
  const bits = new Int32Array(values.buffer)
  for (let entry = 0; entry < size; entry++) {
    bits[words * entry] = lows[entry] as number
    if (words === 2) bits[2 * entry + 1] = highs[entry] as number
  }
  return { values: { type, length: size, values }, count }
}

/** The values of a part as words. */
interface Words {
  readonly own: Int32Array
  readonly validity: Uint8Array | undefined
  readonly length: number
}

interface FoundWords {
  readonly size: number
  readonly count: number
  readonly lows: Int32Array
  readonly highs: Int32Array
}

/** Numbers words that lie near each other; undefined where they do not, or have too many values. */
function nearCodes(pieces: readonly Words[], mostBytes: number, codes: Int32Array): FoundWords | undefined {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { own, length } of pieces) {
    for (let row = 0; row < length; row++) {
      const word = own[row] as number // row < length
      if (word < least) least = word
      if (word > most) most = word
    }
    if (most - least >= SMALL_RANGE) return undefined
  }
  const known = new Int32Array(Math.max(0, most - least + 1))
  const lows = new Int32Array(known.length)
  let [size, count] = [0, 0]
  for (const { own, validity, length } of pieces)
    for (let row = 0; row < length; row++) {
      if (validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue
      const word = own[row] as number // row < length
      let code = (known[word - least] as number) - 1
      if (code < 0) {
        code = size++
        lows[code] = word
        known[word - least] = size
      }
      codes[count++] = code
    }
  return 4 * size >= mostBytes ? undefined : { size, count, lows, highs: lows }
}

function hashedCodes(
  pieces: readonly Words[],
  { words, mostBytes }: { readonly words: number; readonly mostBytes: number },
  codes: Int32Array,
): FoundWords | undefined {
  own ??= new Entries()
  const entries = own.begin()
  let { lows, highs, places, mask } = entries
  let count = 0
  for (const { own, validity, length } of pieces)
    for (let row = 0; row < length; row++) {
      if (validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue
      const low = own[words * row] as number // words for each value
      const high = words === 2 ? (own[2 * row + 1] as number) : 0
      const hash = hashOf(low, high)
      let place = hash & mask
      let code = (places[place] as number) - 1
      while (code >= 0 && (lows[code] !== low || highs[code] !== high)) {
        place = (place + 1) & mask
        code = (places[place] as number) - 1
      }
      if (code < 0) {
        if (4 * words * (entries.size + 1) >= mostBytes) return undefined
        code = entries.add(hash, place)
        ;({ lows, highs, places, mask } = entries)
        lows[code] = low
        highs[code] = high
      }
      codes[count++] = code
    }
  return { size: entries.size, count, lows, highs }
}

/** Numbers texts by their bytes; of those that come as dictionary codes, each entry of the dictionary once. */
function textCodes(parts: readonly Column[], mostBytes: number, codes: Int32Array): Found | undefined {
  own ??= new Entries()
  const entries = own.begin()
  entries.lows[0] = 0
  let count = 0
  for (const part of parts) {
    const { values, validity, length, dictionary } = part
    const { offsets, values: bytes } = dictionary ?? part
    if (values === undefined || offsets === undefined || bytes === undefined) return undefined
    const own = bytes as Uint8Array // bytes of text
    const view = new DataView(own.buffer, own.byteOffset, own.length)
    const known = dictionary === undefined ? undefined : new Int32Array(dictionary.length)
    for (let row = 0; row < length; row++) {
      if (validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue
      const at = known === undefined ? row : (values[row] as number)
      let code = known === undefined ? -1 : (known[at] as number) - 1
      if (code < 0) {
        code = codeOfText(entries, own, view, offsets[at] as number, offsets[at + 1] as number, mostBytes)
        if (code < 0) return undefined
        if (known !== undefined) known[at] = code + 1
      }
      codes[count++] = code
    }
  }
  const { type } = parts[0] as Column // there is one
  const { size } = entries
  const values = entries.bytes.slice(0, entries.lows[size])
  return { values: { type, length: size, values, offsets: entries.lows.slice(0, size + 1) }, count }
}

/** The code of a text, which is made an entry where it is none yet; -1 where the dictionary is full. */
function codeOfText(entries: Entries, own: Uint8Array, view: DataView, begin: number, end: number, mostBytes: number): number {
  const { lows: begins, hashes, places, mask, view: known } = entries
  const hash = hashOfBytes(view, begin, end)
  let place = hash & mask
  let code = (places[place] as number) - 1
  while (code >= 0 && (hashes[code] !== hash || !isSame(view, begin, end, known, begins[code] as number, begins[code + 1] as number))) {
    place = (place + 1) & mask
    code = (places[place] as number) - 1
  }
  if (code >= 0) return code
  const from = begins[entries.size] as number
  const to = from + end - begin
  // each text of a dictionary has its length before it
  if (to + 4 * (entries.size + 1) >= mostBytes) return -1
  entries.write(own, begin, end, from)
  code = entries.add(hash, place)
  entries.lows[code + 1] = to
  return code
}

function isSame(a: DataView, from: number, end: number, b: DataView, begin: number, to: number): boolean {
  if (end - from !== to - begin) return false
  let [i, j] = [from, begin]
  for (; i + 4 <= end; i += 4, j += 4) if (a.getInt32(i) !== b.getInt32(j)) return false
  for (; i < end; i++, j++) if (a.getUint8(i) !== b.getUint8(j)) return false
  return true
}

/** A hash of a value's two words, which spreads those that differ in high bits alone, as small whole numbers do as doubles. */
export function hashOf(low: number, high: number): number {
  const hash = Math.imul(low ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b)
  return hash ^ (hash >>> 15)
}

/** A hash of a text's bytes. */
export function hashOfBytes(view: DataView, begin: number, end: number): number {
  let hash = end - begin
  let at = begin
  for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ (hash >>> 15) ^ view.getInt32(at, true), 0x9e3779b1)
  for (; at < end; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193)
  return mixed(hash)
}

function mixed(bits: number): number {
  let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

function grown(old: Int32Array): Int32Array<ArrayBuffer> {
  const more = new Int32Array(2 * old.length)
  more.set(old)
  return more
}
