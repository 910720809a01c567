/**
 * Lowers functions of the program that call themselves to loops.
 *
 *     const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b))         for (;;) { if (b === 0) { result = a; break }  [a, b] = [b, a % b] }
 *     const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2))    the same with a stack
 *
 * Where all calls are the last thing that the function does, its parameters are given what the call is given, and it begins anew.
 * Elsewhere the calls under way lie on a stack, which only the types of all locals can lay out: the place of such a call is marked here,
 * and written out when the whole function is lowered (`resumption.ts`).
 */
import type { AnyNode, CallExpression, Identifier } from 'acorn'
import { surelyAssigned } from '../../../../core/ir/definiteAssignment.ts'
import { type Expr, nestedOf, type Stmt } from '../../../../core/ir/functionIr.ts'
import { exprId, someExpr } from '../../../../core/ir/irFacts.ts'
import { rewrittenStatements } from '../../../../core/ir/statementRewrite.ts'
import type { Span } from '../../../../core/span.ts'
import { noteObject } from '../../lists/held/notes.ts'
import { noteOptional, optionalAt } from '../../lists/optionals.ts'
import { isObject } from '../../lists/stored.ts'
import { refusalOf } from '../../refusals.ts'
import { type FunctionNode, someNode } from '../../source/ast.ts'
import { binary, literal } from '../build.ts'
import type { Lowering } from '../lowering.ts'
import type { Frame, Recursion, Result } from '../loweringParts.ts'
import { exprValue, REFUSED, type Value } from '../value.ts'

/** Most calls under way at once: about as many as JavaScript has room for, so that endless recursion is an error here as there. */
export const MOST_DEEP = 10_000

type Closure = Value & { readonly kind: 'closure' }

/** Lowers a call of a function that calls itself. `body` writes the function out, with its parameters as locals or values. */
export function withRecursion(
  l: Lowering,
  closure: Closure,
  args: readonly Value[],
  call: AnyNode,
  body: (frame: Frame, parameters: readonly (string | Value)[]) => void,
): Value {
  const { unit, node: f, name } = closure
  const refused = (): Value => l.refuse('recursive', call, name)
  if (l.context.kind !== 'loop' || f.params.some((param) => identifierOf(param) === undefined)) return refused()
  const span = l.span(call)
  const given = f.params.map((param, i) => argument(l, param, args[i], call))
  if (given.includes(undefined)) return refused()
  const kinds = given.map((value, i) => heldParameter(l, closure, i, value))
  const parameters = given.map((value, i) =>
    value?.kind === 'expr' || kinds[i] !== undefined ? l.newName(identifierOf(f.params[i])?.name ?? 'parameter') : (value ?? REFUSED),
  )
  const heldIn = new Map(kinds.flatMap((kind, i) => (kind === undefined ? [] : [[parameters[i] as string, kind] as const]))) // a local of each
  const isDeep = l.isDeep({ unit, start: f.start })
  for (const [i, value] of given.entries()) {
    const local = parameters[i]
    if (value === undefined || typeof local !== 'string') continue
    const kind = heldIn.get(local)
    const init = kind === undefined ? l.scalarOrNothing(value, call) : l.verbs.heldNumber(l, kind, value, { node: call, mayBeAbsent: true })
    l.emit({ kind: 'Let', local, init: init ?? literal(0, span), span })
  }
  const locals = parameters.filter((one) => typeof one === 'string')
  const depth = l.newName('depth')
  l.emit({ kind: 'Let', local: depth, init: literal(0, span), span })
  const [label, turn, local] = [l.newLabel('again'), l.newLabel('call'), l.newName('result')]
  const site = { unit: closure.unit, start: closure.node.start }
  const found = optionalAt(l, site)?.shape
  const list = found?.kind === 'list' ? { list: found.of, mayBeAbsent: true as const } : {}
  const result: Result = { local, label: turn, breaks: true, stored: undefined, declarations: [], isScalar: false, site, ...list }
  const parts = { label, name, node: call, f, parameters, heldIn, locals, tails: tailsOf(f), depth, result: local, isDeep, isGiven: false }
  const recursion: Recursion = { ...parts, sites: new Map() }
  const frame: Frame = { ...closure, targets: [], result, recursion }
  const arrays = l.localArrays - l.heldArrays
  const statements = l.inLoop(() => l.collect(() => body(frame, parameters)))
  if (result.stored !== undefined) return l.refuse('object-as-value', call)
  // all calls under way would have one array
  if (isDeep && l.localArrays - l.heldArrays > arrays) return l.refuse('recursive-arrays', call, name)
  const turns: Stmt = { kind: 'Labeled', label: turn, body: withoutUnreachable(statements), span }
  const isGiven = alwaysGives([turns], recursion, span)
  // what the result is given to tells its kind to the next try
  if (result.list !== undefined && (!isGiven || result.isScalar)) l.refuse('object-as-value', call)
  if (!isGiven) l.emit({ kind: 'Let', local, span })
  l.recursions.set(label, { ...recursion, isGiven })
  l.emit({ kind: 'For', label, init: [], update: [], body: [turns, { kind: 'Break', label, span }], doWhile: false, span })
  return resultOf(result, { kind: 'Local', name: local, span })
}

