/**
 * The kernel of a semi-join: whether each row's key is in a set, as a bitmap.
 *
 * The set is a bit for every integer of a range, and one more, 0, for all numbers outside. A row's bit is looked
 * up without a branch. Rows come in blocks, and the set bits of each are counted.
 */

import { type Code, get, I, num, OP, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

import { BLOCK_ROWS } from '../columns/wasmColumns.ts'
import { bitOf, isWhole, type KernelType, keyOf } from './groupFrame.ts'

export interface SemiShape {
  readonly type: KernelType
  readonly nullable: boolean
  /** An anti-join, which keeps the rows whose key is not in the set; null is in none. */
  readonly anti: boolean
  /** Intersects the result with the bits that the bitmap has. */
  readonly narrows: boolean
}

/** The fields of the frame, 8 bytes each. */
export const SEMI_FRAME = ['key', 'keyBits', 'base', 'span', 'present', 'bitmap', 'counts'] as const

// run(frame, from, to)
const [FRAME, ROW, TO] = [0, 1, 2]
const [KEY, KEY_BITS, BASE, SPAN, PRESENT, BITMAP, COUNTS] = [3, 4, 5, 6, 7, 8, 9]
const [AT, END, WORD, WHOLE, PLACE, COUNT, BIT] = [10, 11, 12, 13, 14, 15, 16]

export function semiKernel({ type, nullable, anti, narrows }: SemiShape): KernelModule {
  const locals = [KEY, KEY_BITS, BASE, SPAN, PRESENT, BITMAP, COUNTS]
  const load = locals.flatMap((local, i) => {
    const isNumber = local === BASE || local === SPAN
    return [...get(FRAME), ...(isNumber ? I.memory(OP.i32Load, 8 * i) : I.addressLoad(8 * i)), ...set(local)]
  })
  const whole = isWhole(type, AT, WHOLE, KEY)
  const place = [
    ...[...keyOf(type, AT, KEY), ...I.localTee(WHOLE), ...get(BASE), OP.i32Sub, ...I.localTee(PLACE), ...get(SPAN)],
    ...[...get(PLACE), ...get(SPAN), OP.i32LtU, ...(whole === undefined ? [] : [...whole, OP.i32And]), OP.select],
  ]
  const bit: Code = [
    ...[...get(PRESENT), ...place, ...I.localTee(PLACE), ...num(3), OP.i32ShrU, OP.i32Add, ...I.memory(OP.i32Load8U)],
    ...[...get(PLACE), ...num(7), OP.i32And, OP.i32ShrU, ...num(1), OP.i32And],
    ...(nullable ? [...bitOf(KEY_BITS, AT), OP.i32And] : []),
    ...(anti ? [...num(1), OP.i32Xor] : []),
  ]
  const eachBit = [
    ...[...I.loop, ...bit, ...set(BIT), ...get(WORD), ...get(BIT), ...get(AT), ...num(31), OP.i32And, OP.i32Shl, OP.i32Or, ...set(WORD)],
    ...[...get(AT), ...num(1), OP.i32Add, ...I.localTee(AT), ...get(END), OP.i32LtS, ...I.brIf(0), OP.end],
  ]
  const wordAt = [...get(BITMAP), ...get(ROW), ...num(5), OP.i32ShrU, ...num(2), OP.i32Shl, OP.i32Add]
  const eachWord = [
    ...[...get(ROW), ...num(32), OP.i32Add, ...I.localTee(END), ...get(TO), ...get(END), ...get(TO), OP.i32LtS, OP.select, ...set(END)],
    ...[...num(0), ...set(WORD), ...get(ROW), ...set(AT), ...eachBit],
    ...(narrows ? [...wordAt, ...I.memory(OP.i32Load), ...get(WORD), OP.i32And, ...set(WORD)] : []),
    ...[...wordAt, ...get(WORD), ...I.memory(OP.i32Store), ...get(COUNT), ...get(WORD), OP.i32Popcnt, OP.i32Add, ...set(COUNT)],
  ]
  const block = [...get(ROW), ...num(Math.log2(BLOCK_ROWS)), OP.i32ShrU, ...set(PLACE)]
  const body = [
    ...[...load, ...block, ...get(COUNTS), ...get(PLACE), ...num(2), OP.i32Shl, OP.i32Add, ...set(COUNTS)],
    ...[...I.loop, ...eachWord, ...get(END), ...I.localTee(ROW), ...get(TO), OP.i32LtS, ...I.brIf(0), OP.end],
    ...[...get(COUNTS), ...get(COUNT), ...I.memory(OP.i32Store)],
  ]
  return { imports: [], parameters: ['address', 'i32', 'i32'], locals: Array.from({ length: 14 }, () => 'i32' as const), body }
}
