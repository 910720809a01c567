/**
 * Translates functions of JavaScript's platform to expressions of Spark.
 *
 * Rounding is made of `rint`, which is the only one of Spark's functions that rounds to a DOUBLE, and of comparisons, so
 * that it does not matter how that breaks ties. Spark gives null where a logarithm has no value.
 */
import type { Builtin } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import type { Scope } from '../scope.ts'
import { Untranslated } from '../untranslated.ts'
import { and, call, cast, double, FALSE, long, not, or, TRUE, text, when } from './build.ts'
import { asText, binary, isMinus } from './operators.ts'
import { asNumber, asTruth, boolValue, constantValue, DOUBLE, isIntegral, numberValue, textValue, type Value } from './values.ts'

const ZERO = double(0)
const NAN = double(Number.NaN)
const INFINITE = double(Number.POSITIVE_INFINITY)

/** The functions that Spark has with the same values, to the last bits of what its platform's mathematics gives. */
const SAME: Readonly<Partial<Record<Builtin, string>>> = {
  'Math.abs': 'abs',
  'Math.sqrt': 'sqrt',
  'Math.cbrt': 'cbrt',
  'Math.exp': 'exp',
  'Math.expm1': 'expm1',
  'Math.sin': 'sin',
  'Math.cos': 'cos',
  'Math.tan': 'tan',
  'Math.asin': 'asin',
  'Math.acos': 'acos',
  'Math.atan': 'atan',
  'Math.sinh': 'sinh',
  'Math.cosh': 'cosh',
  'Math.tanh': 'tanh',
}
/** Logarithms, null for Spark up to some number, at which they are -Infinity, and below which they are NaN. */
const LOGARITHMS: Readonly<Partial<Record<Builtin, readonly [name: string, at: number]>>> = {
  'Math.log': ['ln', 0],
  'Math.log10': ['log10', 0],
  'Math.log2': ['log2', 0],
  'Math.log1p': ['log1p', -1],
}

export function builtin(callee: Builtin, args: readonly Value[], { span, scope }: { readonly span: Span; readonly scope: Scope }): Value {
  const [first, second] = args
  const numberAt = (i: number): Expression => {
    const value = args[i]
    return value === undefined ? NAN : scope.bindExpr(asNumber(value, span))
  }
  const same = SAME[callee]
  if (same !== undefined) return numberValue(call(same, numberAt(0)))
  const logarithm = LOGARITHMS[callee]
  if (logarithm !== undefined) {
    const [name, at] = logarithm
    const x = numberAt(0)
    const tests = [
      [call('>', x, double(at)), call(name, x)],
      [call('=', x, double(at)), double(Number.NEGATIVE_INFINITY)],
    ] as const
    return numberValue(when(tests, NAN))
  }
  switch (callee) {
    case 'Math.floor':
      return numberValue(floor(numberAt(0), scope))
    case 'Math.ceil':
      return numberValue(ceil(numberAt(0), scope))
    case 'Math.trunc':
      return numberValue(when([[call('<', numberAt(0), ZERO), ceil(numberAt(0), scope)]], floor(numberAt(0), scope)))
    case 'Math.round':
      return numberValue(rounded(numberAt(0), scope))
    case 'Math.sign': {
      const x = numberAt(0)
      return numberValue(when([[or(call('=', x, ZERO), call('isnan', x)), x]], call('signum', x)))
    }
    case 'Math.fround':
      return numberValue(cast(cast(numberAt(0), 'FLOAT'), 'DOUBLE'))
    case 'Math.min':
    case 'Math.max':
      return numberValue(
        extreme(
          callee,
          args.map((_, i) => numberAt(i)),
          scope,
        ),
      )
    case 'Math.pow':
      if (first === undefined || second === undefined) return numberValue(NAN)
      return binary('**', { left: first, right: second, span, scope })
    case 'Math.atan2':
      return numberValue(angle(numberAt(0), numberAt(1)))
    case 'Math.imul': {
      const bits = (value: Value | undefined): Expression =>
        cast(binary('|', { left: value ?? constantValue(0), right: constantValue(0), span, scope }).expr, 'BIGINT')
      // products of 32 bits have 64, of which the low ones are wanted: taken in two halves, so that none is beyond a BIGINT
      const [a, b] = [scope.bindExpr(bits(first)), scope.bindExpr(bits(second))]
      const high = call('*', call('shiftright', b, { literal: { integer: 16 } }), a)
      const low = call('*', call('&', b, long(0xffffn)), a)
      const sum = call('+', call('*', call('pmod', high, long(0x10000n)), long(0x10000n)), low)
      return numberValue(cast(call('-', call('pmod', call('+', sum, long(2n ** 31n)), long(2n ** 32n)), long(2n ** 31n)), 'DOUBLE'))
    }
    case 'Number':
      return numberValue(first === undefined ? ZERO : first.is === 'bigint' ? asNumber(roundedBigint(first), span) : asNumber(first, span))
    case 'Boolean':
      return boolValue(first === undefined ? FALSE : asTruth(first, span))
    case 'String':
      return textValue(first === undefined ? text('') : asText(first, span))
    case 'isNaN':
      return boolValue(call('isnan', numberAt(0)))
    case 'isFinite':
      return boolValue(call('<', call('abs', numberAt(0)), INFINITE))
    case 'Number.isNaN':
    case 'Number.isFinite':
    case 'Number.isInteger':
    case 'Number.isSafeInteger':
      return boolValue(first === undefined ? FALSE : ofNumbers(callee, first, { span, scope }))
    case 'Math.acosh':
    case 'Math.asinh':
    case 'Math.atanh':
    case 'Math.hypot':
    case 'Math.clz32':
    case 'BigInt':
    case 'BigInt.asIntN':
    case 'BigInt.asUintN':
    case 'Number.parseFloat':
    case 'Number.parseInt':
    case 'parseFloat':
    case 'parseInt':
    case 'Object.is':
    case 'Date.UTC':
    case 'Date.parse':
      return refuse(callee, span)
    default:
      return refuse(callee, span)
  }
}