/** The value of a call whose result is in a local. */
function resultOf({ list }: Pick<Result, 'list'>, number: Expr): Value {
  return list === undefined ? exprValue(number) : { kind: 'held', of: list, number, mayBeAbsent: true }
}

/** The kind of the lists or objects that a parameter is given, in this call or, as an earlier try has found, in another; undefined for other parameters. */
function heldParameter(l: Lowering, { unit, node: f }: Closure, i: number, given: Value | undefined): number | undefined {
  const site = { unit, start: f.params[i]?.start ?? 0 }
  const found = optionalAt(l, site)?.shape
  if (given?.kind === 'held') {
    noteOptional(l, site, given) // other calls may give it nothing
    return given.of
  }
  return found?.kind === 'list' ? found.of : undefined
}

/** The name of a parameter, with or without a default; undefined where it is taken apart or is a list of arguments. */
export function identifierOf(param: FunctionNode['params'][number] | undefined): Identifier | undefined {
  const named = param?.type === 'AssignmentPattern' ? param.left : param
  return named?.type === 'Identifier' ? named : undefined
}

/** The value of a parameter: what the call gives, or a default that is written out; undefined for another default. */
function argument(l: Lowering, param: FunctionNode['params'][number], given: Value | undefined, call: AnyNode): Value | undefined {
  const span = l.span(call)
  if (param.type !== 'AssignmentPattern') return given ?? exprValue(literal(undefined, span))
  const { right } = param
  const value = right.type === 'Literal' ? right.value : undefined
  if (given === undefined) return typeof value === 'number' || typeof value === 'boolean' ? exprValue(literal(value, span)) : undefined
  // the default takes the place of undefined
  if (given.kind === 'expr') {
    const holds = (kinds: readonly string[] | undefined): boolean => kinds?.includes('null') === false
    l.checks.push({ expr: given.expr, holds, refusal: refusalOf('default-of-undefined', span, identifierOf(param)?.name) })
  }
  return given
}

/** Lowers a recursive call inside the function that is being written out. */
export function selfCall(l: Lowering, frame: Frame, closure: Closure, args: readonly Value[], call: AnyNode): Value {
  const { recursion } = frame
  const site = { unit: frame.unit, start: frame.node.start }
  if (recursion === undefined) {
    l.foundRecursive.push({ site, isDeep: false })
    return l.refuse('recursive', call, closure.name)
  }
  // calls under way of a function in between would have one stack with those that this call begins
  const inner = l.frames.slice(l.frames.indexOf(frame) + 1)
  if (inner.some((one) => one.recursion !== undefined)) return l.refuse('recursive', call, closure.name)
  const span = l.span(call)
  const exprs: (readonly [string, Expr])[] = []
  for (const [i, parameter] of recursion.parameters.entries()) {
    const param = frame.node.params[i]
    const value = param && argument(l, param, args[i], call)
    if (value === undefined || (typeof parameter !== 'string' && !isSame(parameter, value))) {
      if (value !== undefined) noteObject(l, value)
      return l.refuse('recursive', call, closure.name)
    }
    if (typeof parameter !== 'string') continue
    const kind = recursion.heldIn.get(parameter)
    if (kind === undefined && isObject(value)) noteObject(l, value)
    if (kind === undefined && value.kind === 'held') noteOptional(l, { unit: frame.unit, start: param?.start ?? 0 }, value)
    const expr = kind === undefined ? l.scalarOrNothing(value, call) : l.verbs.heldNumber(l, kind, value, { node: call, mayBeAbsent: true })
    if (expr === undefined) return REFUSED
    exprs.push([parameter, expr])
  }
  const { isDeep } = recursion
  if (!isDeep && !(recursion.tails.has(call) && l.frame === frame)) {
    l.foundRecursive.push({ site, isDeep: true })
    return l.refuse('recursive', call, closure.name)
  }
  const begun = l.collect(() => {
    // a parameter is given its own before the next one is computed, unless that asks for what it was
    const isAsked = exprs.some(([local, expr], i) =>
      exprs.slice(0, i).some(([before, own]) => !isLocal(own, before) && !isLocal(expr, local) && readsLocal(expr, before)),
    )
    const kept = isAsked ? exprs.map(([local, expr]) => [local, isLocal(expr, local) ? expr : l.temporary(expr, 'next')] as const) : exprs
    for (const [local, value] of kept) l.emit({ kind: 'Assign', local, value, span })
  })
  if (!isDeep) {
    l.emit(...isFull(recursion, MOST_DEEP, span), oneDeeper(recursion.depth, span), ...begun.filter((one) => !isOwn(one)), {
      kind: 'Continue',
      label: recursion.label,
      span,
    })
    return resultOf(frame.result ?? {}, literal(0, span)) // nothing runs after the call
  }
  // whatever was known of lists and objects may be otherwise after the call
  l.holdingSome.clear()
  l.knownThere.clear()
  const [label, given] = [l.newLabel('self'), l.newName('given')]
  recursion.sites.set(label, given)
  l.emit({ kind: 'Labeled', label, body: begun, span })
  l.emit({ kind: 'Let', local: given, init: { kind: 'Local', name: recursion.result, span }, span })
  l.stableLocals.add(given)
  return resultOf(frame.result ?? {}, { kind: 'Local', name: given, span })
}

