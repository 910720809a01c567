/**
 * Calls of the library's functions of time: options are taken apart, and those that are known before the run are looked at where
 * the function is given.
 *
 *     (r) => bucket(r.ts, { every: '1 day', zone })     bucket(ts, Literal '1 day', Parameter zone)
 */
import type { AnyNode, CallExpression } from 'acorn'
import { PlanError } from '../../core/errors.ts'
import type { Expr, LibraryCall, Primitive } from '../../core/functionIr.ts'
import { placeText } from '../../core/span.ts'
import { bucketStart } from '../../core/time/bucket.ts'
import { literal } from './build.ts'
import { dateItself } from './dates.ts'
import type { Lowering } from './lowering.ts'
import { hasTraps } from './traps.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

export function timeCall(l: Lowering, name: LibraryCall, node: CallExpression): Value {
  const args = node.arguments.flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  if (l.context.kind !== 'row' || args.length < node.arguments.length) return l.refuseCall(name, node)
  const [first = REFUSED, ...others] = l.inOrder(args.map((one) => () => l.verbs.value(l, one)))
  const of = (first.kind === 'date' ? dateItself(l, first) : undefined) ?? l.scalarOrNothing(first, args[0] ?? node)
  const given = options(l, others[0], ['every', 'zone'], node)
  if (of === undefined || given === undefined || others.length > 1) return l.refuseCall(name, node)
  const [every, zone] = given
  check(l, [every, zone], node, bucketStart)
  return exprValue({ kind: 'Call', callee: name, args: [of, every ?? nothing(l, node), zone ?? nothing(l, node)], span: l.span(node) })
}

/** Options one by one, undefined for those that are not there; undefined where that cannot be seen. */
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

function nothing(l: Lowering, node: AnyNode): Expr {
  return literal(null, l.span(node))
}

/** Throws with the place in the program, where all is known before the run and makes no sense. */
function check(
  l: Lowering,
  exprs: readonly (Expr | undefined)[],
  node: AnyNode,
  make: (...args: readonly [Primitive, Primitive]) => unknown,
): void {
  const known = exprs.map((expr) => (expr === undefined ? { value: undefined } : knownValue(l, expr)))
  if (known.includes(undefined)) return
  try {
    make(known[0]?.value, known[1]?.value)
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
