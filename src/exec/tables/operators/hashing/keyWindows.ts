/**
 * Dense key ranges (a perfect hash): whole numbers, booleans and dates that lie close together, and objects of a few of those, are their
 * own codes. A range is called a window; it has a place for each key, and one for null.
 *
 *     a key        its place is key - base; null's place is `span`
 *     { a, b }     place of a * (number of places of b) + place of b
 *
 * Windows are guessed from a sample of the keys; keys outside of them are found when codes are made.
 */
import type { Column } from '../../../../core/data/column.ts'
import { sliceColumn } from '../../../../core/data/columnSlices.ts'
import { type ColumnType, sameType } from '../../../../core/data/schema.ts'
import { typedLoop, wordsOf } from '../../../kernels/js/typedLoops.ts'
import { MOST_PARTS } from '../../../kernels/tables/groupFrame.ts'

/** The keys from `base` to `base + span` (exclusive), each of which has a place. */
export interface Window {
  readonly base: number
  readonly span: number
}

/** The most places of all windows together: a count for each fits the core's caches. */
const MOST_PLACES = 2 ** 21
/** For objects: this many places are allowed for any number of rows; more only if there are as many rows. */
const FEW_PLACES = 2 ** 16
/** Places per row that are allowed for wide windows: a hash table takes as much memory for each key, and is no faster. */
const PLACES_PER_ROW = 2
/** The most places of wide windows, for any number of rows: 64 MiB of counts for a thread. */
const MOST_WIDE_PLACES = 2 ** 24

/** The sample to guess windows from: so many rows, in pieces from all of the table, as keys may rise from the first row to the last. */
const LOOKED_AT = 65_536
const PIECES = 16

/** Functions from the width of the sample's range to the places added to it; the widest window that is allowed is taken. */
const MARGINS: readonly ((width: number) => number)[] = [
  (width) => 2 * width + 1024,
  (width) => Math.floor(width / 2) + 16,
  (width) => Math.floor(width / 8) + 2,
  () => 0,
]

/** The columns of a key that can be its own code: itself, or its fields; undefined for a key of other types, or of too many fields. */
export function keyParts(key: Column): readonly Column[] | undefined {
  const parts = key.type.kind === 'struct' ? (key.children ?? []) : [key]
  if (key.type.kind === 'struct' && key.validity !== undefined) return undefined
  if (parts.length === 0 || parts.length > MOST_PARTS) return undefined
  return parts.every((part) => codeForm(part) !== undefined && part.values !== undefined) ? parts : undefined
}

/** The number of places of all windows together, null's included. */
export function placesIn(windows: readonly Window[]): number {
  return windows.reduce((places, { span }) => places * (span + 1), 1)
}

/** For each part of the key, the distance between the codes of two neighboring places. */
export function stridesOf(windows: readonly Window[]): readonly number[] {
  return windows.map((_, p) => placesIn(windows.slice(p + 1)))
}

export interface WindowOptions {
  /** The size of the sample, in keys. */
  readonly lookedAt?: number | undefined
  /** Allows windows larger than the caches, where there are enough rows for their places. */
  readonly wide?: boolean
}

/** A window for each part of the key; undefined where the sample has other than whole numbers, or spans too many places. `type` is the type of all keys. */
export function windowsOf(
  keys: readonly Column[],
  type: ColumnType,
  { lookedAt = LOOKED_AT, wide = false }: WindowOptions = {},
): readonly Window[] | undefined {
  const rows = keys.reduce((sum, key) => sum + key.length, 0)
  const parts = piecesOf(
    keys.filter((key) => sameType(key.type, type)),
    lookedAt,
  ).map(keyParts)
  const ranges: (readonly [number, number])[] = []
  for (const piece of parts) {
    if (piece === undefined) return undefined
    for (const [p, part] of piece.entries()) {
      const found = wholeRange(part, part.length)
      if (found === undefined) return undefined
      const known = ranges[p] ?? NOTHING
      ranges[p] = [Math.min(known[0], found[0]), Math.max(known[1], found[1])]
    }
  }
  if (ranges.length === 0 || ranges.some(([least, most]) => most < least)) return undefined
  const kinds = type.kind === 'struct' ? type.fields.map((field) => field.type.kind) : [type.kind]
  const near = ranges.length === 1 ? MOST_PLACES : Math.min(MOST_PLACES, Math.max(FEW_PLACES, rows))
  const most = wide ? Math.max(near, Math.min(MOST_WIDE_PLACES, PLACES_PER_ROW * rows)) : near
  for (const margin of ranges.length === 1 && !wide ? MARGINS.slice(0, 2) : MARGINS) {
    const windows = ranges.map((range, p) => windowAround(range, margin, kinds[p] === 'u32' ? 0 : -(2 ** 31)))
    if (placesIn(windows) <= most) return windows
  }
  return undefined
}

