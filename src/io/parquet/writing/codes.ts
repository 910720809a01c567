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

/** A hash table with linear probing: a slot holds an entry's number plus one, 0 where it is free. At least half of the slots are free. */
function placesOf(hashes: Int32Array, size: number, length: number): Int32Array<ArrayBuffer> {
  const places = new Int32Array(length)
  const mask = length - 1
  for (let entry = 0; entry < size; entry++) {
    let at = (hashes[entry] as number) & mask
    while (places[at] !== 0) at = (at + 1) & mask
    places[at] = entry + 1
  }
  return places
}

const FIRST_ENTRIES = 512

/** Numbers values by their bits: zeros of both signs are two values, and so are NaNs that differ in their bits. */
function fixedCodes(parts: readonly Column[], mostBytes: number, codes: Int32Array): Found | undefined {
  const { type } = parts[0] as Column // there is one
  if (!isFixedKind(type.kind)) return undefined
  const { array } = FIXED_FORMS[type.kind]
  const words = wordsOf(type.kind)
  let lows = new Int32Array(FIRST_ENTRIES)
  let highs = new Int32Array(FIRST_ENTRIES)
  let hashes = new Int32Array(FIRST_ENTRIES)
  let places = new Int32Array(2 * FIRST_ENTRIES)
  let size = 0
  let count = 0
  for (const { values, validity, length } of parts) {
    if (values?.BYTES_PER_ELEMENT !== 4 * words) return undefined
    const own = new Int32Array(values.buffer, values.byteOffset, words * length)
    for (let row = 0; row < length; row++) {
      if (validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue
      const low = own[words * row] as number // words for each value
      const high = words === 2 ? (own[2 * row + 1] as number) : 0
      const hash = mixed(low ^ Math.imul(high, 0x9e3779b1))
      let slot = hash & (places.length - 1)
      let code = (places[slot] as number) - 1
      while (code >= 0 && (lows[code] !== low || highs[code] !== high)) {
        slot = (slot + 1) & (places.length - 1)
        code = (places[slot] as number) - 1
      }
      if (code < 0) {
        if (4 * words * (size + 1) >= mostBytes) return undefined
        code = size++
        lows[code] = low
        highs[code] = high
        hashes[code] = hash
        places[slot] = size
        if (size === lows.length) {
          lows = grown(lows)
          highs = grown(highs)
          hashes = grown(hashes)
          places = placesOf(hashes, size, 4 * size)
        }
      }
      codes[count++] = code
    }
  }
  const values = new array(size)
  const bits = new Int32Array(values.buffer)
  for (let entry = 0; entry < size; entry++) {
    bits[words * entry] = lows[entry] as number
    if (words === 2) bits[2 * entry + 1] = highs[entry] as number
  }
  return { values: { type, length: size, values }, count }
}

function textCodes(parts: readonly Column[], mostBytes: number, codes: Int32Array): Found | undefined {
  let begins = new Int32Array(FIRST_ENTRIES)
  let hashes = new Int32Array(FIRST_ENTRIES)
  let places = new Int32Array(2 * FIRST_ENTRIES)
  let bytes = new Uint8Array(2 ** 14)
  let known = new DataView(bytes.buffer)
  let size = 0
  let count = 0
  for (const { values, offsets, validity, length } of parts) {
    if (values === undefined || offsets === undefined) return undefined
    const own = values as Uint8Array // bytes of text
    const words = new DataView(own.buffer, own.byteOffset, own.length)
    for (let row = 0; row < length; row++) {
      if (validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0) continue
      const begin = offsets[row] as number // one more than rows
      const end = offsets[row + 1] as number
      let hash = end - begin
      let at = begin
      for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ (hash >>> 15) ^ words.getInt32(at, true), 0x9e3779b1)
      for (; at < end; at++) hash = Math.imul(hash ^ (own[at] as number), 0x01000193)
      hash = mixed(hash)
      let slot = hash & (places.length - 1)
      let code = (places[slot] as number) - 1
      while (
        code >= 0 &&
        (hashes[code] !== hash || !isSame(words, begin, end, known, begins[code] as number, begins[code + 1] as number))
      ) {
        slot = (slot + 1) & (places.length - 1)
        code = (places[slot] as number) - 1
      }
      if (code < 0) {
        const from = begins[size] as number
        const to = from + end - begin
        // each text of a dictionary has its length before it
        if (to + 4 * (size + 1) >= mostBytes) return undefined
        if (to > bytes.length) {
          const more = new Uint8Array(2 * to)
          more.set(bytes.subarray(0, from))
          bytes = more
          known = new DataView(bytes.buffer)
        }
        bytes.set(own.subarray(begin, end), from)
        code = size++
        hashes[code] = hash
        places[slot] = size
        if (size + 1 === begins.length) {
          begins = grown(begins)
          hashes = grown(hashes)
          places = placesOf(hashes, size, 4 * begins.length)
        }
        begins[size] = to
      }
      codes[count++] = code
    }
  }
  const { type } = parts[0] as Column // there is one
  return { values: { type, length: size, values: bytes.subarray(0, begins[size]), offsets: begins.subarray(0, size + 1) }, count }
}

function isSame(a: DataView, from: number, end: number, b: DataView, begin: number, to: number): boolean {
  if (end - from !== to - begin) return false
  let [i, j] = [from, begin]
  for (; i + 4 <= end; i += 4, j += 4) if (a.getInt32(i) !== b.getInt32(j)) return false
  for (; i < end; i++, j++) if (a.getUint8(i) !== b.getUint8(j)) return false
  return true
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
