/**
 * Lowers calls of the library's functions of time: options are taken apart, and those that are known before the run are checked where
 * the function is given.
 *
 *     (r) => bucket(r.ts, { every: '1 day', zone })     bucket(ts, Literal '1 day', Parameter zone)
 */
import type { AnyNode, CallExpression } from 'acorn'
import { PlanError } from '../../../core/errors.ts'
import type { Expr, LibraryCall, Primitive } from '../../../core/ir/functionIr.ts'
import { placeText } from '../../../core/span.ts'
import { bucketStart } from '../../../core/time/bucket.ts'
import { timeFormat } from '../../../core/time/format.ts'
import { duration } from '../../../core/time/texts.ts'
import { zoneNamed } from '../../../core/time/zone.ts'
import { parameterName } from '../captures/outside.ts'
import { hasTraps } from '../captures/traps.ts'
import { literal } from './build.ts'
import { dateItself } from './dates.ts'
import type { Lowering } from './lowering.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

export function timeCall(l: Lowering, name: LibraryCall, node: CallExpression): Value {
  const args = node.arguments.flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  if (l.context.kind !== 'row' || args.length < node.arguments.length) return l.refuseCall(name, node)
  const [first = REFUSED, ...others] = l.inOrder(args.map((one) => () => l.verbs.value(l, one)))
  const of = (first.kind === 'date' ? dateItself(l, first) : undefined) ?? l.scalarOrNothing(first, args[0] ?? node)
  const given = of === undefined ? undefined : givenTo(l, name, others, node)
  if (of === undefined || given === undefined) return l.refuseCall(name, node)
  if (name === 'duration') return durationOf(l, of, node)
  check(l, given, node, CHECKS[name])
  return exprValue({
    kind: 'Call',
    callee: name,
    args: [of, ...given.map((one) => one ?? literal(null, l.span(node)))],
    span: l.span(node),
  })
}

/** Returns the arguments after the first, with options one by one; undefined where they cannot be told. */
function givenTo(l: Lowering, name: LibraryCall, others: readonly Value[], node: AnyNode): readonly (Expr | undefined)[] | undefined {
  const [second, third, ...more] = others
  switch (name) {
    case 'bucket':
      return third === undefined ? options(l, second, ['every', 'zone'], node) : undefined
    case 'duration':
      return second === undefined ? [] : undefined
    case 'formatTime':
    case 'parseTime': {
      const format = second === undefined ? undefined : l.scalarOrNothing(second, node)
      const zone = third === undefined ? [undefined] : options(l, third, ['zone'], node)
      return format === undefined || zone === undefined || more.length > 0 ? undefined : [format, ...zone]
    }
  }
}

type Check = (...known: readonly [Primitive, Primitive]) => unknown

/** Functions that throw for options that make no sense. */
const CHECKS: Readonly<Record<Exclude<LibraryCall, 'duration'>, Check>> = {
  bucket: bucketStart,
  formatTime: (format, zone) => [timeFormat(format, 'formatTime()'), zoneNamed(zone, 'formatTime()')],
  parseTime: (format, zone) => [timeFormat(format, 'parseTime()'), zoneNamed(zone, 'parseTime()')],
}

/** Lowers `duration('1 hour')` to a number, known before the run where its text is. */
function durationOf(l: Lowering, of: Expr, node: AnyNode): Value {
  const span = l.span(node)
  const known = knownValue(l, of)
  if (typeof known?.value !== 'string') return exprValue({ kind: 'Call', callee: 'duration', args: [of], span })
  const { value } = known
  const ms = checked(l, node, () => duration(value))
  if (of.kind !== 'Parameter') return exprValue(literal(ms, span))
  const origin = l.parameters.find((one) => one.name === of.name)?.origin ?? 'capture'
  return exprValue({ kind: 'Parameter', name: parameterName(l, `duration(${of.name})`, ms, origin), span })
}

/** Returns options one by one, undefined for absent ones; undefined as a whole where they cannot be told. */
function options(
  l: Lowering,
  value: Value | undefined,
  names: readonly string[],
  node: AnyNode,
): readonly (Expr | undefined)[] | undefined {
  if (value?.kind !== 'record' && value?.kind !== 'data') return undefined
  if (value.kind === 'data' && hasTraps(value.value)) return undefined
  const has = (name: string): boolean => (value.kind === 'record' ? value.fields.some((one) => one.name === name) : name in value.value)
  const parts = names.map((name) => (has(name) ? l.scalarOrNothing(l.verbs.member(l, value, name, node), node) : undefined))
  return names.some((name, i) => has(name) && parts[i] === undefined) ? undefined : parts
}

/** Throws an error with the place in the program where all arguments are known before the run and make no sense. */
function check(l: Lowering, exprs: readonly (Expr | undefined)[], node: AnyNode, make: Check): void {
  const known = exprs.map((expr) => (expr === undefined ? { value: undefined } : knownValue(l, expr)))
  if (!known.includes(undefined)) checked(l, node, () => make(known[0]?.value, known[1]?.value))
}

function checked<T>(l: Lowering, node: AnyNode, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof PlanError)) throw error
    const span = l.span(node)
    throw new PlanError(`${error.message}\n  ${placeText(span)}  ${span.text}`, { span })
  }
}

function knownValue(l: Lowering, expr: Expr): { readonly value: Primitive } | undefined {
  if (expr.kind === 'Literal') return expr
  return expr.kind === 'Parameter' ? l.parameters.find((one) => one.name === expr.name) : undefined
}
