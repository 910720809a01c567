/**
 * JavaScript's operators on numbers and truth values, for any emitter.
 *
 * Integers stay integers where bounds say that they are exact and none is -0:
 *
 *     r.small + 1     i32 -32768..32767 and 1     i32.add, i32x4.add        -x of 0..9     f64.neg, since it may be -0
 */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { bigintBinary, bigintUnary } from './bigints.ts'
import type { Emitter, NumberEmitter } from './emitter.ts'
import { HIGHEST, type IntegerType, integerResult, integerType, isAbsent, isInteger, isMaybe, LOWEST, type WasmType } from './types.ts'

export const INT32: IntegerType = { kind: 'i32', low: LOWEST, high: HIGHEST }
const UINT32: IntegerType = { kind: 'i64', low: 0, high: 2 ** 32 - 1 }
const TRUTH: IntegerType = { kind: 'i32', low: 0, high: 1 }

/** The type of ToNumber of the value. */
export function numberType<V>(e: NumberEmitter<V>, value: V): WasmType | undefined {
  const type = e.typeOf(value)
  return type?.kind === 'bool' ? TRUTH : type
}

/** The bounds of a value that is an integer for certain; else undefined. */
export function integerOf<V>(e: NumberEmitter<V>, value: V): IntegerType | undefined {
  const type = numberType(e, value)
  return type !== undefined && isInteger(type) ? type : undefined
}

export function isBigint<V>(e: NumberEmitter<V>, value: V): boolean {
  return e.typeOf(value)?.kind === 'bigint'
}

export function unary<V>(e: Emitter<V>, operator: '-' | '+' | '~', value: V, span: Span): V {
  if (isBigint(e, value)) return bigintUnary(e, operator, value, span)
  switch (operator) {
    case '+':
      return e.toNumber(value)
    case '-': {
      const operand = e.toNumber(value)
      const type = integerOf(e, operand)
      const negated = type !== undefined && (type.low > 0 || type.high < 0) ? integerType(-type.high, -type.low) : undefined
      return negated === undefined ? e.float('negated', operand) : e.integer('-', negated, e.constant(0), operand)
    }
    case '~':
      return e.bits('^', INT32, e.toInt32(value), e.constant(-1))
  }
}

export function binary<V>(e: Emitter<V>, operator: BinaryOperator, left: V, right: V, span?: Span): V {
  const own = e.own?.(operator, left, right, span)
  if (own !== undefined) return own
  if (isEquality(operator)) return equal(e, operator, left, right, span)
  if (isBigint(e, left) || isBigint(e, right)) return bigintBinary(e, operator, e.toNumber(left), e.toNumber(right), span)
  switch (operator) {
    case '&':
    case '|':
    case '^': {
      const [a, b] = [e.toInt32(left), e.toInt32(right)]
      return e.bits(operator, operator === '&' ? commonBits(e.typeOf(a), e.typeOf(b)) : INT32, a, b)
    }
    case '<<':
    case '>>':
    case '>>>':
      return shifted(e, operator, e.toInt32(left), right)
  }
  const [a, b] = [e.toNumber(left), e.toNumber(right)]
  switch (operator) {
    case '+':
    case '-':
    case '*': {
      const type = exactly(e, operator, a, b)
      return type === undefined ? e.float(operator, a, b) : e.integer(operator, type, a, b)
    }
    case '/':
      return e.float(operator, a, b)
    case '%': {
      const type = exactly(e, operator, a, b)
      return type === undefined ? e.called('%', [a, b], span) : e.integer(operator, type, a, b)
    }
    case '**': {
      // x ** 2 has the bits of x * x in every tier of the engine
      if (e.literalOf(b) !== 2) return e.called('Math.pow', [a, b], span)
      const { first, again } = e.kept(e.toFloat(a))
      return e.float('*', first, again)
    }
    case '<':
    case '<=':
    case '>':
    case '>=':
      return e.compared(operator, a, b)
  }
}

