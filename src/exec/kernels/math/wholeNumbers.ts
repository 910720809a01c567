/**
 * Quotients and remainders of integers by integer instructions, where JavaScript divides doubles.
 *
 *     Math.floor(i / width), Math.trunc(i / 2), (low + high) / 2 | 0      i32.div_u, i32.div_s
 *     n % 3, where n is a double                                          i32.rem_u, if 32 bits hold both exactly
 *     Math.floor(Math.sqrt(n))                                            an integer of 32 bits, as n has at most 53
 *
 * The rounded quotient of doubles is still on the right side of the next integer: that of a by b lies at least 1 / b away from it, which is
 * 1 / a of its size, and the rounding error is 2 ** -53 of it: less, as long as a is an exact integer.
 */
import { type Code, I, OP, SATURATE, type ValueType } from '../../kir/instructions.ts'
import type { Rounding } from '../expressions/emitter.ts'
import { asF64, asI64, boundsOf, F64, HIGHEST, integerType, isInteger, type Value } from '../expressions/types.ts'

type Declare = (type: ValueType) => number

/** The rounded quotient of two integers; undefined where an operand or the result may be none (-0 is none), or the divisor below 1. */
export function wholeQuotient(declare: Declare, rounding: Rounding, left: Value, right: Value): Value | undefined {
  if (!isInteger(left.type) || !isInteger(right.type) || right.type.low < 1) return undefined
  const { low, high } = left.type
  if (low < 0 && rounding === 'trunc') return undefined
  const by = right.type
  const rounded = (a: number, b: number): number => (rounding === 'floor' ? Math.floor(a / b) : Math.trunc(a / b)) + 0
  const range = { low: rounded(low, low < 0 ? by.low : by.high), high: rounded(high, high < 0 ? by.high : by.low) }
  if (left.type.kind === 'i64' || right.type.kind === 'i64') {
    const type = low < 0 && rounding !== 'bits' ? undefined : integerType(range.low, range.high)
    const divided = low < 0 ? OP.i64DivS : OP.i64DivU
    return type && { type, code: [asI64(left), asI64(right), divided, type.kind === 'i32' ? OP.i32WrapI64 : []] }
  }
  const type = { kind: 'i32', ...range } as const
  if (low >= 0) return { type, code: [left.code, right.code, OP.i32DivU] }
  if (rounding === 'bits') return { type, code: [left.code, right.code, OP.i32DivS] }
  const [a, b, q] = [declare('i32'), declare('i32'), declare('i32')]
  const toZero = [left.code, I.localTee(a), right.code, I.localTee(b), OP.i32DivS, I.localTee(q)]
  const isAbove = [I.localGet(q), I.localGet(b), OP.i32Mul, I.localGet(a), OP.i32GtS]
  return { type, code: [...toZero, ...isAbove, OP.i32Sub] }
}

/** `a % b` of integers by integers, where the divisor is known to be above 0; undefined for others. Of a negative number it may be -0. */
export function wholeRemainder(declare: Declare, left: Value, right: Value): Value | undefined {
  const [a, b] = [boundsOf(left.type), right.type]
  if (a === undefined || !isInteger(b) || b.low < 1) return undefined
  const of = left.type.kind === 'i32' && b.kind === 'i32' ? 'i32' : 'i64'
  const [dividend, divisor] = of === 'i32' ? [left.code, right.code] : [asWide(left), asI64(right)]
  if (a.low >= 0) {
    const type = integerType(0, Math.min(a.high, b.high - 1))
    if (type === undefined) return undefined
    if (of === 'i32') return { type, code: [dividend, divisor, OP.i32RemU] }
    const by = right.literal
    const isPower = by !== undefined && 2 ** Math.round(Math.log2(by)) === by
    const rest = isPower ? [dividend, I.i64Const(by - 1), OP.i64And] : remainderOf64(declare, dividend, divisor, b.high)
    return { type, code: [rest, type.kind === 'i32' ? OP.i32WrapI64 : []] }
  }
  const given = declare(of)
  const [held, rest] = of === 'i32' ? [OP.i32RemS, OP.f64ConvertI32S] : [OP.i64RemS, OP.f64ConvertI64S]
  const converted = [dividend, I.localTee(given), divisor, held, rest, I.localGet(given), rest, OP.f64Copysign]
  return { type: F64, code: converted }
}

