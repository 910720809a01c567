/**
 * Quotients and remainders of integers by integer instructions, where JavaScript divides doubles.
 *
 *     Math.floor(i / width), Math.trunc(i / 2), (low + high) / 2 | 0      i32.div_u, i32.div_s
 *     n % 3, where n is a double                                          i32.rem_u, if 32 bits hold both exactly
 *
 * The rounded quotient of doubles is still on the right side of the next integer: for 32-bit integers the exact quotient lies
 * at least 2 ** -31 of its size away from it, and the rounding error is 2 ** -53 of it.
 */
import { type Code, I, OP, SATURATE, type ValueType } from '../../kir/instructions.ts'
import type { Rounding } from '../expressions/emitter.ts'
import { asF64, F64, HIGHEST, type Value } from '../expressions/types.ts'

type Declare = (type: ValueType) => number

/** The rounded quotient of two integers; undefined where an operand or the result may be none (-0 is none), or the divisor below 1. */
export function wholeQuotient(declare: Declare, rounding: Rounding, left: Value, right: Value): Value | undefined {
  if (left.type.kind !== 'i32' || right.type.kind !== 'i32' || right.type.low < 1) return undefined
  const { low, high } = left.type
  if (low < 0 && rounding === 'trunc') return undefined
  const by = right.type
  const rounded = (a: number, b: number): number => (rounding === 'floor' ? Math.floor(a / b) : Math.trunc(a / b)) + 0
  const range = { low: rounded(low, low < 0 ? by.low : by.high), high: rounded(high, high < 0 ? by.high : by.low) }
  const type = { kind: 'i32', ...range } as const
  if (low >= 0) return { type, code: [left.code, right.code, OP.i32DivU] }
  if (rounding === 'bits') return { type, code: [left.code, right.code, OP.i32DivS] }
  const [a, b, q] = [declare('i32'), declare('i32'), declare('i32')]
  const toZero = [left.code, I.localTee(a), right.code, I.localTee(b), OP.i32DivS, I.localTee(q)]
  const isAbove = [I.localGet(q), I.localGet(b), OP.i32Mul, I.localGet(a), OP.i32GtS]
  return { type, code: [...toZero, ...isAbove, OP.i32Sub] }
}

/** `a % b` by integers where both turn out to be unsigned 32-bit ones; by JavaScript's remainder elsewhere, also where it would be -0. */
export function remainder(declare: Declare, left: Value, right: Value, itself: (a: Value, b: Value) => Value): Value {
  const [a, b] = [declare('f64'), declare('f64')]
  const [wholeA, wholeB] = [declare('i32'), declare('i32')]
  // Comparing bits tells 0 from -0, and NaN from every integer.
  const isWhole = (value: number, whole: number): Code => [
    ...[I.localGet(value), SATURATE.i32U, I.localTee(whole), OP.f64ConvertI32U, OP.i64ReinterpretF64],
    ...[I.localGet(value), OP.i64ReinterpretF64, OP.i64Eq],
  ]
  const { literal } = right
  const by = literal !== undefined && Number.isInteger(literal) && literal > 0 && literal <= HIGHEST ? I.i32Const(literal) : undefined
  const isDivisor = [isWhole(b, wholeB), OP.i32And, I.localGet(wholeB), I.i32Const(0), OP.i32Ne, OP.i32And]
  const test = [isWhole(a, wholeA), by === undefined ? isDivisor : []]
  const whole = [I.localGet(wholeA), by ?? I.localGet(wholeB), OP.i32RemU, OP.f64ConvertI32U]
  const own = itself({ type: F64, code: I.localGet(a) }, { type: F64, code: I.localGet(b) })
  const sides = [asF64(left), I.localSet(a), asF64(right), I.localSet(b)]
  return { type: F64, code: [...sides, ...test, I.if('f64'), ...whole, OP.else, own.code, OP.end] }
}
