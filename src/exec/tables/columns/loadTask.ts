/**
 * Puts columns of splits together in whole columns, over which kernels can run: each split at its place.
 *
 *     split 0   price 3 4   name  a bb          price  3 4 5 6
 *     split 1   price 5 6   name  c dd    -->   name   a bb c dd
 *
 * The place of values of a fixed width is known with the numbers of rows of the splits. That of texts is known only when all
 * splits have been read: they lie in blocks of their own until then.
 */
import type { Column } from '../../../core/data/column.ts'
import { isFixedKind } from '../../../core/data/fixedValues.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import type { Arena } from '../../memory/arena.ts'
import { copyBytes } from '../operators/gather/copyBytes.ts'
import type { Placed } from './placed.ts'
import { writeCodes } from './texts/loadedTexts.ts'
import { spellTexts } from './texts/spelledTexts.ts'
import type { Codes } from './texts/textCodes.ts'

/** Whether columns of the type can be put together this way. */
export function isLoadable(type: ColumnType): boolean {
  if (type.kind === 'struct') return type.fields.every((field) => isLoadable(field.type))
  return isFixedKind(type.kind) || type.kind === 'null' || isText(type)
}

export function isText({ kind }: ColumnType): boolean {
  return kind === 'utf8' || kind === 'binary'
}

/** Copies a part to its place in the whole column; returns the number of its nulls. */
export function place({ part, whole, firstRow, firstByte, places }: Placed, arena: Arena): number {
  const { length } = part
  const [from, to] = [part.values, whole.values]
  if (places !== undefined) writeCodes(part, places, to as Codes, { firstRow, arena })
  else if (part.dictionary !== undefined) spellTexts(part, whole, { firstRow, firstByte }, arena)
  else if (whole.offsets !== undefined) placeTexts(part, whole, { firstRow, firstByte }, arena)
  else if (from !== undefined && to !== undefined && !isThere(from, to, firstRow))
    to.subarray(firstRow, firstRow + length).set(from.subarray(0, length) as never) // of one class
  return nullsPlaced(part, whole, firstRow)
}

type Values = NonNullable<Column['values']>

/** The bytes of a whole column for a split's values or dictionary indices; undefined where the column has none of a fixed width. */
export function placeOf({ values }: Column, firstRow: number, rows: number): Uint8Array | undefined {
  if (values === undefined) return undefined
  const width = values.BYTES_PER_ELEMENT
  return new Uint8Array(values.buffer, values.byteOffset + firstRow * width, rows * width)
}

function isThere(from: Values, to: Values, firstRow: number): boolean {
  return from.buffer === to.buffer && from.byteOffset === to.byteOffset + firstRow * to.BYTES_PER_ELEMENT
}

/** Sets the bits of the part's values that are not null in the whole column's bitmap; returns the number of nulls, 0 where it has no bitmap. */
export function nullsPlaced(part: Column, whole: Column, firstRow: number): number {
  return whole.validity === undefined ? 0 : placeBits(part, whole.validity, firstRow)
}

function placeTexts(part: Column, whole: Column, { firstRow, firstByte }: Pick<Placed, 'firstRow' | 'firstByte'>, arena: Arena): void {
  const from = part.offsets as Int32Array // as the caller saw
  const to = (whole.offsets as Int32Array).subarray(firstRow + 1, firstRow + 1 + part.length)
  const shift = firstByte - (from[0] as number)
  for (let i = 0; i < to.length; i++) to[i] = (from[i + 1] as number) + shift
  const bytes = (part.values as Uint8Array).subarray(from[0], from[part.length])
  copyBytes(arena, bytes, (whole.values as Uint8Array).subarray(firstByte, firstByte + bytes.length))
}

/** The number of bytes of a part's texts. */
export function textBytes({ offsets, length }: Column): number {
  return offsets === undefined ? 0 : (offsets[length] as number) - (offsets[0] as number)
}

/** Copies a part's bits; other parts may have bits in its first and last byte, which are set atomically. Returns the number of nulls. */
function placeBits({ validity, length }: Column, bits: Uint8Array, firstRow: number): number {
  let present = 0
  const end = firstRow + length
  for (let row = firstRow; row < end; ) {
    const whole = validity === undefined && (row & 7) === 0 ? end >> 3 : 0
    if (whole > row >> 3) {
      bits.fill(255, row >> 3, whole)
      present += 8 * whole - row
      row = 8 * whole
      continue
    }
    const byte = row >> 3
    const last = Math.min(end, (byte + 1) << 3)
    const count = last - row
    const own = validity === undefined ? (1 << count) - 1 : bitsAt(validity, row - firstRow, count)
    present += BITS_SET[own] as number
    const shifted = own << (row & 7)
    if (count === 8) bits[byte] = shifted
    else Atomics.or(bits, byte, shifted)
    row = last
  }
  return length - present
}

/** Up to eight bits of a bitmap, from bit `at` on. */
function bitsAt(bits: Uint8Array, at: number, count: number): number {
  const two = (bits[at >> 3] ?? 0) | ((bits[(at >> 3) + 1] ?? 0) << 8)
  return (two >> (at & 7)) & ((1 << count) - 1)
}

const BITS_SET: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0
  for (let rest = byte; rest > 0; rest >>= 1) count += rest & 1
  return count
})
