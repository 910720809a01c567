/**
 * Values of JavaScript as expressions of Spark: their kinds, and the conversions that operators begin with.
 *
 * JavaScript's conversions are said outright: null is 0 in arithmetic and where order is asked for, and no value is null
 * in a test. Texts are compared by their UTF-16 code units, dates by their milliseconds.
 */

import type { ColumnType } from '../../../core/data/schema.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import { sqlTypeOf } from '../sparkTypes.ts'
import { Untranslated } from '../untranslated.ts'
import { and, call, cast, column, double, FALSE, long, NULL, not, or, text, when } from './build.ts'

export type Is = 'number' | 'string' | 'boolean' | 'Date' | 'bigint' | 'null' | 'other'

/** An expression of Spark that has the values of one of JavaScript. */
export interface Value {
  readonly expr: Expression
  readonly is: Is
  /** The type in which Spark keeps it. */
  readonly type: ColumnType
  readonly nullable: boolean
  /** The value of JavaScript where Spark has null: null itself if absent, undefined, or either of the two by row. */
  readonly absent?: 'undefined' | 'either'
  /** The value of a literal. */
  readonly constant?: number | string | boolean | null
}

export const DOUBLE: ColumnType = { kind: 'f64' }
/** The type of the program's Dates. */
export const MILLISECONDS: ColumnType = { kind: 'timestamp', unit: 'ms' }
const BOOL: ColumnType = { kind: 'bool' }
const TEXT: ColumnType = { kind: 'utf8' }
const INTEGRAL: ReadonlySet<ColumnType['kind']> = new Set(['i8', 'i16', 'i32', 'u8', 'u16', 'u32'])
export const DAY_MS = 86_400_000
const LARGEST = 2n ** 53n

export function numberValue(expr: Expression): Value {
  return { expr, is: 'number', type: DOUBLE, nullable: false }
}

/** A whole number in an INT: lengths and places. */
export function intValue(expr: Expression): Value {
  return { expr, is: 'number', type: { kind: 'i32' }, nullable: false }
}

export function boolValue(expr: Expression): Value {
  return { expr, is: 'boolean', type: BOOL, nullable: false }
}

export function textValue(expr: Expression): Value {
  return { expr, is: 'string', type: TEXT, nullable: false }
}

export function bigintValue(expr: Expression): Value {
  return { expr, is: 'bigint', type: { kind: 'i64' }, nullable: false }
}

export const NULL_VALUE: Value = { expr: NULL, is: 'null', type: { kind: 'null' }, nullable: true, constant: null }
export const UNDEFINED_VALUE: Value = { ...NULL_VALUE, absent: 'undefined' }

export function constantValue(value: number | string | boolean): Value {
  switch (typeof value) {
    case 'number':
      return { ...numberValue(double(value)), constant: value }
    case 'boolean':
      return { ...boolValue({ literal: { boolean: value } }), constant: value }
    default:
      return { ...textValue(text(value)), constant: value }
  }
}

/** A column of a relation. */
export function columnValue(name: string, type: ColumnType, nullable: boolean): Value {
  return { expr: column(name), is: isOf(type), type, nullable }
}

export function isOf(type: ColumnType): Is {
  switch (type.kind) {
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return 'number'
    case 'i64':
      return 'bigint'
    case 'bool':
      return 'boolean'
    case 'utf8':
      return 'string'
    case 'date':
    case 'timestamp':
      return 'Date'
    case 'null':
      return 'null'
    default:
      return 'other'
  }
}

/** Whether Spark keeps a number as an integer: it is no NaN, and no -0. */
export function isIntegral({ type, constant }: Value): boolean {
  if (typeof constant === 'number') return Number.isSafeInteger(constant) && !Object.is(constant, -0)
  return INTEGRAL.has(type.kind) || (type.kind === 'f64' && type.integers !== undefined)
}

/** A number that is kept as an integer, as BIGINT; null stays. */
export function asLong({ expr, type, constant }: Value): Expression {
  if (typeof constant === 'number') return long(BigInt(constant))
  return type.kind === 'f64' ? expr : cast(expr, 'BIGINT')
}

/** Number(value) of a number, a truth value, a date or null, as DOUBLE. */
export function asNumber(value: Value, span: Span): Expression {
  const none = double(hasUndefined(value, span) ? Number.NaN : 0)
  const filled = (number: Expression): Expression => (value.nullable ? call('coalesce', number, none) : number)
  switch (value.is) {
    case 'null':
      return none
    case 'number':
      return filled(asDouble(value))
    case 'boolean':
      return filled(cast(cast(value.expr, 'INT'), 'DOUBLE'))
    case 'Date':
      return filled(cast(milliseconds(value), 'DOUBLE'))
    case 'string':
      throw new Untranslated(
        'turns a text into a number, which Spark does by other rules',
        span,
        'Give the column a type where it is read.',
      )
    case 'bigint':
      throw new Untranslated('computes with bigints, which Spark does not as JavaScript does', span, 'Read the column as numbers.')
    case 'other':
      throw new Untranslated('takes a list or an object for a number', span, 'Take one of its values.')
  }
}

