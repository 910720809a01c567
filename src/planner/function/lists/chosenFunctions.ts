/**
 * Lowers functions that are chosen when the body runs: each is written out behind the test that chooses it.
 *
 *     fns[k](x)                          if (k === 0) chosen = x * x  else if (k === 1) chosen = Math.tanh(x)  else throw
 *     const f = c ? Math.sin : half      if (c) chosen = Math.sin(x)  else chosen = x / 2
 */
import type { AnyNode } from 'acorn'
import { NUMBERS } from '../../../core/data/columnConversions.ts'
import type { Expr, Primitive, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, literal, makeIf } from '../lower/build.ts'
import { isWithin } from '../lower/indexRanges.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { newResult, returnStored } from './returnedObjects.ts'
import { isObject } from './stored.ts'

export type Choice = Value & { readonly kind: 'choice' }

/** Most functions of a list; longer ones are left to JavaScript. */
export const MOST_FUNCTIONS = 16

export function isFunction(value: Value): boolean {
  return value.kind === 'closure' || value.kind === 'builtin' || value.kind === 'choice'
}

/** Returns the chosen element of a list of functions; undefined for other lists. */
export function functionAt(l: Lowering, list: Value, index: Value, node: AnyNode): Choice | undefined {
  const functions = functionsOf(l, list, node)
  const given = functions && l.scalarOrNothing(index, node)
  if (functions === undefined || given === undefined) return undefined
  const at = l.stabilized(given, 'which')
  const holds = (kinds: readonly string[] | undefined): boolean =>
    kinds?.every((kind) => (NUMBERS as ReadonlySet<string>).has(kind)) === true
  l.checks.push({ expr: at, holds, refusal: refusalOf('computed-name', l.span(node)) })
  const span = l.span(node)
  const options = functions.map((value, k) => ({ test: binary('===', at, literal(k, span), span), value }))
  const last = isWithin(l, at, functions.length) ? options.pop()?.value : undefined
  return { kind: 'choice', options, name: span.text, ...(last === undefined ? {} : { otherwise: last }) }
}

function functionsOf(l: Lowering, list: Value, node: AnyNode): readonly Value[] | undefined {
  if (list.kind === 'tuple') return areFunctions(list.items) ? list.items : undefined
  if (list.kind !== 'data' || !Array.isArray(list.value) || Object.getPrototypeOf(list.value) !== Array.prototype) return undefined
  const held: readonly unknown[] = list.value
  if (held.length > MOST_FUNCTIONS || !held.every((one) => typeof one === 'function')) return undefined
  const items = held.map((one, k) => l.verbs.fromOutside(l, one, `${list.name}[${k}]`, list.origin, node))
  return areFunctions(items) ? items : undefined
}

function areFunctions(items: readonly Value[]): boolean {
  return items.length > 0 && items.length <= MOST_FUNCTIONS && items.every(isFunction)
}

/** Lowers the call of a chosen function, whose result is a number or another scalar, or an object of one kind. */
export function callChosen(l: Lowering, choice: Choice, given: readonly Value[], node: AnyNode): Value {
  const args = given.map((value) => (value.kind === 'stored' ? value : l.stabilizedValue(value)))
  return chosenOf(l, choice, node, (f) => called(l, f, args, node), literal(`${choice.name} is not a function`, l.span(node)))
}

