/**
 * Kernels that parse numbers from the bytes of CSV fields, to the same bits as `Number(text)`.
 *
 *     -12.5      125 / 10: both are exact, so that one division rounds once (Clinger, 1990)
 *     0.1234567890123456     a product with the digits of a power of five, of which 128 bits always tell how it is rounded
 *                            (Lemire, "Number parsing at a gigabyte per second", 2021; Mushtak and Lemire, 2022)
 *
 * Plain numbers have an optional `-`, digits without a leading zero, a fraction, an exponent, and at most 19 significant digits. Whole
 * numbers of more than 15 digits, results that are infinite or below 2^-1022, and all other forms are left to JavaScript.
 */

import { type Code, get, I, long, num, OP, type Plain, set, tee } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'

import {
  added,
  byteAt,
  columnKernel,
  EXACT_POWERS,
  eachField,
  FIELD,
  INPUT,
  LEAST_POWER,
  localsFrom,
  MINUS,
  MOST_EXACT_POWER,
  MOST_POWER,
  ODD,
  POINT,
  POWER_BYTES,
  POWERS,
  UNQUOTED,
  VALUES,
  valuePlace,
  ZERO,
} from './csvLayout.ts'

/** The element type of a column of numbers. */
export type CsvNumberForm = 'f64' | 'f32' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8' | 'i64' | 'u64'

const LOCALS = ['sign', 'first', 'digits', 'digit', 'power', 'mark', 'by', 'whole', 'eight', 'high', 'low', 'most', 'value'] as const
const L = localsFrom(...LOCALS)
const TYPES = [...new Array<'i32'>(7).fill('i32'), ...new Array<'i64'>(5).fill('i64'), 'f64'] as const
const { begin, end } = FIELD
const odd = (deeper = 0): Code => I.brIf(ODD + deeper)

/** Appends digits from `begin` on to `whole`, eight at a time, then one by one, and moves `begin` behind them. */
const DIGITS: Code = [
  [I.block(), I.loop, get(end), get(begin), OP.i32Sub, num(8), OP.i32LtS, I.brIf(1)],
  // the upper half of a digit's byte is 3, and still is with 6 added
  [get(begin), I.memory(OP.i64Load, INPUT), tee(L.eight), long(0xf0f0f0f0f0f0f0f0n), OP.i64And],
  [get(L.eight), long(0x0606060606060606n), OP.i64Add, long(0xf0f0f0f0f0f0f0f0n), OP.i64And, long(4n), OP.i64ShrU, OP.i64Or],
  [long(0x3333333333333333n), OP.i64Ne, I.brIf(1)],
  [get(L.eight), long(0x0f0f0f0f0f0f0f0fn), OP.i64And, long(2561n), OP.i64Mul, long(8n), OP.i64ShrU],
  [long(0x00ff00ff00ff00ffn), OP.i64And, long(6553601n), OP.i64Mul, long(16n), OP.i64ShrU],
  [long(0x0000ffff0000ffffn), OP.i64And, long(42949672960001n), OP.i64Mul, long(32n), OP.i64ShrU],
  [get(L.whole), long(100_000_000n), OP.i64Mul, OP.i64Add, set(L.whole), added(begin, 8), I.br(0), OP.end, OP.end],
  [I.block(), I.loop, get(begin), get(end), OP.i32GeS, I.brIf(1)],
  [byteAt(begin), num(ZERO), OP.i32Sub, tee(L.digit), num(9), OP.i32GtU, I.brIf(1)],
  [get(L.whole), long(10n), OP.i64Mul, get(L.digit), OP.i64ExtendI32U, OP.i64Add, set(L.whole), added(begin, 1), I.br(0), OP.end, OP.end],
]

/** Reads a sign and digits; `first` is the place of the first digit, `digits` their number. */
const SIGNED_DIGITS: Code = [
  [UNQUOTED, byteAt(begin), num(MINUS), OP.i32Eq, tee(L.sign), get(begin), OP.i32Add, tee(begin), set(L.first)],
  [long(0n), set(L.whole), DIGITS, get(begin), get(L.first), OP.i32Sub, tee(L.digits), OP.i32Eqz, odd()],
]

/** Whether the byte at `begin` is this one, and lies before the end. */
function isAt(byte: number, form: Code = []): Code {
  return [get(begin), get(end), OP.i32LtS, byteAt(begin), form, num(byte), OP.i32Eq, OP.i32And]
}