const NOTHING: readonly [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

function windowAround([from, to]: readonly [number, number], margin: (width: number) => number, least: number): Window {
  const width = to - from + 1
  const more = margin(width)
  return { base: Math.max(least, from - Math.floor(more / 2)), span: width + more }
}

/** A sample of the keys: all where they are few, else pieces spread from the first to the last. */
function piecesOf(keys: readonly Column[], lookedAt: number): readonly Column[] {
  const rows = keys.reduce((sum, key) => sum + key.length, 0)
  if (rows <= lookedAt) return keys
  const length = lookedAt / PIECES
  const firsts = Array.from({ length: PIECES }, (_, i) => Math.floor((i * (rows - length)) / (PIECES - 1)))
  let before = 0
  return keys.flatMap((key) => {
    const begun = before
    before += key.length
    const cut = firsts.map((first) => [Math.max(first - begun, 0), Math.min(first + length - begun, key.length)] as const)
    return cut.flatMap(([from, to]) => (from < to ? [sliceColumn(key, from, to)] : []))
  })
}

/** The least and the greatest of the first `length` keys, least > greatest where all are null; undefined where one is no whole number of 32 bits. */
export function wholeRange(key: Column, length: number): readonly [number, number] | undefined {
  const form = codeForm(key)
  if (form === undefined || key.values === undefined) return undefined
  const loop = typedLoop<(key: unknown, validity: unknown, length: number) => readonly [number, number] | undefined>(
    ['k', 'validity', 'length'],
    `let least = Infinity, most = -Infinity; // ${key.type.kind}
for (let i = 0; i < length; i++) {
${key.validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'}
const value = ${form.value};
if (!(${form.small})) return undefined;
if (value < least) least = value;
if (value > most) most = value;
}
return [least, most];`,
  )
  return loop(form.array, key.validity, length)
}

/** The least and the greatest key of a sample, as `wholeRange` gives them. */
export function rangeSeen(key: Column, lookedAt: number): readonly [number, number] | undefined {
  let [least, most] = NOTHING
  for (const piece of piecesOf([key], lookedAt)) {
    const found = wholeRange(piece, piece.length)
    if (found === undefined) return undefined
    least = Math.min(least, found[0])
    most = Math.max(most, found[1])
  }
  return [least, most]
}

/** Sets the bits of `marks` at the places of the keys, all of which lie in the window. */
export function markPlaces(key: Column, { base }: Window, marks: Uint8Array): void {
  const form = codeForm(key)
  if (form === undefined) return
  const loop = typedLoop<(key: unknown, validity: unknown, length: number, base: number, marks: Uint8Array) => void>(
    ['k', 'validity', 'length', 'base', 'marks'],
    `for (let i = 0; i < length; i++) { // ${key.type.kind}
${key.validity === undefined ? '' : 'if ((validity[i >> 3] & (1 << (i & 7))) === 0) continue;'}
const place = ${form.value} - base;
marks[place >> 3] |= 1 << (place & 7);
}`,
  )
  loop(form.array, key.validity, key.length, base, marks)
}

/** Source text that reads key `i` as a number from array `k`, and tests that it is whole; undefined for types that cannot be codes. */
export function codeForm(key: Column): { readonly value: string; readonly small: string; readonly array: unknown } | undefined {
  switch (wordsOf(key.type.kind)) {
    case 'integer':
      return { value: 'k[i]', small: 'true', array: key.values }
    case 'float':
      return { value: 'k[i]', small: '(value | 0) === value', array: key.values }
    case 'long': {
      const words =
        key.values === undefined ? undefined : new Int32Array(key.values.buffer, key.values.byteOffset, key.values.byteLength / 4)
      return { value: 'k[2 * i]', small: 'k[2 * i + 1] === value >> 31', array: words }
    }
    case undefined:
      return undefined
  }
}
