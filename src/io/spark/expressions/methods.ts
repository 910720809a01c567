/**
 * Translates methods of texts and dates to expressions of Spark.
 *
 * Texts are counted and cut by UTF-16 code units, as JavaScript does, in a form of two bytes each.
 */
import type { Method } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import type { Scope } from '../scope.ts'
import { Untranslated } from '../untranslated.ts'
import { call, cast, double, int, long, text, when } from './build.ts'
import { asText } from './operators.ts'
import { SPACES } from './patterns.ts'
import { isoText } from './times.ts'
import { boolValue, codeUnits, hasUndefined, intValue, isIntegral, milliseconds, numberValue, textValue, type Value } from './values.ts'

/**
 * Letters that came to Unicode, or to its tables of upper and lower case, after version 6: whether a server knows them depends
 * on what it was built with. All others have the same cases everywhere, by the tables and by place (the last sigma of a word).
 */
const LATE_LETTERS = `[${[
  ...['37f', '528-52f', '10d0-10ff', '13a0-13ff', '1c80-1cbf', '2c2f', '2c5f', 'a698-a69f', 'a78d-a7ff', 'ab30-abbf'],
  ...['10400-105ff', '10c80-10d9f', '118a0-118df', '16e40-16eff', '1e900-1e943'],
]
  .map((range) => range.replaceAll(/[0-9a-f]+/g, '\\x{$&}'))
  .join('')}]`
const PARTS: ReadonlyMap<Method, string> = new Map([
  ['getUTCFullYear', 'year'],
  ['getUTCDate', 'day'],
  ['getUTCHours', 'hour'],
  ['getUTCMinutes', 'minute'],
  ['getUTCSeconds', 'second'],
])

interface Context {
  readonly span: Span
  readonly scope: Scope
}

/** A call of a method of `object`, a text or a date that is not null. */
export function methodCall(method: Method, object: Value, args: readonly Value[], context: Context): Value {
  if (object.is === 'Date') return ofDate(method, object, context)
  if (object.is === 'string') return ofText(method, object.expr, args, context)
  throw new Untranslated(`calls ${method} of a ${object.is}`, context.span, 'Compute it behind collect(), or with fallback: "local".')
}

function ofDate(method: Method, value: Value, { span, scope }: Context): Value {
  const part = PARTS.get(method)
  if (part !== undefined)
    return value.type.kind === 'date' && !/year|day/.test(part) ? numberValue(double(0)) : intValue(call(part, value.expr))
  switch (method) {
    case 'getTime':
    case 'valueOf':
      return numberValue(cast(milliseconds(value), 'DOUBLE'))
    case 'getUTCMonth':
      return intValue(call('-', call('month', value.expr), int(1)))
    case 'getUTCDay':
      return intValue(call('-', call('dayofweek', value.expr), int(1)))
    case 'toISOString':
      return textValue(isoText(value, scope))
    case 'getUTCMilliseconds':
      return numberValue(cast(call('pmod', milliseconds(value), long(1000n)), 'DOUBLE'))
    default:
      return refuse(method, span, /^get(?!UTC)/.test(method) ? 'Use the method of UTC: the server has a time zone of its own.' : undefined)
  }
}

function refuse(method: Method, span: Span, cure = 'Compute it behind collect(), or with fallback: "local".'): never {
  throw new Untranslated(`calls ${method}(), which Spark does not have with these values`, span, cure)
}

function ofText(method: Method, of: Expression, args: readonly Value[], { span, scope }: Context): Value {
  const [first] = args
  const only = (count: number): void => {
    if (args.length > count)
      refuse(method, span, `Call it with ${count === 1 ? 'one argument' : 'fewer arguments'}, or use fallback: "local".`)
  }
  const textAt = (i: number): Expression => {
    const value = args[i]
    return value === undefined ? text('undefined') : asText(value, span)
  }
  switch (method) {
    case 'length':
      return intValue(lengthOf(of))
    case 'includes':
      only(1)
      return boolValue(call('contains', of, textAt(0)))
    case 'startsWith':
      only(1)
      return boolValue(call('startswith', of, textAt(0)))
    case 'endsWith':
      only(1)
      return boolValue(call('endswith', of, textAt(0)))
    case 'indexOf': {
      only(1)
      const place = scope.bindExpr(call('instr', of, textAt(0)))
      const before = lengthOf(call('substring', of, int(1), call('-', place, int(1))))
      return intValue(when([[call('=', place, int(0)), int(-1)]], before))
    }
    case 'concat':
      return textValue(call('concat', of, ...args.map((_, i) => textAt(i))))
    case 'slice':
    case 'substring':
      return textValue(cut(method, of, args, { span, scope }))
    case 'charAt':
      return textValue(units(scope.bindExpr(of), first === undefined ? int(0) : placeOf(first, span), int(1)))
    case 'charCodeAt': {
      const unit = scope.bindExpr(digits(of, first === undefined ? int(0) : placeOf(first, span), int(1)))
      return numberValue(when([[call('=', unit, text('')), double(Number.NaN)]], cast(call('conv', unit, int(16), int(10)), 'DOUBLE')))
    }
    case 'repeat':
      only(1)
      return textValue(call('repeat', of, first === undefined ? int(0) : placeOf(first, span)))
    case 'padStart':
    case 'padEnd':
      return textValue(padded(method, scope.bindExpr(of), args, { span, scope }))
    case 'trim':
      return textValue(call('btrim', of, text(SPACES)))
    case 'trimStart':
      return textValue(call('ltrim', text(SPACES), of))
    case 'trimEnd':
      return textValue(call('rtrim', text(SPACES), of))
    case 'toUpperCase':
    case 'toLowerCase':
      return textValue(cased(method, of, scope))
    case 'toString':
    case 'valueOf':
      return textValue(of)
    default:
      return refuse(method, span)
  }
}