const FRACTION: Code = [
  [isAt(POINT), I.if(), added(begin, 1), get(begin), set(L.mark), DIGITS],
  [get(L.mark), get(begin), OP.i32Sub, tee(L.power), OP.i32Eqz, odd(1), get(L.digits), get(L.power), OP.i32Sub, set(L.digits), OP.end],
]

const LARGEST_EXPONENT = 9999
const LETTER_E = 101
const PLUS = 43
const LOWER_CASE = 32

const EXPONENT: Code = [
  [isAt(LETTER_E, [num(LOWER_CASE), OP.i32Or]), I.if(), added(begin, 1), num(0), set(L.by)],
  [isAt(MINUS), tee(L.mark), isAt(PLUS), OP.i32Or, get(begin), OP.i32Add, tee(begin), set(L.digit)],
  [I.block(), I.loop, get(begin), get(end), OP.i32GeS, I.brIf(1), byteAt(begin), num(ZERO), OP.i32Sub, num(9), OP.i32GtU, I.brIf(1)],
  [get(L.by), num(10), OP.i32Mul, byteAt(begin), num(ZERO), OP.i32Sub, OP.i32Add, tee(L.by), num(LARGEST_EXPONENT), OP.i32GtS, odd(3)],
  [added(begin, 1), I.br(0), OP.end, OP.end, get(begin), get(L.digit), OP.i32Eq, odd(1)],
  [get(L.power), num(0), get(L.by), OP.i32Sub, get(L.by), get(L.mark), OP.select, OP.i32Add, set(L.power), OP.end],
]

const MOST_WHOLE_DIGITS = 15
const MOST_DIGITS = 19

/** Discounts leading zeros where there are more than 19 digits, so that only significant ones are limited. */
const COUNTED: Code = [
  [get(L.digits), num(MOST_DIGITS), OP.i32GtS, I.if(), byteAt(L.first), num(ZERO), OP.i32Ne, odd(1)],
  [get(L.digits), num(1), OP.i32Sub, set(L.digits), get(L.first), num(2), OP.i32Add, set(L.mark)],
  [I.block(), I.loop, get(L.mark), get(end), OP.i32GeS, I.brIf(1), byteAt(L.mark), num(ZERO), OP.i32Ne, I.brIf(1)],
  [added(L.mark, 1), added(L.digits, -1), I.br(0), OP.end, OP.end, get(L.digits), num(MOST_DIGITS), OP.i32GtS, odd(1), OP.end],
]

/** The upper 64 bits of the product of two 64-bit words. The second one stays in local `eight`; `most` is scratch. */
function upperProduct(a: number, b: Code): Code {
  const [low, high] = [
    [long(0xffffffffn), OP.i64And],
    [long(32n), OP.i64ShrU],
  ]
  const { eight: other, most: middle } = L
  return [
    [b, set(other), get(a), high, get(other), low, OP.i64Mul],
    [get(a), low, get(other), low, OP.i64Mul, high, OP.i64Add, set(middle)],
    [get(a), high, get(other), high, OP.i64Mul, get(middle), high, OP.i64Add],
    [get(a), low, get(other), high, OP.i64Mul, get(middle), low, OP.i64Add, high, OP.i64Add],
  ]
}

const FRACTION_BITS = 52n
const BIAS = 1023
/** The lowest bits of the product's upper word that are dropped; one more where its highest bit is set. */
const DROPPED = 9n