/** A number as DOUBLE; null stays. Integers of 64 bits are refused where they are no numbers, as everywhere. */
function asDouble({ expr, type, constant }: Value): Expression {
  if (typeof constant === 'number') return double(constant)
  if (type.kind !== 'f64') return cast(expr, 'DOUBLE')
  if (type.integers === undefined) return expr
  const isExact = and(call('>=', expr, long(-LARGEST)), call('<=', expr, long(LARGEST)))
  const refused = call('raise_error', call('concat', text('An integer is beyond 2^53, and no number: '), cast(expr, 'STRING')))
  return when(
    [
      [or(isExact, call('isnull', expr)), cast(expr, 'DOUBLE')],
      [call('isnotnull', expr), cast(refused, 'DOUBLE')],
    ],
    cast(NULL, 'DOUBLE'),
  )
}

/** Milliseconds since the epoch, as BIGINT; null stays. */
export function milliseconds({ expr, type }: Pick<Value, 'expr' | 'type'>): Expression {
  if (type.kind === 'date') return call('*', cast(call('unix_date', expr), 'BIGINT'), long(BigInt(DAY_MS)))
  return call('unix_millis', cast(expr, 'TIMESTAMP'))
}

/** Whether a value passes for true. */
export function asTruth(value: Value, span: Span): Expression {
  const { expr, nullable } = value
  switch (value.is) {
    case 'null':
      return FALSE
    case 'boolean':
      return nullable ? call('coalesce', expr, FALSE) : expr
    case 'number': {
      if (isIntegral(value)) return nullOr(not(call('=', asLong(value), long(0n))), value)
      const number = asNumber(value, span)
      return and(not(call('=', number, double(0))), not(call('isnan', number)))
    }
    case 'string':
      return nullOr(not(call('=', expr, text(''))), value)
    case 'bigint':
      return nullOr(not(call('=', expr, long(0n))), value)
    case 'Date':
    case 'other':
      return nullable ? call('isnotnull', expr) : { literal: { boolean: true } }
  }
}

/** A test that is null for null, as one that is false for it. */
export function nullOr(test: Expression, { nullable }: Pick<Value, 'nullable'>): Expression {
  return nullable ? call('coalesce', test, FALSE) : test
}

/** A text by its UTF-16 code units, two bytes each: what JavaScript orders and counts by. Spark has code points. */
export function codeUnits(expr: Expression): Expression {
  return call('encode', expr, text('UTF-16BE'))
}

/** Equal numbers as one value: -0 is 0, and NaN has one sign, by which Sail tells some apart. */
export function equalForm({ expr, type, is }: Pick<Value, 'expr' | 'type' | 'is'>): Expression {
  if (is !== 'number' || !(type.kind === 'f32' || (type.kind === 'f64' && type.integers === undefined))) return expr
  const constant = (value: number): Expression => (type.kind === 'f32' ? cast(double(value), 'FLOAT') : double(value))
  return when([[call('isnan', expr), constant(Number.NaN)]], call('+', expr, constant(0)))
}

/** The value as a column of a type; the types agree but for how numbers are kept. */
export function asColumn(value: Value, type: ColumnType, span: Span): Expression {
  const wanted = sqlTypeOf(type)
  if (value.is === 'null') return cast(NULL, wanted)
  if (sqlTypeOf(value.type) === wanted) return value.expr
  if (value.is !== isOf(type))
    throw new Untranslated(`gives a ${value.is} where a ${isOf(type)} is expected`, span, 'Return values of one kind.')
  if (value.is === 'number' && wanted === 'DOUBLE') return asDouble(value)
  return cast(value.expr, wanted)
}

/** A captured value or a literal. */
export function primitive(value: Primitive, span: Span): Value {
  if (value === undefined) return UNDEFINED_VALUE
  if (value === null) return NULL_VALUE
  if (typeof value === 'bigint') {
    if (value !== BigInt.asIntN(64, value)) throw new Untranslated(`has a bigint of more than 64 bits (${value}n)`, span, 'Use a number.')
    return bigintValue(long(value))
  }
  return constantValue(value)
}

/** One value or another, by a test. Both are of one kind, or null. */
export function either(test: Expression, then: Value, other: Value, span: Span): Value {
  if (then.is === 'null' && other.is === 'null') return then.absent === other.absent ? then : { ...then, absent: 'either' }
  const known = then.is === 'null' ? other : then
  if (then.is !== 'null' && other.is !== 'null' && then.is !== other.is)
    throw new Untranslated(`is a ${then.is} or a ${other.is}`, span, 'Make values of one kind of both.')
  const absents = [then, other].filter(({ nullable }) => nullable).map(({ absent }) => absent)
  const types = [then, other].filter(({ is }) => is !== 'null').map(({ type }) => type)
  const [first = DOUBLE] = types
  const isOne = types.every((type) => sqlTypeOf(type) === sqlTypeOf(first) && type.kind === first.kind)
  const type = isOne ? first : known.is === 'number' ? DOUBLE : known.is === 'Date' ? MILLISECONDS : first
  const absent = absentOf(absents)
  return {
    is: known.is,
    type,
    nullable: absents.length > 0,
    ...(absent === undefined ? {} : { absent }),
    expr: when([[test, asColumn(then, type, span)]], asColumn(other, type, span)),
  }
}

/** The value of JavaScript where one of several values is null. */
export function absentOf(absents: readonly Value['absent'][]): Value['absent'] {
  return new Set(absents).size > 1 ? 'either' : absents[0]
}

/** Whether null is undefined to the program, where that makes a difference. */
export function hasUndefined({ absent, nullable }: Value, span: Span): boolean {
  if (!nullable) return false
  if (absent === 'either')
    throw new Untranslated('may be null or undefined, which Spark does not tell apart', span, 'Say which, as in row.name?.length ?? null.')
  return absent === 'undefined'
}
