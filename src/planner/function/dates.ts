/**
 * Dates from outside the function, or written out in it, as the numbers that comparisons and arithmetic make of them.
 *
 *     const from = new Date('1994-01-01')
 *     (r) => r.day >= from                          day >= Parameter from, 757382400000
 *     (r) => r.day >= new Date('1994-01-01')        day >= Literal 757382400000
 */
import type { CallExpression, NewExpression } from 'acorn'
import type { Expr } from '../../core/functionIr.ts'
import { literal } from './build.ts'
import type { Lowering } from './lowering.ts'
import { parameterName } from './outside.ts'
import { exprValue, type Value } from './value.ts'

/** Methods that tell the same in every time zone. */
const METHODS: ReadonlySet<string> = new Set(
  'getTime valueOf getUTCFullYear getUTCMonth getUTCDate getUTCDay getUTCHours getUTCMinutes getUTCSeconds getUTCMilliseconds'.split(' '),
)

/** `new Date('1994-01-01')`, in a form that no time zone changes, or of a number. */
export function writtenDate(l: Lowering, node: NewExpression): Value | undefined {
  const { callee, arguments: args } = node
  const [argument] = args
  if (callee.type !== 'Identifier' || argument?.type !== 'Literal' || args.length !== 1) return undefined
  if (l.unit.names.bindingOf.get(callee) !== undefined) return undefined
  const free = l.unit.freeOf(callee)
  if (free.kind !== 'global' || free.value !== Date) return undefined
  const { value } = argument
  const time = typeof value === 'number' || (typeof value === 'string' && IN_UTC.test(value)) ? new Date(value).getTime() : undefined
  return time === undefined ? undefined : { kind: 'date', milliseconds: literal(time, l.span(node)), name: l.span(node).text }
}

/** A day, which is one in UTC, or a time with its offset. */
const IN_UTC = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/** `from.getTime()`: what the Date answers does not change from row to row. */
export function dateMethod(l: Lowering, date: Value & { kind: 'date' }, name: string, node: CallExpression): Value {
  if (!METHODS.has(name) || node.arguments.length > 0) return l.refuse('unknown-method', node, `${date.name}.${name}`)
  const { milliseconds } = date
  if (name === 'getTime' || name === 'valueOf') return exprValue({ ...milliseconds, span: l.span(node) })
  return exprValue(answered(l, milliseconds, `${date.name}.${name}()`, (time) => new Date(time)[name as 'getUTCDate']()))
}

function answered(l: Lowering, of: Expr, name: string, answer: (time: number) => number): Expr {
  if (of.kind === 'Literal') return literal(answer(of.value as number), of.span) // times are numbers
  const known = of.kind === 'Parameter' ? l.parameters.find((one) => one.name === of.name) : undefined
  if (known === undefined) return of // no Date is anything else
  return { kind: 'Parameter', name: parameterName(l, name, answer(known.value as number), known.origin), span: of.span } // a time
}