/** Sets `value` to `whole * 10 ** power`, and `digit` to the biased exponent. The code stands two blocks deep in a field's code. */
const LONG_PRODUCT: Code = [
  [get(L.power), num(LEAST_POWER), OP.i32LtS, get(L.power), num(MOST_POWER), OP.i32GtS, OP.i32Or, odd(2)],
  [get(L.power), num(LEAST_POWER), OP.i32Sub, num(Math.log2(POWER_BYTES)), OP.i32Shl, set(L.mark)],
  [get(L.whole), OP.i64Clz, OP.i32WrapI64, set(L.by), get(L.whole), get(L.by), OP.i64ExtendI32U, OP.i64Shl, set(L.whole)],
  [upperProduct(L.whole, [get(L.mark), I.memory(OP.i64Load, POWERS)]), set(L.high)],
  [get(L.whole), get(L.eight), OP.i64Mul, set(L.low)],
  // only where the lowest 9 bits are all ones can the power's lower word carry into the bits that are kept
  [get(L.high), long(0x1ffn), OP.i64And, long(0x1ffn), OP.i64Eq, I.if()],
  [upperProduct(L.whole, [get(L.mark), I.memory(OP.i64Load, POWERS + 8)]), tee(L.most)],
  [get(L.low), OP.i64Add, tee(L.low), get(L.most), OP.i64LtU, I.if(), get(L.high), long(1n), OP.i64Add, set(L.high), OP.end, OP.end],
  // `most`: the number of bits below the mantissa and its rounding bit
  [get(L.high), long(63n), OP.i64ShrU, long(DROPPED), OP.i64Add, set(L.most)],
  [get(L.high), get(L.most), OP.i64ShrU, set(L.eight)],
  [get(L.power), num(217_706), OP.i32Mul, num(16), OP.i32ShrS, num(63 + BIAS - Number(DROPPED)), OP.i32Add],
  [get(L.most), OP.i32WrapI64, OP.i32Add, get(L.by), OP.i32Sub, tee(L.digit), num(0), OP.i32LeS, odd(2)],
  // exactly half way between two doubles: round to even
  [get(L.low), long(1n), OP.i64LeU, get(L.power), num(-4), OP.i32GeS, OP.i32And, get(L.power), num(23), OP.i32LeS, OP.i32And],
  [get(L.eight), long(3n), OP.i64And, long(1n), OP.i64Eq, OP.i32And],
  [get(L.eight), get(L.most), OP.i64Shl, get(L.high), OP.i64Eq, OP.i32And, I.if()],
  [get(L.eight), long(-2n), OP.i64And, set(L.eight), OP.end],
  [get(L.eight), get(L.eight), long(1n), OP.i64And, OP.i64Add, long(1n), OP.i64ShrU, tee(L.eight)],
  [long(2n ** (FRACTION_BITS + 1n)), OP.i64GeU, I.if(), long(2n ** FRACTION_BITS), set(L.eight), added(L.digit, 1), OP.end],
  [get(L.digit), num(2 * BIAS + 1), OP.i32GeS, odd(2)],
  [get(L.eight), long(2n ** FRACTION_BITS - 1n), OP.i64And, get(L.digit), OP.i64ExtendI32U, long(FRACTION_BITS), OP.i64Shl, OP.i64Or],
  [OP.f64ReinterpretI64, set(L.value)],
]

const exactPower = (power: Code): Code => [power, num(3), OP.i32Shl, I.memory(OP.f64Load, EXACT_POWERS)]

/** Sets `value` to `whole * 10 ** power`: exactly by one operation where both are exact doubles, else by the long product. */
const PRODUCT: Code = [
  [get(L.whole), long(53n), OP.i64ShrU, OP.i64Eqz, get(L.power), num(MOST_EXACT_POWER), OP.i32LeS, OP.i32And],
  [get(L.power), num(-MOST_EXACT_POWER), OP.i32GeS, OP.i32And, I.if(), get(L.whole), OP.f64ConvertI64U, set(L.value)],
  [get(L.power), num(0), OP.i32LtS, I.if()],
  [get(L.value), exactPower([num(0), get(L.power), OP.i32Sub]), OP.f64Div, set(L.value), OP.else],
  [get(L.value), exactPower(get(L.power)), OP.f64Mul, set(L.value), OP.end, OP.else],
  [get(L.whole), OP.i64Eqz, I.if(), I.f64Const(0), set(L.value), OP.else, LONG_PRODUCT, OP.end, OP.end],
  [get(L.sign), I.if(), get(L.value), OP.f64Neg, set(L.value), OP.end],
]

const DECIMAL: Code = [
  [SIGNED_DIGITS, num(0), set(L.power), get(L.digits), num(1), OP.i32GtS, byteAt(L.first), num(ZERO), OP.i32Eq, OP.i32And, odd()],
  [FRACTION, EXPONENT, get(begin), get(end), OP.i32Ne, odd()],
  // whole numbers of many digits are left to JavaScript
  [get(begin), get(L.first), OP.i32Sub, num(MOST_WHOLE_DIGITS), OP.i32GtS],
  [get(begin), get(L.first), OP.i32Sub, get(L.digits), OP.i32Eq, OP.i32And, odd(), COUNTED, PRODUCT],
]