/** The remainder of numbers that are not negative, by 32 bits where these hold both: it takes a third of the time. */
function remainderOf64(declare: Declare, dividend: Code, divisor: Code, most: number): Code {
  const [a, b] = [declare('i64'), declare('i64')]
  const both = most < 2 ** 32 ? I.localGet(a) : [I.localGet(a), I.localGet(b), OP.i64Or]
  const narrow = [I.localGet(a), OP.i32WrapI64, I.localGet(b), OP.i32WrapI64, OP.i32RemU, OP.i64ExtendI32U]
  const wide = [I.localGet(a), I.localGet(b), OP.i64RemU]
  const isNarrow = [both, I.i64Const(32), OP.i64ShrU, OP.i64Eqz]
  return [dividend, I.localSet(a), divisor, I.localSet(b), isNarrow, I.if('i64'), narrow, OP.else, wide, OP.end]
}

/** The square root of an integer without its fraction; undefined where the number may be none, or below 0. */
export function wholeRoot(of: Value): Value | undefined {
  if (!isInteger(of.type) || of.type.low < 0) return undefined
  const [low, high] = [of.type.low, of.type.high].map((bound) => Math.floor(Math.sqrt(bound))) as [number, number]
  return { type: { kind: 'i32', low, high }, code: [asF64(of), OP.f64Sqrt, SATURATE.i32S] }
}

/** A number that is whole, in 64 bits. */
function asWide(value: Value): Code {
  return value.type.kind === 'f64' ? [value.code, SATURATE.i64S] : asI64(value)
}

/** `a % b` by integers where both turn out to be unsigned 32-bit ones; by JavaScript's remainder elsewhere, also where it would be -0. */
export function remainder(declare: Declare, left: Value, right: Value, itself: (a: Value, b: Value) => Value): Value {
  const [a, b] = [declare('f64'), declare('f64')]
  const { literal } = right
  const by = literal !== undefined && Number.isInteger(literal) && literal > 0 && literal <= HIGHEST ? I.i32Const(literal) : undefined
  const test = [isUnsigned(a, 0), by === undefined ? [isUnsigned(b, 1), OP.i32And] : []]
  const whole = [...[I.localGet(a), SATURATE.i32U, by ?? [I.localGet(b), SATURATE.i32U], OP.i32RemU, OP.f64ConvertI32U]]
  const own = itself({ type: F64, code: I.localGet(a) }, { type: F64, code: I.localGet(b) })
  const sides = [asF64(left), I.localSet(a), asF64(right), I.localSet(b)]
  return { type: F64, code: [...sides, ...test, I.if('f64'), ...whole, OP.else, own.code, OP.end] }
}

/**
 * Whether a double is an integer from `least`, 0 or 1, up to 2 ** 32. The bits of doubles that are not negative are in their order, which
 * tells 0 from -0, and leaves no branch that a processor mispredicts.
 */
function isUnsigned(value: number, least: 0 | 1): Code {
  const bits = [I.localGet(value), OP.i64ReinterpretF64, least === 0 ? [] : [I.i64Const(1), OP.i64Sub]]
  const isInside = [bits, I.i64Const(LIMIT_BITS - BigInt(least)), OP.i64LtU]
  return [isInside, I.localGet(value), OP.f64Trunc, I.localGet(value), OP.f64Eq, OP.i32And]
}

/** The bits of 2 ** 32. */
const LIMIT_BITS = 0x41f0000000000000n
