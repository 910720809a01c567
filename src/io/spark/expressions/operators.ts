/** JavaScript's operators as expressions of Spark. */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import { mayRaise, type Scope } from '../scope.ts'
import { Untranslated } from '../untranslated.ts'
import { ofBigints } from './bigints.ts'
import { and, bool, call, cast, date, double, FALSE, long, not, or, when } from './build.ts'
import {
  asLong,
  asNumber,
  boolValue,
  codeUnits,
  DAY_MS,
  hasUndefined,
  isIntegral,
  nullOr,
  numberValue,
  textValue,
  type Value,
} from './values.ts'

const COMPARISONS: ReadonlySet<BinaryOperator> = new Set(['===', '==', '!==', '!=', '<', '<=', '>', '>='])
const TWO_32 = 2n ** 32n
const TWO_31 = 2n ** 31n
const NAN = double(Number.NaN)
const INFINITE = double(Number.POSITIVE_INFINITY)

interface Operands {
  readonly left: Value
  readonly right: Value
  readonly span: Span
  readonly scope: Scope
}

export function binary(operator: BinaryOperator, operands: Operands): Value {
  const { left, right, span, scope } = operands
  if (!COMPARISONS.has(operator) && (left.is === 'bigint' || right.is === 'bigint') && left.is !== 'string' && right.is !== 'string')
    return ofBigints(operator, left, right, operands)
  switch (operator) {
    case '+':
      if (left.is === 'string' || right.is === 'string') return joined(operands)
      if (left.is === 'Date' || right.is === 'Date')
        throw new Untranslated('adds to a date, which gives a text', span, 'Add to its getTime().')
      return arithmetic('+', operands)
    case '-':
    case '*':
      return arithmetic(operator, operands)
    case '/':
      return numberValue(quotient(scope.bindExpr(asNumber(left, span)), scope.bindExpr(asNumber(right, span))))
    case '%': {
      const by = scope.bindExpr(asNumber(right, span))
      return numberValue(when([[call('=', by, double(0)), NAN]], call('%', asNumber(left, span), by)))
    }
    case '**':
      return numberValue(power(scope.bindExpr(asNumber(left, span)), scope.bindExpr(asNumber(right, span))))
    case '&':
    case '|':
    case '^':
      return numberValue(cast(call(operator, int32(operands, left), int32(operands, right)), 'DOUBLE'))
    case '<<':
    case '>>':
    case '>>>':
      return numberValue(cast(shifted(operator, operands), 'DOUBLE'))
    case '===':
    case '==':
      return boolValue(equal(operands, operator === '=='))
    case '!==':
    case '!=':
      return boolValue(not(equal(operands, operator === '!=')))
    case '<':
    case '<=':
    case '>':
    case '>=':
      return boolValue(ordered(operator, operands))
  }
}

function arithmetic(operator: string, { left, right, span }: Operands): Value {
  return numberValue(call(operator, asNumber(left, span), asNumber(right, span)))
}

/** A quotient, where Spark has null for a division by zero. */
function quotient(a: Expression, by: Expression): Expression {
  const infinity = when([[isMinus(by), double(Number.NEGATIVE_INFINITY)]], INFINITE)
  return when([[call('=', by, double(0)), call('*', a, infinity)]], call('/', a, by))
}

/** Whether a number is negative or -0, which comparisons do not tell from 0. */
export function isMinus(number: Expression): Expression {
  return call('startswith', cast(number, 'STRING'), { literal: { string: '-' } })
}

/** A power. With the exponent NaN, or of ±1 to an infinite one, C has 1; 0 to a negative power is an error of some servers. */
function power(base: Expression, exponent: Expression): Expression {
  const isOne = call('=', call('abs', base), double(1))
  const isEndless = call('=', call('abs', exponent), INFINITE)
  const isOdd = call('=', call('abs', call('%', exponent, double(2))), double(1))
  const pole = when([[and(isMinus(base), isOdd), double(Number.NEGATIVE_INFINITY)]], INFINITE)
  return when(
    [
      [or(call('isnan', exponent), and(isOne, isEndless)), NAN],
      [and(call('=', base, double(0)), call('<', exponent, double(0))), pole],
    ],
    call('power', base, exponent),
  )
}

