/**
 * Equality of a column of text with a constant: by its code where the column has codes (`exec/tables/columns/texts/textCodes.ts`), else on
 * the UTF-8 bytes, a row at a time, as text is of any length.
 *
 * Bytes and text are equal together unless decoding changed the bytes: bytes that are no UTF-8 become U+FFFD, and a
 * byte order mark in front is dropped. So constants that hold either are not compiled, nor half of a surrogate pair.
 */

import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { i64Const } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'

/** The most bytes of a constant; longer ones would make too much code. */
const MOST_BYTES = 64

/** The mask of lanes where the text equals the constant; lanes in which it is null are arbitrary. */
export function textEquals(w: ColumnWriter, left: ColumnValue, right: ColumnValue): number {
  const [column, constant] = left.kind === 'other' ? [left, right] : [right, left]
  if (column.kind !== 'other' || constant.kind !== 'constant' || typeof constant.value !== 'string') {
    throw new NotCompiled('it compares texts that are not constant')
  }
  const text = new TextEncoder().encode(constant.value)
  if (text.length > MOST_BYTES || /[\ufffd\ufeff]/.test(constant.value) || !isWellFormed(constant.value)) {
    throw new NotCompiled('it compares text with an unusual constant')
  }
  const codes = w.codes(column.column)
  if (codes !== undefined) {
    const code = w.address({ kind: 'code', column: column.column, text: constant.value })
    const lanes = w.constant([...I.localGet(code), SIMD.i32Splat])
    return w.keep([...I.localGet(codes), ...I.localGet(lanes), SIMD.i32Eq])
  }
  const offsets = w.address({ kind: 'offsets', column: column.column })
  const values = w.address({ kind: 'values', column: column.column })
  const [start, bytes] = [w.declare('i32'), w.declare('i32')]
  return w.eachInteger((lane) => {
    const at = w.place(offsets, 2)
    const length = [...at, ...I.memory(OP.i32Load, 4 * lane + 4), ...at, ...I.memory(OP.i32Load, 4 * lane), ...I.localTee(start), OP.i32Sub]
    const same = [...[...I.localGet(start), ...I.localGet(values), OP.i32Add, ...I.localSet(bytes)], ...sameBytes(text, bytes)]
    const hasLength = [...length, ...I.i32Const(text.length), OP.i32Eq, ...I.if('i32'), ...same, OP.else, ...I.i32Const(0), OP.end]
    // after the last row there are no offsets to read
    const isSame = [...w.isRow(lane), ...I.if('i32'), ...hasLength, OP.else, ...I.i32Const(0), OP.end]
    return [...I.i32Const(0), ...isSame, OP.i32Sub]
  })
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** 1 where the bytes at the address are these, else 0. */
export function sameBytes(text: Uint8Array, address: number): Code {
  const view = new DataView(text.buffer)
  const tests: Code[] = []
  let at = 0
  for (; at + 8 <= text.length; at += 8) {
    tests.push([...I.localGet(address), ...I.memory(OP.i64Load, at), ...i64Const(view.getBigInt64(at, true)), OP.i64Eq])
  }
  for (const [width, opcode] of [
    [4, OP.i32Load],
    [2, OP.i32Load16U],
    [1, OP.i32Load8U],
  ] as const) {
    if (at + width > text.length) continue
    const value = width === 4 ? view.getInt32(at, true) : width === 2 ? view.getUint16(at, true) : view.getUint8(at)
    tests.push([...I.localGet(address), ...I.memory(opcode, at), ...I.i32Const(value), OP.i32Eq])
    at += width
  }
  return tests.length === 0 ? I.i32Const(1) : [...tests, ...tests.slice(1).map(() => OP.i32And)]
}