/** The statements with each replaced by others, or none, inner ones first. */
export function replaced(stmts: readonly Stmt[], by: (stmt: Stmt) => readonly Stmt[]): readonly Stmt[] {
  return rewrittenStatements(stmts, { expr: (expr) => expr, stmt: by })
}

/** Whether a function's statements give the result a value on each way to their end, whatever its calls give. */
export function alwaysGives(stmts: readonly Stmt[], { result, sites }: Pick<Recursion, 'result' | 'sites'>, span: Span): boolean {
  const givens = new Set(sites.values())
  const without = replaced(stmts, (stmt) => (stmt.kind === 'Let' && givens.has(stmt.local) ? [] : [stmt]))
  const local: Stmt = { kind: 'Let', local: result, span }
  const read: Stmt = { kind: 'Evaluate', value: { kind: 'Local', name: result, span }, span }
  return surelyAssigned([local, ...without, read]).has(local)
}

/** An error where as many calls as there may be are under way. */
export function isFull({ depth, name }: Recursion, most: number, span: Span): Stmt[] {
  const message = literal(`${name} calls itself more than ${most.toLocaleString('en')} deep. Write it as a loop.`, span)
  const test = binary('>=', { kind: 'Local', name: depth, span }, literal(most - 1, span), span)
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  return [{ kind: 'If', test, then: [{ kind: 'Throw', error: 'RangeError', message, span }], else: [], span }]
}

export function oneDeeper(depth: string, span: Span): Stmt {
  return { kind: 'Assign', local: depth, value: binary('+', { kind: 'Local', name: depth, span }, literal(1, span), span), span }
}

/** Whether a statement gives a local what it has, as a parameter that a call hands on. */
export function isOwn(stmt: Stmt): boolean {
  return stmt.kind === 'Assign' && isLocal(stmt.value, stmt.local)
}

function isLocal(expr: Expr, name: string): boolean {
  return expr.kind === 'Local' && expr.name === name
}

function readsLocal(expr: Expr, local: string): boolean {
  return someExpr(expr, (one) => isLocal(one, local))
}

function isSame(a: Value, b: Value): boolean {
  if (a.kind === 'view' && b.kind === 'view') return a.array === b.array && exprId(a.prefix) === exprId(b.prefix)
  if (a.kind === 'data' && b.kind === 'data') return a.value === b.value
  if (a.kind === 'handle' && b.kind === 'handle') return a.name === b.name
  if (a.kind === 'closure' && b.kind === 'closure') return a.node === b.node
  return a.kind === b.kind && (a.kind === 'env' || a.kind === 'key')
}

/** Returns the calls in tail position of a function. */
function tailsOf(f: FunctionNode): ReadonlySet<AnyNode> {
  const tails = new Set<AnyNode>()
  const note = (node: AnyNode): void => {
    if (node.type === 'CallExpression') tails.add(node satisfies CallExpression)
    else if (node.type === 'ConditionalExpression') [node.consequent, node.alternate].forEach(note)
    else if (node.type === 'ParenthesizedExpression') note(node.expression)
  }
  if (f.body.type !== 'BlockStatement') note(f.body)
  someNode(
    f.body,
    (node) => {
      if (node.type === 'ReturnStatement' && node.argument != null) note(node.argument)
      return false
    },
    { intoFunctions: false },
  )
  return tails
}

/** Drops the statements after one that jumps away. */
export function withoutUnreachable(stmts: readonly Stmt[]): Stmt[] {
  const kept: Stmt[] = []
  for (const stmt of stmts) {
    kept.push(reachable(stmt))
    if (goes(stmt)) break
  }
  return kept
}

function reachable(stmt: Stmt): Stmt {
  switch (stmt.kind) {
    case 'If':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return { ...stmt, then: withoutUnreachable(stmt.then), else: withoutUnreachable(stmt.else) }
    case 'For':
    case 'Labeled':
      return { ...stmt, body: withoutUnreachable(stmt.body) }
    default:
      return stmt
  }
}

function goes(stmt: Stmt): boolean {
  if (stmt.kind === 'If') return [stmt.then, stmt.else].every((branch) => branch.some(goes))
  return ['Break', 'Continue', 'Return', 'Throw'].includes(stmt.kind) && nestedOf(stmt).length === 0
}