/** ToInt32, as BIGINT: the low 32 bits of the whole part, with a sign. */
function int32({ span, scope }: Pick<Operands, 'span' | 'scope'>, value: Value): Expression {
  if (isIntegral(value) && !value.nullable && value.type.kind !== 'f64' && value.type.kind !== 'u32') return cast(value.expr, 'BIGINT')
  if (typeof value.constant === 'number') return long(BigInt(value.constant | 0))
  const number = scope.bindExpr(asNumber(value, span))
  const isEnding = call('<', call('abs', number), INFINITE)
  // the rest of a division by 2^32 has the bits, and is exact
  const low = cast(call('%', number, double(Number(TWO_32))), 'BIGINT')
  return when([[isEnding, signed(low)]], long(0n))
}

function signed(bits: Expression): Expression {
  return call('-', call('pmod', call('+', bits, long(TWO_31)), long(TWO_32)), long(TWO_31))
}

function shifted(operator: '<<' | '>>' | '>>>', operands: Operands): Expression {
  const bits = int32(operands, operands.left)
  const by = cast(call('&', int32(operands, operands.right), long(31n)), 'INT')
  switch (operator) {
    case '<<':
      return signed(call('shiftleft', bits, by))
    case '>>':
      return call('shiftright', bits, by)
    case '>>>':
      return call('shiftright', call('pmod', bits, long(TWO_32)), by)
  }
}

function joined({ left, right, span }: Operands): Value {
  return textValue(call('concat', asText(left, span), asText(right, span)))
}

/** String(value), where Spark writes it as JavaScript does. */
export function asText(value: Value, span: Span): Expression {
  const none = { literal: { string: hasUndefined(value, span) ? 'undefined' : 'null' } }
  const filled = (text: Expression): Expression => (value.nullable ? call('coalesce', text, none) : text)
  if (value.is === 'null') return none
  if (value.is === 'string') return filled(value.expr)
  if (value.is === 'boolean') return filled(cast(value.expr, 'STRING'))
  if (typeof value.constant === 'number') return { literal: { string: String(value.constant) } }
  if (value.is === 'bigint' || (value.is === 'number' && isIntegral(value))) return filled(cast(value.expr, 'STRING'))
  throw new Untranslated(
    value.is === 'number' ? 'writes a number as text, which Spark does in another form' : `writes a ${value.is} as text`,
    span,
    'Make the text of the result, in a map() behind collect() or with fallback: "local".',
  )
}

/** `===`, or `==` where values may be converted. */
function equal({ left, right, span, scope }: Operands, isLoose: boolean): Expression {
  if (left.is === 'null' && right.is === 'null') return bool(isLoose || sameAbsent(left, right, span))
  if (left.is === 'null') return isAbsent(right, left, { isLoose, span })
  if (right.is === 'null') return isAbsent(left, right, { isLoose, span })
  if (left.is !== right.is) return equalOfKinds({ left, right, span, scope }, isLoose)
  if (left.is === 'Date' || left.is === 'other')
    throw new Untranslated(
      `asks whether two ${left.is === 'Date' ? 'dates' : 'values'} are one object`,
      span,
      'Compare what they hold: a date has getTime().',
    )
  const [a, b] = [scope.bind(left), scope.bind(right)]
  const test = sameNumbers(a, b)
  if (!a.nullable || !b.nullable) return a.nullable || b.nullable ? call('coalesce', test, FALSE) : test
  const bothAbsent = isLoose || sameAbsent(a, b, span) ? and(call('isnull', a.expr), call('isnull', b.expr)) : FALSE
  return or(bothAbsent, call('coalesce', test, FALSE))
}

/** Whether two values that are there are equal; null where one is not. NaN is not equal to itself, as it is for Spark. */
function sameNumbers(a: Value, b: Value): Expression {
  if (a.is !== 'number') return call('=', a.expr, b.expr)
  if (isIntegral(a) && isIntegral(b)) return call('=', asLong(a), asLong(b))
  const test = call('=', a.expr, b.expr)
  return mayBeNaN(a) && mayBeNaN(b) ? and(test, not(call('isnan', a.expr))) : test
}

/** Whether null stands for the same value, null or undefined, in both. */
function sameAbsent(a: Value, b: Value, span: Span): boolean {
  return hasUndefined(a, span) === hasUndefined(b, span)
}

function isAbsent(value: Value, none: Value, { isLoose, span }: { readonly isLoose: boolean; readonly span: Span }): Expression {
  return value.nullable && (isLoose || sameAbsent(value, none, span)) ? call('isnull', value.expr) : FALSE
}