function refuse(callee: Builtin, span: Span): never {
  throw new Untranslated(
    `calls ${callee}, which Spark does not have with these values`,
    span,
    'Compute it behind collect(), or with fallback: "local".',
  )
}

function floor(x: Expression, scope: Scope): Expression {
  const near = scope.bindExpr(call('rint', x))
  return when([[call('>', near, x), call('-', near, double(1))]], near)
}

/** `Math.ceil(x)`; for -0.5 it is -0, as for all that is rounded to 0 from below. */
function ceil(x: Expression, scope: Scope): Expression {
  return call('negative', floor(scope.bindExpr(call('negative', x)), scope))
}

/** `Math.round(x)`: to the nearest integer, halves up, and to -0 from below 0. */
function rounded(x: Expression, scope: Scope): Expression {
  const below = scope.bindExpr(floor(x, scope))
  const up = call('>=', call('-', x, below), double(0.5))
  const isMinusZero = and(call('<', x, ZERO), call('>=', x, double(-0.5)))
  return when(
    [
      [isMinusZero, double(-0)],
      [up, call('+', below, double(1))],
    ],
    below,
  )
}

/** `Math.atan2(y, x)`: Spark takes -0 for 0, whose sign says where the point lies. */
function angle(y: Expression, x: Expression): Expression {
  const isBehind = or(call('<', x, ZERO), and(call('=', x, ZERO), isMinus(x)))
  const onAxis = when([[isBehind, double(Math.PI)]], ZERO)
  return when(
    [[and(call('=', y, ZERO), not(call('isnan', x))), when([[isMinus(y), call('negative', onAxis)]], onAxis)]],
    call('atan2', y, x),
  )
}

/** `Math.min` or `Math.max`: NaN wins, and -0 is less than 0, as the sum of two zeros is -0 only where both are. */
function extreme(callee: 'Math.min' | 'Math.max', numbers: readonly Expression[], scope: Scope): Expression {
  const isMin = callee === 'Math.min'
  const [first = double(isMin ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY), ...others] = numbers
  return others.reduce((a, b) => {
    const one = scope.bindExpr(a)
    const zeros = isMin ? call('negative', call('+', call('negative', one), call('negative', b))) : call('+', one, b)
    return when(
      [
        [or(call('isnan', one), call('isnan', b)), NAN],
        [call(isMin ? '<' : '>', one, b), one],
        [call(isMin ? '<' : '>', b, one), b],
        [call('=', one, ZERO), zeros],
      ],
      one,
    )
  }, first)
}

/** `Number.isNaN` and the like, which do not convert: false for all that is no number. */
function ofNumbers(callee: string, value: Value, { span, scope }: { readonly span: Span; readonly scope: Scope }): Expression {
  if (value.is !== 'number') return FALSE
  const there = (test: Expression): Expression => (value.nullable ? and(call('isnotnull', value.expr), test) : test)
  const x = scope.bindExpr(asNumber({ ...value, nullable: value.nullable }, span))
  const isFinite_ = call('<', call('abs', x), INFINITE)
  switch (callee) {
    case 'Number.isNaN':
      return isIntegral(value) ? FALSE : there(call('isnan', x))
    case 'Number.isFinite':
      return there(isIntegral(value) ? TRUE : isFinite_)
    case 'Number.isInteger':
      return there(isIntegral(value) ? TRUE : and(isFinite_, call('=', call('rint', x), x)))
    default: {
      const isSafe = call('<=', call('abs', x), double(Number.MAX_SAFE_INTEGER))
      return there(and(isFinite_, call('=', call('rint', x), x), isSafe, not(call('isnan', x))))
    }
  }
}

/** The number nearest to a bigint. */
function roundedBigint(value: Value): Value {
  return { ...value, is: 'number', type: DOUBLE, expr: cast(value.expr, 'DOUBLE') }
}
