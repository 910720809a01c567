/**
 * The kernel that finds where the fields of CSV records begin and end: 16 bytes at once are compared with the delimiter, the line end
 * and the quote, and only those that equal one of them are looked at.
 *
 * Only whole records are entered into the bounds. The kernel stops before a record that is not plain, and returns where it begins: too
 * many or too few fields, misplaced quotes, no line end. JavaScript decides what is wrong with it, if anything.
 */

import { type Code, get, I, num, OP, SIMD, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

import { numbered } from '../tables/sortKernels.ts'
import { BOUNDS, byteAt, INPUT, NEWLINE, QUOTE, RESULT, RETURN } from './csvLayout.ts'

const LANES = 16

/** The bit mask of the 16 bytes at a place that equal one of the vectors' bytes. */
function maskAt(place: number, wanted: readonly number[]): Code {
  const [load, same] = [I.memory(SIMD.load, INPUT), SIMD.i8Eq]
  const vector = wanted.length > 1 ? [get(place), load, set(wanted[0] as number), get(wanted[0] as number)] : [get(place), load]
  const [, ...others] = wanted.length > 1 ? wanted : [0, ...wanted]
  const compared = others.map((one, i) => (i === 0 ? [vector, get(one), same] : [get(wanted[0] as number), get(one), same, SIMD.or]))
  return [compared, SIMD.i8Bitmask]
}

/** The place of the mask's lowest bit, counted from `place`. */
function lowest(mask: number, place: number): Code {
  return [get(place), get(mask), OP.i32Ctz, OP.i32Add]
}

/**
 * run(at, end, slot, most, step, delimiter): writes bounds of the records from byte `at` on to `slot`, `step` bytes for each
 * record, as long as the slot is below `most`. RESULT gets the place of the first record that is not kept, and its slot.
 */
export function csvRecordsKernel(): KernelModule {
  const { at, end, slot, most, step, delimiter, begin, place, mask, byte, next, found, from, bytes, commas, lines, quotes } = numbered(
    ...(['at', 'end', 'slot', 'most', 'step', 'delimiter'] as const),
    ...(['begin', 'place', 'mask', 'byte', 'next', 'found', 'from', 'bytes', 'commas', 'lines', 'quotes'] as const),
  )
  const [NEXT, SCAN] = [I.br(0), I.br(0)]
  const bound = (local: number, offset: number): Code => [get(slot), get(local), I.memory(OP.i32Store, BOUNDS + offset)]
  const out = (depth: number): Code => I.brIf(depth)
  /** Stands in the loop over bits (depth 0), its block (1), the loop over bytes (2) and its block (3), and here in an `if` as well. */
  const closing: Code = [
    [get(found), num(1), OP.i32Add, set(from), I.block(), I.loop],
    [get(from), get(end), OP.i32GeS, out(6)],
    [maskAt(from, [quotes]), tee(mask), OP.i32Eqz, I.if(), get(from), num(LANES), OP.i32Add, set(from), I.br(1), OP.end],
    [lowest(mask, from), tee(from), get(end), OP.i32GeS, out(6)],
    // a doubled quote is part of the text
    [get(from), num(1), OP.i32Add, get(end), OP.i32GeS, I.brIf(1), byteAt(from, 1), num(QUOTE), OP.i32Ne, I.brIf(1)],
    [get(from), num(2), OP.i32Add, set(from), I.br(0), OP.end, OP.end],
  ]
  const quoted: Code = [
    [get(found), get(begin), OP.i32Ne, out(4), closing],
    [get(slot), get(found), num(1), OP.i32Add, num(-1), OP.i32Xor, I.memory(OP.i32Store, BOUNDS), bound(from, 4)],
    [get(from), num(1), OP.i32Add, tee(found), get(end), OP.i32GeS, out(4)],
    [byteAt(found), tee(byte), num(RETURN), OP.i32Eq, I.if(), get(found), num(1), OP.i32Add, tee(found), get(end), OP.i32GeS, out(5)],
    [byteAt(found), tee(byte), num(NEWLINE), OP.i32Ne, out(5), OP.end],
    [get(byte), get(delimiter), OP.i32Ne, get(byte), num(NEWLINE), OP.i32Ne, OP.i32And, out(4)],
    // the bytes behind the field are compared again
    [num(0), set(mask), get(found), num(LANES - 1), OP.i32Sub, set(place)],
  ]
  const hasReturn: Code = [get(byte), num(NEWLINE), OP.i32Eq, get(found), get(begin), OP.i32GtS, OP.i32And]
  const bare: Code = [
    [bound(begin, 0), get(slot), get(found)],
    [hasReturn, I.if('i32'), get(found), num(1), OP.i32Sub, I.memory(OP.i32Load8U, INPUT), num(RETURN), OP.i32Eq],
    [OP.else, num(0), OP.end, OP.i32Sub, I.memory(OP.i32Store, BOUNDS + 4)],
  ]
  const recordEnds: Code = [
    [get(slot), get(next), OP.i32Ne, out(4), get(found), num(1), OP.i32Add, set(at), get(next), get(step), OP.i32Add, set(next)],
    [get(slot), get(most), OP.i32GeS, out(4)],
  ]
  const eachBit: Code = [
    [get(mask), OP.i32Eqz, I.brIf(1), lowest(mask, place), set(found)],
    [get(mask), get(mask), num(1), OP.i32Sub, OP.i32And, set(mask), get(found), get(end), OP.i32GeS, out(3)],
    [byteAt(found), tee(byte), num(QUOTE), OP.i32Eq, I.if(), quoted, OP.else, bare, OP.end],
    [get(slot), num(8), OP.i32Add, set(slot)],
    [get(byte), num(NEWLINE), OP.i32Eq, I.if(), recordEnds, OP.else, get(slot), get(next), OP.i32Eq, out(4), OP.end],
    [get(found), num(1), OP.i32Add, set(begin), NEXT],
  ]
  const splat = (value: Code, local: number): Code => [value, SIMD.i8Splat, set(local)]
  const body: Code = [
    [splat(get(delimiter), commas), splat(num(NEWLINE), lines), splat(num(QUOTE), quotes)],
    [get(at), tee(begin), set(place), get(slot), get(step), OP.i32Add, set(next)],
    [I.block(), I.loop, get(place), get(end), OP.i32GeS, out(1)],
    [maskAt(place, [bytes, commas, lines, quotes]), set(mask), I.block(), I.loop, eachBit, OP.end, OP.end],
    [get(place), num(LANES), OP.i32Add, set(place), SCAN, OP.end, OP.end],
    [num(0), get(at), I.memory(OP.i32Store, RESULT), num(0), get(next), get(step), OP.i32Sub, I.memory(OP.i32Store, RESULT + 4)],
  ]
  return {
    imports: [],
    parameters: new Array<'i32'>(6).fill('i32'),
    locals: [...new Array<'i32'>(7).fill('i32'), 'v128', 'v128', 'v128', 'v128'],
    body: [body],
    foreign: true,
  }
}

/** run(from, to): writes the parity of the number of quotes between two places, which are a multiple of 16 apart. */
export function csvQuotesKernel(): KernelModule {
  const { from, to, odd, quotes } = numbered('from', 'to', 'odd', 'quotes')
  const body: Code = [
    [num(QUOTE), SIMD.i8Splat, set(quotes), I.block(), I.loop, get(from), get(to), OP.i32GeS, I.brIf(1)],
    [get(odd), maskAt(from, [quotes]), OP.i32Xor, set(odd), get(from), num(LANES), OP.i32Add, set(from), I.br(0), OP.end, OP.end],
    [num(0), get(odd), OP.i32Popcnt, num(1), OP.i32And, I.memory(OP.i32Store, RESULT)],
  ]
  return { imports: [], parameters: ['i32', 'i32'], locals: ['i32', 'v128'], body: [body], foreign: true }
}