function equalOfKinds({ left, right, span }: Operands, isLoose: boolean): Expression {
  const mayBothBeAbsent = left.nullable && right.nullable && (isLoose || sameAbsent(left, right, span))
  const bothAbsent = mayBothBeAbsent ? and(call('isnull', left.expr), call('isnull', right.expr)) : FALSE
  if (!isLoose) {
    // the answer is known, and nobody would see what one of the two may throw
    if (mayRaise(left.expr) || mayRaise(right.expr))
      throw new Untranslated(`compares a ${left.is} with a ${right.is}`, span, 'Compare values of one kind.')
    return bothAbsent
  }
  const kinds = [left.is, right.is]
  if (!kinds.every((is) => is === 'number' || is === 'boolean'))
    throw new Untranslated(`compares a ${left.is} with a ${right.is} by ==`, span, 'Use ===, or convert one of them.')
  const test = call('=', asNumber({ ...left, nullable: false }, span), asNumber({ ...right, nullable: false }, span))
  const isNumber = [left, right].filter(({ is, constant }) => is === 'number' && !(typeof constant === 'number' && !Number.isNaN(constant)))
  const guarded = and(test, ...isNumber.filter((one) => !isIntegral(one)).map((one) => not(call('isnan', one.expr))))
  return or(bothAbsent, nullOr(guarded, { nullable: left.nullable || right.nullable }))
}

type Order = '<' | '<=' | '>' | '>='

function ordered(operator: Order, operands: Operands): Expression {
  const { left, right, span, scope } = operands
  if (left.is === 'string' && right.is === 'string') {
    if (left.nullable || right.nullable)
      throw new Untranslated(
        'orders texts that may be null, which JavaScript compares as numbers',
        span,
        "Say what null is, as in (row.name ?? '') < 'b'.",
      )
    return call(operator, codeUnits(left.expr), codeUnits(right.expr))
  }
  if (left.is === 'string' || right.is === 'string')
    throw new Untranslated(`compares a ${left.is} with a ${right.is}`, span, 'Compare values of one kind.')
  const days = daysCompared(operator, operands)
  if (days !== undefined) return days
  if (isWhole(left) && isWhole(right)) return call(operator, zeroOfNull(left), zeroOfNull(right))
  const [a, b] = [scope.bindExpr(asNumber(left, span)), scope.bindExpr(asNumber(right, span))]
  const test = call(operator, a, b)
  // NaN is the largest number for Spark, and equal to itself; for Sail the sign of its bits says whether it is the largest or the least
  const guards = [
    { value: left, number: a },
    { value: right, number: b },
  ].flatMap(({ value, number }) => (mayBeNaN(value) ? [not(call('isnan', number))] : []))
  return guards.length === 0 ? test : and(test, ...guards)
}

/** Whether a value is an integer, as a number or a bigint: these have one order. */
function isWhole(value: Value): boolean {
  return value.is === 'bigint' || isIntegral(value)
}

function mayBeNaN(value: Value): boolean {
  if (value.absent === 'undefined') return true
  return value.is === 'number' && !isIntegral(value) && !(typeof value.constant === 'number' && !Number.isNaN(value.constant))
}

function zeroOfNull(value: Value): Expression {
  if (!value.nullable) return asLong(value)
  if (value.absent !== undefined)
    throw new Untranslated('compares what may be undefined', undefined, 'Say what it is then, as in (row.name?.length ?? 0).')
  return call('coalesce', asLong(value), long(0n))
}

/** A column of days beside a constant of milliseconds, as a comparison of days, by which Spark skips parts of files. */
function daysCompared(operator: Order, { left, right }: Operands): Expression | undefined {
  if (left.is === 'Date' && right.is === 'Date' && left.type.kind === 'date' && right.type.kind === 'date')
    return call(operator, epochOfNull(left), epochOfNull(right))
  const isLeft = left.type.kind === 'date' && typeof right.constant === 'number'
  const isRight = right.type.kind === 'date' && typeof left.constant === 'number'
  if (!isLeft && !isRight) return undefined
  const [column, ms] = isLeft ? [left, right.constant as number] : [right, left.constant as number]
  const days = ms / DAY_MS
  if (!(Math.abs(days) < 1e6)) return undefined
  const turned = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const
  const own = isLeft ? operator : turned[operator]
  const day = own === '<' || own === '>=' ? Math.ceil(days) : Math.floor(days)
  return call(own, epochOfNull(column), date(day))
}

function epochOfNull({ expr, nullable }: Value): Expression {
  return nullable ? call('coalesce', expr, date(0)) : expr
}
