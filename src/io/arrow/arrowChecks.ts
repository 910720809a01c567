/** Checks of columns that come of foreign bytes: offsets go forward and stay inside, buffers are long enough. */
import type { Column } from '../../core/data/column.ts'
import { columnError, type Place } from './arrowTypes.ts'

/** A SourceError for anything by which a column of `length` would be read outside its buffers. */
export function checkColumn(column: Column, length: number, place: Place): void {
  const damaged = (what: string) => columnError(place, `${what}: the file is damaged.`)
  if (column.length !== length) throw damaged(`it has ${column.length} values instead of ${length}`)
  if (column.validity !== undefined && column.validity.length * 8 < length) throw damaged('its null bitmap is too short')
  const { offsets, values, children } = column
  if (offsets !== undefined) {
    if (offsets.length !== length + 1) throw damaged('its offsets are too short')
    const limit = children?.[0]?.length ?? values?.length ?? 0
    for (let i = 0; i < length; i++) if ((offsets[i] ?? 0) > (offsets[i + 1] ?? 0)) throw damaged('its offsets go backwards')
    if ((offsets[0] ?? 0) < 0 || (offsets[length] ?? 0) > limit) throw damaged('its offsets point outside')
    for (const child of children ?? []) checkColumn(child, child.length, place)
  } else {
    if (values !== undefined && values.length < length) throw damaged('its values are too short')
    for (const child of children ?? []) checkColumn(child, length, place)
  }
}

/** 64-bit offsets as 32-bit ones from 0, and where they begin and end among `limit` elements. */
export function narrowedOffsets(
  large: BigInt64Array | undefined,
  { length, limit, place }: { readonly length: number; readonly limit: number; readonly place: Place },
): { readonly offsets: Int32Array; readonly start: number; readonly end: number } {
  if (large === undefined || large.length === 0) return { offsets: new Int32Array(length + 1), start: 0, end: 0 }
  const start = Number(large[0] ?? 0n)
  const end = Number(large[length] ?? 0n)
  if (large.length <= length) throw columnError(place, 'its offsets are too short: the file is damaged.')
  if (start < 0 || end > limit) throw columnError(place, 'its offsets point outside: the file is damaged.')
  if (end - start > LARGEST_OFFSET) throw columnError(place, 'one record batch holds more than 2 GiB of it. Write smaller batches.')
  const offsets = new Int32Array(length + 1)
  let before = start
  for (let i = 0; i <= length; i++) {
    const offset = Number(large[i])
    // before the difference is narrowed, which would bring it back into range
    if (offset < before || offset > end) throw columnError(place, 'its offsets go backwards: the file is damaged.')
    offsets[i] = offset - start
    before = offset
  }
  return { offsets, start, end }
}

/** Offsets of elements of one size; a SourceError where 32 bits do not hold them. */
export function evenOffsets(length: number, size: number, place: Place): Int32Array {
  if (length * size > LARGEST_OFFSET) throw columnError(place, 'one record batch holds more than 2 GiB of it. Write smaller batches.')
  const offsets = new Int32Array(length + 1)
  for (let i = 1; i <= length; i++) offsets[i] = i * size
  return offsets
}

export const LARGEST_OFFSET: number = 2 ** 31 - 1

/**
 * The bytes that values may take beyond those they come from: views and dictionaries name the same bytes many times. One
 * room is for all columns of a record batch.
 */
export interface Room {
  left: number
}

/** Room without end, for tables that are in memory already. */
export const ENDLESS: Room = Object.freeze({ left: Number.POSITIVE_INFINITY })

/** Takes room for `bytes`; a SourceError when there is too little. */
export function takeRoom(room: Room, bytes: number, place: Place): void {
  if (bytes > room.left) {
    throw columnError(
      place,
      `its values take ${bytes} bytes when each is written out, and ${Math.max(0, Math.floor(room.left))} are left for one record batch. Write smaller batches, or give the session more memory.`,
    )
  }
  if (room !== ENDLESS) room.left -= bytes
}

/** Bytes that the elements before each of a column take, with the total at the end: what a copy of any of them costs. */
export function bytesBefore(column: Column): Float64Array {
  const { length, offsets, children = [] } = column
  const before = new Float64Array(length + 1)
  if (column.type.kind === 'struct') {
    for (const child of children.map(bytesBefore)) for (let i = 0; i <= length; i++) before[i] = (before[i] ?? 0) + (child[i] ?? 0)
    return before
  }
  const [child] = children
  const inner = child === undefined ? undefined : bytesBefore(child)
  const width = column.values?.BYTES_PER_ELEMENT ?? 0
  for (let i = 0; i <= length; i++) {
    const at = offsets?.[i] ?? 0
    before[i] = offsets === undefined ? i * width : 4 * i + (inner === undefined ? at : (inner[at] ?? 0))
  }
  return before
}