/** Lowers what is asked of a chosen value, for each one behind its test; where there is none, a TypeError with the message. */
export function chosenOf(l: Lowering, choice: Choice, node: AnyNode, work: (value: Value) => Value, message: Expr): Value {
  const { options, otherwise } = choice
  const span = l.span(node)
  const local = l.newName('chosen')
  const calls = [...options.map(({ value }) => value), ...(otherwise === undefined ? [] : [otherwise])].map((one) => {
    let value: Value = REFUSED
    const emitted = l.collect(() => {
      value = work(one)
    })
    return { value: value as Value, emitted }
  })
  if (calls.every(({ value, emitted }) => isFunction(value) && emitted.length === 0)) {
    const chosen = options.map(({ test }, k) => ({ test, value: calls[k]?.value ?? REFUSED }))
    const last = otherwise === undefined ? undefined : calls.at(-1)?.value
    return { kind: 'choice', options: chosen, name: choice.name, ...(last === undefined ? {} : { otherwise: last }) }
  }
  if (calls.some(({ value }) => isObject(value)) && l.context.kind === 'loop') return oneOf(l, choice, calls, node, message)
  const isEffect = calls.every(({ value }) => isNothing(value))
  const branches = calls.map(({ value, emitted }): Stmt[] => {
    if (isEffect || value.kind === 'refused') return emitted
    const assigned = l.collect(() => {
      const expr = l.scalarOrNothing(value, node)
      if (expr !== undefined) l.emit({ kind: 'Assign', local, value: expr, span })
    })
    return [...emitted, ...assigned]
  })
  const rest: Stmt[] = otherwise === undefined ? [{ kind: 'Throw', error: 'TypeError', message, span }] : (branches.pop() as Stmt[]) // one branch for each call
  const chosen = options.reduceRight<Stmt[]>((behind, { test }, k) => makeIf(test, branches[k] as Stmt[], behind, span), rest)
  // The initial value is never seen; it has the type of the results.
  const result = calls.find(({ value }) => value.kind === 'expr' && !isNothing(value))?.value
  if (!isEffect) l.emit({ kind: 'Let', local, init: literal(result?.kind === 'expr' ? likeIt(result.expr) : 0, span), span })
  l.emit(...chosen)
  return isEffect ? exprValue(literal(undefined, span)) : exprValue({ kind: 'Local', name: local, span })
}

interface Branch {
  readonly value: Value
  readonly emitted: readonly Stmt[]
}

/** Lowers to the object that one of several branches gives, as a function does that returns one of them. */
function oneOf(l: Lowering, { options, otherwise }: Choice, calls: readonly Branch[], node: AnyNode, message: Expr): Value {
  const span = l.span(node)
  const local = l.newName('chosen')
  const result = newResult(l, { local, label: local, breaks: false }, { unit: l.unit, start: node.start })
  const branches = calls.map(({ value, emitted }) =>
    l.collect(() => {
      l.emit(...emitted)
      returnStored(l, result, value, node)
    }),
  )
  const rest: Stmt[] = otherwise === undefined ? [{ kind: 'Throw', error: 'TypeError', message, span }] : (branches.pop() as Stmt[]) // one branch for each call
  const chosen = options.reduceRight<Stmt[]>((behind, { test }, k) => makeIf(test, branches[k] as Stmt[], behind, span), rest)
  l.emit(...result.declarations, ...chosen)
  return result.isScalar ? l.refuse('object-as-value', node) : (result.stored ?? REFUSED)
}

/** What JavaScript says where there is no object to ask. */
export function tooFar(name: string, span: Span): Expr {
  return literal(`Cannot read properties of undefined (reading '${name}')`, span)
}

/** Returns a value of the type that an expression seems to have. */
function likeIt(expr: Expr): Primitive {
  if (expr.kind === 'Literal') return expr.value
  const isTruth = (expr.kind === 'Binary' && /^([<>]=?|[!=]==?)$/.test(expr.operator)) || (expr.kind === 'Unary' && expr.operator === '!')
  return isTruth ? false : 0
}

function isNothing(value: Value): boolean {
  return value.kind === 'expr' && value.expr.kind === 'Literal' && value.expr.value === undefined
}

function called(l: Lowering, f: Value, args: readonly Value[], node: AnyNode): Value {
  if (f.kind === 'closure') return l.verbs.inline(l, f, args, node)
  if (f.kind === 'choice') return callChosen(l, f, args, node)
  if (f.kind !== 'builtin') return l.refuse('function-as-value', node)
  const exprs = args.map((value) => l.scalarOrNothing(value, node))
  return exprs.includes(undefined) ? REFUSED : exprValue({ kind: 'Call', callee: f.name, args: exprs as Expr[], span: l.span(node) }) // none is undefined
}
