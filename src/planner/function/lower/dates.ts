/**
 * Lowers dates from outside the function, or written out in it, to the numbers that comparisons and arithmetic make of them; a row lambda
 * also makes Dates of what its row has.
 *
 *     const from = new Date('1994-01-01')
 *     (r) => r.day >= from                          day >= Parameter from, 757382400000
 *     (r) => r.day >= new Date('1994-01-01')        day >= Literal 757382400000
 */
import type { CallExpression, NewExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { parameterName } from '../captures/outside.ts'
import { refusalOf } from '../refusals.ts'
import { literal } from './build.ts'
import { clippedTime, timeInUtc, type UtcMethod, utcPart } from './dates/calendar.ts'
import type { Lowering } from './lowering.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

/** Methods with the same answer in every time zone. */
const METHODS: ReadonlySet<string> = new Set(
  'getTime valueOf getUTCFullYear getUTCMonth getUTCDate getUTCDay getUTCHours getUTCMinutes getUTCSeconds getUTCMilliseconds'.split(' '),
)
/** Methods whose answer follows from the time zone: workers have that of the session, other processes may have another. */
const LOCAL_METHODS: ReadonlySet<string> = new Set(
  'getFullYear getMonth getDate getDay getHours getMinutes getSeconds getMilliseconds'.split(' '),
)

/**
 * Lowers `new Date('1994-01-01')`, in a form that no time zone changes, or `new Date(number)`: where the time is known before the run it is
 * a point in time, otherwise a value that row lambdas make, and of which loop bodies have the milliseconds. Undefined for other expressions.
 */
export function newDate(l: Lowering, node: NewExpression): Value | undefined {
  const { callee, arguments: args } = node
  const [argument] = args
  if (callee.type !== 'Identifier' || argument === undefined || argument.type === 'SpreadElement') return undefined
  if (l.unit.names.bindingOf.get(callee) !== undefined) return undefined
  const free = l.unit.freeOf(callee)
  if (free.kind !== 'global' || free.value !== Date) return undefined
  const span = l.span(node)
  if (args.length !== 1) return l.context.kind === 'loop' ? l.refuse('date-local', node, span.text) : undefined
  if (argument.type === 'Literal' && typeof argument.value === 'string') {
    if (!IN_UTC.test(argument.value)) return undefined
    return {
      kind: 'date',
      milliseconds: { kind: 'Literal', value: new Date(argument.value).getTime(), isTime: true, span },
      name: span.text,
    }
  }
  const given = l.verbs.value(l, argument)
  if (given.kind === 'date') return given
  const of = l.scalarOrNothing(given, argument)
  if (of === undefined) return REFUSED
  const isKnown = of.kind === 'Literal' || of.kind === 'Parameter'
  const known = of.kind === 'Literal' ? of.value : l.parameters.find((one) => one.name === (of as { name: string }).name)?.value
  if (isKnown && typeof known === 'number')
    return { kind: 'date', milliseconds: asTime(answered(l, of, span.text, (time) => new Date(time).getTime())), name: span.text }
  const isLoop = l.context.kind === 'loop'
  l.checks.push({
    expr: of,
    holds: (kinds) => kinds?.every((kind) => (isLoop ? NUMBERS : OF_DATES).has(kind)) === true,
    refusal: refusalOf('date-of-unknown', span, span.text),
  })
  if (isLoop) return { kind: 'date', milliseconds: clippedTime(l, of, span), name: span.text }
  return exprValue({ kind: 'Call', callee: 'new Date', args: [of], span })
}

/** Types of which JavaScript makes Dates: no bigint, of which it makes none, and no list or object, of which it makes a text. */
const OF_DATES: ReadonlySet<string> = new Set('f64 f32 i32 u32 i16 u16 i8 u8 bool null timestamp date utf8'.split(' '))

const NUMBERS: ReadonlySet<string> = new Set('f64 f32 i32 u32 i16 u16 i8 u8 bool'.split(' '))

/** Lowers `Date.UTC(year, month, …)` of loop bodies to arithmetic; undefined in row lambdas. */
export function utcTime(l: Lowering, args: readonly Expr[], span: Span): Expr | undefined {
  if (l.context.kind !== 'loop' || args.length === 0 || args.length > MOST_PARTS || args.every(({ kind }) => kind === 'Literal'))
    return undefined
  for (const expr of args) {
    const holds = (kinds: readonly string[] | undefined): boolean => kinds?.every((kind) => NUMBERS.has(kind)) === true
    l.checks.push({ expr, holds, refusal: refusalOf('date-of-unknown', span, span.text) })
  }
  return timeInUtc(l, args, span)
}

/** Year, month, day, hours, minutes, seconds and milliseconds. */
const MOST_PARTS = 7

/** Lowers `Date.parse(text)` in row lambdas; undefined in loop bodies, and for more than one argument. */
export function parsedDate(l: Lowering, args: readonly Expr[], span: Span): Expr | undefined {
  const [text, another] = args
  if (l.context.kind !== 'row' || text === undefined || another !== undefined) return undefined
  l.checks.push({
    expr: text,
    holds: (kinds) => kinds?.every((kind) => kind === 'utf8' || kind === 'null') === true,
    refusal: refusalOf('date-of-unknown', span, span.text),
  })
  return { kind: 'Call', callee: 'Date.parse', args: [text], span }
}

/** Returns the Date as an object for row lambdas: a copy, which has another identity. Undefined in loop bodies. */
export function dateItself(l: Lowering, date: Value & { kind: 'date' }): Expr | undefined {
  if (l.context.kind !== 'row') return undefined
  l.copiesDates = true
  return { kind: 'Call', callee: 'new Date', args: [date.milliseconds], span: date.milliseconds.span }
}

/** Checks that equality does not compare Dates as objects where one may be a copy, which is not equal to its original. */
export function comparesObjects(l: Lowering, left: Expr, right: Expr, span: Span): void {
  if (left.kind === 'Literal' || right.kind === 'Literal') return
  l.checks.push({
    expr: left,
    holds: (kinds) => !l.copiesDates || kinds?.every((kind) => kind !== 'timestamp' && kind !== 'date') === true,
    refusal: refusalOf('date-identity', span),
  })
}

/** Texts of a day, which is a day in UTC, or of a time with its offset. */
const IN_UTC = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/** Lowers `from.getTime()` and the like: a literal or a parameter where the time is known before the run, arithmetic elsewhere. */
export function dateMethod(l: Lowering, date: Value & { kind: 'date' }, name: string, node: CallExpression): Value {
  const isKnown = METHODS.has(name) || (l.context.kind === 'row' && LOCAL_METHODS.has(name))
  if (l.context.kind === 'loop' && isLocal(name)) return l.refuse('date-local', node, `${date.name}.${name}`)
  if (l.context.kind === 'loop' && name.startsWith('set')) return l.refuse('date-changed', node, `${date.name}.${name}`)
  if (!isKnown || node.arguments.length > 0) return l.refuse('unknown-method', node, `${date.name}.${name}`)
  const { milliseconds } = date
  if (name === 'getTime' || name === 'valueOf') return exprValue({ ...asNumber(milliseconds), span: l.span(node) })
  if (milliseconds.kind === 'Local') return exprValue(utcPart(l, milliseconds, name as UtcMethod, l.span(node))) // no other is in METHODS
  return exprValue(answered(l, milliseconds, `${date.name}.${name}()`, (time) => new Date(time)[name as 'getUTCDate']()))
}

/** Whether the answer of a method of Dates, or what it sets, follows from the time zone. */
function isLocal(name: string): boolean {
  return (
    LOCAL_METHODS.has(name) ||
    LOCAL_METHODS.has(name.replace(/^set/, 'get')) ||
    /^(getTimezoneOffset|to(Locale|Date|Time)?String|toLocale\w+|to(Date|Time)String)$/.test(name)
  )
}

/** Marks a number as the milliseconds of a Date, or as a number like others. */
function asTime(of: Expr): Expr {
  return of.kind === 'Literal' || of.kind === 'Parameter' ? { ...of, isTime: true } : of
}

function asNumber(of: Expr): Expr {
  if (of.kind !== 'Literal' && of.kind !== 'Parameter') return of
  const { isTime: _, ...number } = of
  return number
}

function answered(l: Lowering, of: Expr, name: string, answer: (time: number) => number): Expr {
  if (of.kind === 'Literal') return literal(answer(of.value as number), of.span) // times are numbers
  const known = of.kind === 'Parameter' ? l.parameters.find((one) => one.name === of.name) : undefined
  if (known === undefined) return of // the milliseconds of a Date are a literal or a parameter
  return { kind: 'Parameter', name: parameterName(l, name, answer(known.value as number), known.origin), span: of.span } // times are numbers
}