/** The type of an exact integer result; undefined where the result may be no exact integer, or -0. */
function exactly<V>(e: Emitter<V>, operator: '+' | '-' | '*' | '%', a: V, b: V): IntegerType | undefined {
  const [one, other] = [integerOf(e, a), integerOf(e, b)]
  return one && other && integerResult(operator, one, other)
}

/** The range of `&`: an operand that is not negative bounds the result. */
function commonBits(a: WasmType | undefined, b: WasmType | undefined): IntegerType {
  const highs = [a, b].flatMap((type) => (type?.kind === 'i32' && type.low >= 0 ? [type.high] : []))
  return highs.length > 0 ? { kind: 'i32', low: 0, high: Math.min(...highs) } : INT32
}

/** Compiles shifts of a 32-bit integer, which use the lowest five bits of the count. */
function shifted<V>(e: Emitter<V>, operator: '<<' | '>>' | '>>>', a: V, count: V): V {
  const [type, literal] = [e.typeOf(a), e.literalOf(count)]
  const { low, high } = type?.kind === 'i32' ? type : INT32
  switch (operator) {
    case '<<':
      return e.shifted(operator, INT32, a, count)
    case '>>': {
      if (literal !== undefined) return e.shifted(operator, { kind: 'i32', low: low >> literal, high: high >> literal }, a, count)
      return e.shifted(operator, low < 0 ? INT32 : { kind: 'i32', low: 0, high }, a, count)
    }
    case '>>>':
      if (literal !== undefined && (literal & 31) > 0) return e.shifted(operator, { kind: 'i32', low: 0, high: HIGHEST }, a, count)
      return literal !== undefined && low >= 0 ? a : e.shifted(operator, UINT32, a, count)
  }
}

function isEquality(operator: BinaryOperator): operator is '==' | '!=' | '===' | '!==' {
  return operator === '==' || operator === '!=' || operator === '===' || operator === '!=='
}

function equal<V>(e: Emitter<V>, operator: '==' | '!=' | '===' | '!==', left: V, right: V, span: Span | undefined): V {
  const types = [e.typeOf(left), e.typeOf(right)] as const
  // undefined is NaN here: it equals no number and no truth value, as undefined equals none, but itself
  const areMaybe = types.map((type) => type !== undefined && isMaybe(type))
  if (types.every((type) => type !== undefined && isAbsent(type))) return equalOrAbsent(e, operator.startsWith('!'), left, right)
  if (areMaybe.includes(true) && (areMaybe.every(Boolean) || types.some((type) => type === undefined || type.kind === 'bigint')))
    throw e.declined('it compares what may be undefined', span)
  const comparison = operator.startsWith('!') ? '!=' : '=='
  const [one, other] = types.map((type) => (type?.kind === 'bool' || type?.kind === 'bigint' ? type.kind : 'number'))
  // a number never equals a truth value strictly, and neither does a bigint
  if (operator.length === 3 && one !== other) return e.after([left, right], e.constant(comparison === '!='))
  const [a, b] = [e.toNumber(left), e.toNumber(right)]
  return one === 'bigint' || other === 'bigint' ? bigintBinary(e, comparison, a, b, span) : e.compared(comparison, a, b)
}

/** Compares two numbers, or undefined, which NaN stands for and nothing else. */
function equalOrAbsent<V>(e: Emitter<V>, isNot: boolean, left: V, right: V): V {
  const [a, b] = [e.kept(e.toFloat(left)), e.kept(e.toFloat(right))]
  const isSame = e.compared('==', a.first, b.first)
  const areAbsent = [a, b].map(({ again }) => e.compared('!=', again, again))
  const test = e.truths('or', isSame, e.truths('and', ...areAbsent))
  return isNot ? e.truths('not', test) : test
}

/** The inverse of a power of two, by which a product has the bits of the quotient at an eighth of the time; undefined for other numbers. */
export function exactInverse(literal: number | undefined): number | undefined {
  if (literal === undefined || literal === 0) return undefined
  const exponent = Math.round(Math.log2(Math.abs(literal)))
  // the inverse must be a normal f32, too
  return Math.abs(exponent) > 126 || 2 ** exponent !== Math.abs(literal) ? undefined : 1 / literal
}
