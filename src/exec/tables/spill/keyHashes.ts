/**
 * Hashes of keys: equal keys (see `exec/tables/operators/hashing/keyIds.ts`) have equal hashes, whatever the types of their columns, so the
 * rows of a group, or those that a join matches, come to one spilled part.
 *
 * A null adds nothing to the hash of the list or object that holds it, and so equals an item or field that is absent.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import { NUMBERS } from '../../../core/data/columnConversions.ts'
import { valueReader } from '../../../core/data/columnReaders.ts'
import { type NewArray, ordinary } from '../../../core/data/columnSlices.ts'
import { hashOf } from '../operators/hashing/keyTable.ts'

/** The hash of null, which no other value has at top level. */
const NULL_HASH = 0

/** The hashes of the column's values, as whole numbers of 32 bits. */
export function keyHashes(column: Column, newArray: NewArray = ordinary): Int32Array {
  const hashes = presentHashes(column, newArray)
  if (column.validity !== undefined) for (let i = 0; i < hashes.length; i++) if (!isValid(column, i)) hashes[i] = NULL_HASH
  return hashes
}

function presentHashes(column: Column, newArray: NewArray): Int32Array {
  const { type, length, values, offsets, children = [] } = column
  const hashes = newArray(Int32Array, length)
  if (type.kind === 'null' || type.kind === 'unknown') return hashes.fill(NULL_HASH)
  if (NUMBERS.has(type.kind) && values !== undefined) {
    for (let i = 0; i < length; i++) hashes[i] = hashOfNumber(values[i] as number) // NUMBERS says so
    return hashes
  }
  if ((type.kind === 'utf8' || type.kind === 'binary') && values instanceof Uint8Array && offsets !== undefined) {
    for (let i = 0; i < length; i++) hashes[i] = hashOfBytes(values, offsets[i] as number, offsets[i + 1] as number) // length + 1 offsets
    return hashes
  }
  if (type.kind === 'struct') {
    hashes.fill(0)
    for (const [f, { name }] of type.fields.entries()) {
      const [parts, seed] = [keyHashes(children[f] as Column, newArray), hashOfText(name)] // a child for each field
      for (let i = 0; i < length; i++) hashes[i] = ((hashes[i] as number) + within(parts[i] as number, seed)) | 0
    }
    return hashes
  }
  const read = valueReader(column)
  for (let i = 0; i < length; i++) hashes[i] = hashOfValue(read(i))
  return hashes
}

/** The amount that a field or item adds to the hash of its object or list. */
function within(part: number, seed: number): number {
  return part === NULL_HASH ? 0 : mixed(part, seed)
}

function hashOfValue(value: unknown): number {
  switch (typeof value) {
    case 'number':
      return hashOfNumber(value)
    case 'boolean':
      return hashOfNumber(Number(value))
    case 'bigint':
      return hashOfNumber(Number(value))
    case 'string':
      return hashOfText(value)
    default:
      break
  }
  if (value === null || typeof value !== 'object') return NULL_HASH
  if (value instanceof Date) return hashOfNumber(value.getTime())
  if (value instanceof Uint8Array) return hashOfBytes(value, 0, value.length)
  return Object.entries(value).reduce((sum, [name, item]) => (sum + within(hashOfValue(item), hashOfText(name))) | 0, 0)
}

const NUMBER = new Float64Array(1)
const WORDS = new Int32Array(NUMBER.buffer)

/** The hash of a number: 0 and -0 have one, and so have all NaNs. */
function hashOfNumber(value: number): number {
  NUMBER[0] = Number.isNaN(value) ? Number.NaN : value + 0 // -0 + 0 is 0
  return mixed(WORDS[0] as number, WORDS[1] as number) // two words
}

/** FNV-1a over four bytes at a time; high bits are shifted down, since a product's low bits do not depend on the high bits of its factors. */
function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5
  let i = from
  for (; i + 4 <= to; i += 4) {
    const word =
      (bytes[i] as number) | ((bytes[i + 1] as number) << 8) | ((bytes[i + 2] as number) << 16) | ((bytes[i + 3] as number) << 24) // below `to`
    hash = Math.imul(hash ^ word, 0x9e3779b1)
    hash ^= hash >>> 15
  }
  for (; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193) // i < length
  return mixed(hash, to - from)
}

const encoder = new TextEncoder()

function hashOfText(text: string): number {
  const bytes = encoder.encode(text)
  return hashOfBytes(bytes, 0, bytes.length)
}

/** The hash of two words; never `NULL_HASH`. */
function mixed(low: number, high: number): number {
  return hashOf(low, high) || 1
}

/** Overwrites each hash with a part below `parts`. Each `level` hashes anew, and so separates rows that one part of the level before holds. */
export function partsByHash(hashes: Int32Array, parts: number, level: number): Int32Array {
  for (let i = 0; i < hashes.length; i++) hashes[i] = (hashOf(hashes[i] as number, level + 1) >>> 0) * (parts / 2 ** 32) // i < length
  return hashes
}
