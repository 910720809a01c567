/** Compiles calls of numeric functions, for any emitter: by instructions with JavaScript's result, else by a call of the engine's own. */
import { type Callee, isBuiltin } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { hypotOf, isEngineHypot } from '../math/hypot.ts'
import { bigintCall } from './bigints.ts'
import type { Emitter, NumberEmitter } from './emitter.ts'
import { INT32, integerOf } from './operators.ts'
import { integerType, isMaybe, type WasmType } from './types.ts'

export function calledOf<V>(e: Emitter<V>, callee: Callee, args: readonly V[], span: Span): V {
  const own = e.ownCall?.(callee, args, span)
  if (own !== undefined) return own
  if (!isBuiltin(callee)) throw e.declined(`it calls ${callee}`, span)
  const bigint = bigintCall(e, callee, args, span)
  if (bigint !== undefined) return bigint
  const [x, y] = args
  if (x === undefined) return withoutArguments(e, callee, span)
  const asWhole = (rounded: (number: V) => V): V => {
    const number = e.toNumber(x)
    return integerOf(e, number) === undefined ? rounded(number) : number
  }
  switch (callee) {
    case 'Math.abs':
      return absolute(e, e.toNumber(x))
    case 'Math.ceil':
      return asWhole((number) => e.float('ceil', number))
    case 'Math.floor':
      return asWhole((number) => e.float('floor', number))
    case 'Math.trunc':
      return asWhole((number) => e.float('trunc', number))
    case 'Math.round':
      return asWhole((number) => rounded(e, number))
    case 'Math.sqrt':
      return e.float('sqrt', e.toNumber(x))
    case 'Math.fround':
      return e.float('fround', e.toNumber(x))
    case 'Math.min':
    case 'Math.max': {
      const operation = callee === 'Math.min' ? 'min' : 'max'
      return args.map((arg) => e.toNumber(arg)).reduce((a, b) => extreme(e, operation, a, b))
    }
    case 'Math.sign': {
      const { first, again } = e.kept(e.toFloat(x))
      // NaN, 0 and -0 are their own sign.
      const notAbove = e.selected(e.compared('<', again, e.constant(0)), e.constant(-1), again)
      return e.after([first], e.selected(e.compared('>', again, e.constant(0)), e.constant(1), notAbove))
    }
    case 'Math.imul':
      return e.bits('*', INT32, e.toInt32(x), e.toInt32(y ?? e.constant(0)))
    case 'Math.clz32':
      return e.bits('leadingZeros', { kind: 'i32', low: 0, high: 32 }, e.toInt32(x))
    case 'Number':
      return e.toNumber(x)
    case 'isNaN':
      return isNotANumber(e, x)
    case 'isFinite':
      return isFiniteNumber(e, e.toNumber(x))
    case 'Number.isNaN':
    case 'Number.isFinite':
    case 'Number.isInteger':
    case 'Number.isSafeInteger': {
      const type = e.typeOf(x)
      if (!isNumber(type)) return e.after([x], e.constant(false))
      if (callee === 'Number.isNaN' && type !== undefined && isMaybe(type)) break
      const present = e.present?.(x)
      const is = questionOf(e, callee, x)
      return present === undefined ? is : e.truths('and', present, is)
    }
    case 'Object.is': {
      const areNumbers = args.length === 2 && args.every((arg) => isSurelyNumber(e, arg))
      if (!areNumbers || y === undefined) break
      return isSame(e, x, y)
    }
    case 'Boolean':
    case 'String':
    case 'BigInt':
    case 'BigInt.asIntN':
    case 'BigInt.asUintN':
    case 'Number.parseFloat':
    case 'Number.parseInt':
    case 'parseFloat':
    case 'parseInt':
    case 'Date.UTC':
    case 'Date.parse':
      break
    default: {
      // the remaining functions of doubles have no instruction
      const numbers = args.map((arg) => e.toNumber(arg))
      if (callee === 'Math.hypot' && isEngineHypot()) return hypotOf(e, numbers)
      return e.called(callee satisfies `Math.${string}`, numbers, span)
    }
  }
  throw e.declined(`it calls ${callee}`, span)
}