function lengthOf(of: Expression): Expression {
  return call('shiftright', call('octet_length', codeUnits(of)), int(1))
}

/** `count` code units from a place on, which is within the text or behind it, as four digits each. */
function digits(of: Expression, from: Expression, count: Expression): Expression {
  return call('substring', call('hex', codeUnits(of)), call('+', call('*', from, int(4)), int(1)), call('*', count, int(4)))
}

/** `count` code units as a text: by characters where each is one unit. The query fails where a character would be cut in two. */
function units(of: Expression, from: Expression, count: Expression): Expression {
  const isPlain = call('=', call('length', of), lengthOf(of))
  const plain = call('substring', of, call('+', from, int(1)), count)
  return when([[isPlain, plain]], call('decode', call('unhex', digits(of, from, count)), text('UTF-16BE')))
}

/** A place in a text, a literal whole number that is not negative. */
function placeOf(value: Value, span: Span): Expression {
  const { constant } = value
  if (typeof constant === 'number' && Number.isInteger(constant) && constant >= 0 && constant < 2 ** 29) return int(constant)
  throw new Untranslated(
    'takes a character at a place that is not written there',
    span,
    'Write the place as a number, or use fallback: "local".',
  )
}

/** `slice` or `substring` at literal places, or at whole numbers of columns. */
function cut(method: 'slice' | 'substring', of: Expression, args: readonly Value[], { span, scope }: Context): Expression {
  const length = scope.bindExpr(lengthOf(of))
  const bounded = (value: Value | undefined, missing: Expression): Expression => {
    if (value === undefined || (value.is === 'null' && hasUndefined(value, span))) return missing
    if (value.is !== 'number' || !isIntegral(value) || value.nullable || Math.abs(Number(value.constant ?? 0)) >= 2 ** 29)
      throw new Untranslated(
        'cuts a text at a place that is no whole number for sure',
        span,
        'Write the place as a number, or use fallback: "local".',
      )
    const place = typeof value.constant === 'number' ? int(value.constant) : cast(value.expr, 'INT')
    const fromEnd = method === 'slice' ? call('greatest', call('+', length, place), int(0)) : int(0)
    return when([[call('<', place, int(0)), fromEnd]], call('least', place, length))
  }
  const [a, b] = [scope.bindExpr(bounded(args[0], int(0))), scope.bindExpr(bounded(args[1], length))]
  const [from, to] = method === 'slice' ? [a, b] : [call('least', a, b), call('greatest', a, b)]
  return units(scope.bindExpr(of), from, call('greatest', call('-', to, from), int(0)))
}

/** A text padded to a literal length, by a literal text: both are counted in code units. */
function padded(method: 'padStart' | 'padEnd', of: Expression, [to, by]: readonly Value[], { span, scope }: Context): Expression {
  const length = to === undefined ? int(0) : placeOf(to, span)
  const pad = by === undefined ? ' ' : by.constant
  if (typeof pad !== 'string' || /[\ud800-\udfff]/.test(pad))
    throw new Untranslated('pads a text by one that is not written there', span, 'Write the text, as in row.name.padEnd(10, ".").')
  if (pad === '') return of
  const missing = scope.bindExpr(call('-', length, lengthOf(of)))
  const more = call('substring', call('repeat', text(pad), missing), int(1), missing)
  return when([[call('>', missing, int(0)), method === 'padStart' ? call('concat', more, of) : call('concat', of, more)]], of)
}

function cased(method: 'toUpperCase' | 'toLowerCase', of: Expression, scope: Scope): Expression {
  const subject = scope.bindExpr(of)
  const refused = call(
    'raise_error',
    call('concat', text(`${method}() of letters that are new to Unicode. Compute it behind collect(): `), subject),
  )
  const isLate = call('rlike', subject, text(LATE_LETTERS))
  return when([[isLate, cast(refused, 'STRING')]], call(method === 'toUpperCase' ? 'upper' : 'lower', subject))
}
