/** Kernels that read texts from the bytes of CSV fields, with doubled quotes undoubled, and truth values. */

import { type Code, get, I, num, OP, SIMD, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

import {
  added,
  byteAt,
  columnKernel,
  eachField,
  FIELD,
  INPUT,
  localsFrom,
  ODD,
  OFFSETS,
  QUOTE,
  TEXT_ROOM,
  TEXTS,
  UNQUOTED,
  VALUES,
  valuePlace,
} from './csvLayout.ts'

const { begin, end, base, row } = FIELD
const LANES = 16

/** Writes the texts of a column side by side from TEXTS on; OFFSETS gets the end of each, plus `base`. */
export function csvTextKernel(): KernelModule {
  const { used, to, mask, quotes, bytes } = localsFrom('used', 'to', 'mask', 'quotes', 'bytes')
  const move = [get(to), get(begin), I.memory(SIMD.load, INPUT), tee(bytes), I.memory(SIMD.store, TEXTS)]
  const inQuotes: Code = [
    [I.loop, move, get(bytes), get(quotes), SIMD.i8Eq, SIMD.i8Bitmask, tee(mask), OP.i32Eqz, I.if()],
    [added(begin, LANES), added(to, LANES), OP.else, get(mask), OP.i32Ctz, tee(mask), get(begin), OP.i32Add, set(begin)],
    [get(to), get(mask), OP.i32Add, set(to)],
    // the first of two quotes is kept; the quote that closes the field lies behind its end
    [get(begin), get(end), OP.i32LtS, I.if(), added(begin, 2), added(to, 1), OP.end, OP.end],
    [get(begin), get(end), OP.i32LtS, I.brIf(0), OP.end, get(to), get(begin), get(end), OP.i32Sub, OP.i32Sub, set(used)],
  ]
  const bare: Code = [
    [get(used), get(end), get(begin), OP.i32Sub, OP.i32Add, set(used)],
    [I.loop, move, added(to, LANES), added(begin, LANES), get(begin), get(end), OP.i32LtS, I.brIf(0), OP.end],
  ]
  const ended: Code = [valuePlace(2), get(base), get(used), OP.i32Add, I.memory(OP.i32Store, OFFSETS)]
  const isQuoted = [get(begin), num(0), OP.i32LtS]
  const first = [get(begin), num(-1), OP.i32Xor, get(begin), isQuoted, OP.select]
  const plain: Code = [
    [get(used), get(end), first, OP.i32Sub, OP.i32Add, num(TEXT_ROOM), OP.i32GtS, I.brIf(ODD), get(used), set(to)],
    [isQuoted, I.if(), first, set(begin), inQuotes, OP.else, bare, OP.end, ended],
  ]
  const body = [num(QUOTE), SIMD.i8Splat, set(quotes), eachField({ plain, absent: ended })]
  return columnKernel(body, ['i32', 'i32', 'i32', 'v128', 'v128'])
}

/** The words `true` and `fals`, four bytes each; letters may be of either case. */
const [TRUE, FALS] = ['true', 'fals'].map((text) => Buffer.from(text).readUInt32LE(0) | 0) as [number, number]
const LOWER_CASES = 0x20202020
const LETTER_E = 101

export function csvTruthKernel(): KernelModule {
  const { letters, truth } = localsFrom('letters', 'truth')
  const lettersAre = (word: number): Code => [get(letters), num(word), OP.i32Eq]
  const lengthIs = (length: number): Code => [get(end), get(begin), OP.i32Sub, num(length), OP.i32Eq, OP.i32And]
  const plain: Code = [
    [UNQUOTED, get(begin), I.memory(OP.i32Load, INPUT), num(LOWER_CASES), OP.i32Or, set(letters)],
    [lettersAre(TRUE), lengthIs(4), tee(truth), lettersAre(FALS), lengthIs(5)],
    [byteAt(begin, 4), num(LOWER_CASES & 255), OP.i32Or, num(LETTER_E), OP.i32Eq, OP.i32And, OP.i32Or, OP.i32Eqz, I.brIf(ODD)],
    [get(row), get(truth), I.memory(OP.i32Store8, VALUES)],
  ]
  return columnKernel([eachField({ plain, absent: [get(row), num(0), I.memory(OP.i32Store8, VALUES)] })], ['i32', 'i32'])
}