function withoutArguments<V>(e: Emitter<V>, callee: Callee, span: Span): V {
  if (callee === 'Number' || callee === 'Math.hypot') return e.constant(0)
  if (callee === 'Math.min' || callee === 'Math.max')
    return e.constant(callee === 'Math.min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  throw e.declined(`${callee} is called without an argument`, span)
}

function questionOf<V>(
  e: NumberEmitter<V>,
  callee: 'Number.isNaN' | 'Number.isFinite' | 'Number.isInteger' | 'Number.isSafeInteger',
  x: V,
): V {
  if (callee === 'Number.isNaN') return isNotANumber(e, x)
  return callee === 'Number.isFinite' ? isFiniteNumber(e, x) : isWhole(e, x, callee === 'Number.isSafeInteger')
}

function isNumber(type: WasmType | undefined): boolean {
  return type !== undefined && type.kind !== 'bool' && type.kind !== 'bigint'
}

/** Whether the value is a number for certain, neither null nor undefined. */
function isSurelyNumber<V>(e: NumberEmitter<V>, value: V): boolean {
  const type = e.typeOf(value)
  return isNumber(type) && type !== undefined && !isMaybe(type) && e.present?.(value) === undefined
}

function absolute<V>(e: NumberEmitter<V>, x: V): V {
  const range = integerOf(e, x)
  if (range === undefined) return e.float('abs', x)
  if (range.low >= 0) return x
  const [type, negated] = [integerType(Math.max(0, -range.high), Math.max(-range.low, range.high)), integerType(-range.high, -range.low)]
  if (type === undefined || negated === undefined) return e.float('abs', x)
  const { first, again } = e.kept(x)
  return e.integer('max', type, first, e.integer('-', negated, e.constant(0), again))
}

/** Math.round: the ceiling, unless that is more than a half above; -0 included. */
function rounded<V>(e: NumberEmitter<V>, x: V): V {
  const given = e.kept(e.toFloat(x))
  const up = e.kept(e.float('ceil', given.first))
  const below = e.float('-', up.again, e.constant(1))
  const isAbove = e.compared('>', e.float('-', up.again, e.constant(0.5)), given.again)
  return e.after([up.first], e.selected(isAbove, below, up.again))
}

/** The larger or smaller of two numbers. */
function extreme<V>(e: NumberEmitter<V>, operation: 'min' | 'max', a: V, b: V): V {
  const [one, other] = [integerOf(e, a), integerOf(e, b)]
  if (one === undefined || other === undefined) return e.float(operation, a, b)
  const of = Math[operation]
  const type = integerType(of(one.low, other.low), of(one.high, other.high))
  return type === undefined ? e.float(operation, a, b) : e.integer(operation, type, a, b)
}

function isNotANumber<V>(e: NumberEmitter<V>, x: V): V {
  const number = e.toNumber(x)
  if (integerOf(e, number) !== undefined) return e.after([number], e.constant(false))
  const { first, again } = e.kept(e.toFloat(number))
  return e.compared('!=', first, again)
}

function isFiniteNumber<V>(e: NumberEmitter<V>, x: V): V {
  if (integerOf(e, x) !== undefined) return e.after([x], e.constant(true))
  return e.compared('<', e.float('abs', x), e.constant(Number.POSITIVE_INFINITY))
}

function isWhole<V>(e: NumberEmitter<V>, x: V, isSafe: boolean): V {
  if (integerOf(e, x) !== undefined) return e.after([x], e.constant(true))
  const { first, again } = e.kept(e.toFloat(x))
  const isInteger = e.compared('==', e.float('trunc', first), again)
  const most = isSafe ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE
  return e.truths('and', isInteger, e.compared('<=', e.float('abs', again), e.constant(most)))
}

/** `Object.is`: NaN is equal to itself, and 0 differs from -0, as their inverses do. */
function isSame<V>(e: NumberEmitter<V>, x: V, y: V): V {
  if (integerOf(e, x) !== undefined && integerOf(e, y) !== undefined) return e.compared('==', x, y)
  const [a, b] = [e.kept(e.toFloat(x)), e.kept(e.toFloat(y))]
  const areEqual = e.compared('==', a.first, b.first)
  const inverse = (value: V): V => e.float('/', e.constant(1), value)
  const areBothNaN = e.truths('and', e.compared('!=', a.again, a.again), e.compared('!=', b.again, b.again))
  return e.truths('or', e.truths('and', areEqual, e.compared('==', inverse(a.again), inverse(b.again))), areBothNaN)
}