const STORED: { readonly [F in 'f64' | 'f32']: { readonly stored: Code; readonly absent: Code } } = {
  f64: {
    stored: [valuePlace(3), get(L.value), I.memory(OP.f64Store, VALUES)],
    absent: [valuePlace(3), I.f64Const(0), I.memory(OP.f64Store, VALUES)],
  },
  f32: {
    // what is finite as a double and infinite as f32 is left to JavaScript
    stored: [
      [get(L.value), OP.f32DemoteF64, OP.f64PromoteF32, OP.f64Abs, I.f64Const(Number.POSITIVE_INFINITY), OP.f64Eq, odd()],
      [valuePlace(2), get(L.value), OP.f32DemoteF64, I.memory(OP.f32Store, VALUES)],
    ],
    absent: [valuePlace(2), num(0), I.memory(OP.i32Store, VALUES)],
  },
}

interface IntegerForm {
  readonly log2Bytes: number
  readonly store: Plain
  readonly bits: bigint
  readonly signed: boolean
}

const INTEGERS: { readonly [F in Exclude<CsvNumberForm, 'f64' | 'f32'>]: IntegerForm } = {
  i8: { log2Bytes: 0, store: OP.i64Store8, bits: 8n, signed: true },
  u8: { log2Bytes: 0, store: OP.i64Store8, bits: 8n, signed: false },
  i16: { log2Bytes: 1, store: OP.i64Store16, bits: 16n, signed: true },
  u16: { log2Bytes: 1, store: OP.i64Store16, bits: 16n, signed: false },
  i32: { log2Bytes: 2, store: OP.i64Store32, bits: 32n, signed: true },
  u32: { log2Bytes: 2, store: OP.i64Store32, bits: 32n, signed: false },
  i64: { log2Bytes: 3, store: OP.i64Store, bits: 64n, signed: true },
  u64: { log2Bytes: 3, store: OP.i64Store, bits: 64n, signed: false },
}
/** The most digits of an integer; all such are below 2^63. */
const MOST_INTEGER_DIGITS = 18

function integer({ log2Bytes, store, bits, signed }: IntegerForm): { readonly plain: Code; readonly absent: Code } {
  const [least, most] = signed ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, bits === 64n ? 2n ** 63n - 1n : 2n ** bits - 1n]
  return {
    plain: [
      [SIGNED_DIGITS, get(begin), get(end), OP.i32Ne, odd(), get(L.digits), num(MOST_INTEGER_DIGITS), OP.i32GtS, odd()],
      [get(L.sign), I.if(), long(0n), get(L.whole), OP.i64Sub, set(L.whole), OP.end],
      [get(L.whole), long(least), OP.i64LtS, get(L.whole), long(most), OP.i64GtS, OP.i32Or, odd()],
      [valuePlace(log2Bytes), get(L.whole), I.memory(store, VALUES)],
    ],
    absent: [valuePlace(log2Bytes), long(0n), I.memory(store, VALUES)],
  }
}

/** Makes the kernel that parses a column of numbers of this type. */
export function csvNumberKernel(form: CsvNumberForm): KernelModule {
  if (form === 'f64' || form === 'f32') {
    const { stored, absent } = STORED[form]
    return columnKernel([eachField({ plain: [DECIMAL, stored], absent })], TYPES)
  }
  return columnKernel([eachField(integer(INTEGERS[form]))], TYPES)
}

/** Computes the tables that kernels read at POWERS and EXACT_POWERS. */
export function csvPowers(): { readonly digits: BigUint64Array; readonly exact: Float64Array } {
  const words: bigint[] = []
  let five = 1n
  const above: bigint[] = []
  for (let power = 0; power <= MOST_POWER; power++, five *= 5n) above.push(leading128(five))
  five = 1n
  const below: bigint[] = []
  for (let power = -1; power >= LEAST_POWER; power--) {
    five *= 5n
    // negative powers are rounded up, so that none is too small
    const bits = BigInt(five.toString(2).length)
    below.push(power >= -27 ? 2n ** (bits + 127n) / five + 1n : leading128(2n ** (2n * bits + 128n) / five + 1n))
  }
  for (const digits of [...below.reverse(), ...above]) words.push(digits >> 64n, digits & (2n ** 64n - 1n))
  return {
    digits: BigUint64Array.from(words),
    exact: Float64Array.from({ length: MOST_EXACT_POWER + 1 }, (_, i) => Number(`1e${i}`)),
  }
}

/** Returns the leading 128 bits of a number, shifted so that the highest is 1. */
function leading128(value: bigint): bigint {
  const bits = value.toString(2).length
  return bits <= 128 ? value << BigInt(128 - bits) : value >> BigInt(bits - 128)
}
