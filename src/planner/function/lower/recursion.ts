/**
 * Lowers functions of the program that call themselves to loops.
 *
 *     const gcd = (a, b) => (b === 0 ? a : gcd(b, a % b))         for (;;) { if (b === 0) { result = a; break }  [a, b] = [b, a % b] }
 *     const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2))    the same with a stack
 *
 * Where all calls are the last thing that the function does, its parameters are given what the call is given, and it begins anew.
 * Elsewhere the parameters of the calls under way lie on a stack. A call begins the function anew with its own; when that has a result,
 * the function that called is begun once more, and finds there what its calls have given so far, in their order: legal since it does
 * nothing but compute, so that it comes to the same call by the same way. Values on the stack are numbers.
 */
import type { AnyNode, CallExpression } from 'acorn'
import { type Expr, nestedOf, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import { arrayOfBody, checkNumber, type Made } from '../lists/madeArrays.ts'
import { type FunctionNode, someNode } from '../source/ast.ts'
import { binary, literal } from './build.ts'
import type { Lowering } from './lowering.ts'
import type { Frame, Recursion, Result, Stack, StackArrays } from './loweringParts.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

/** Most calls under way at once: about as many as JavaScript has room for, so that endless recursion is an error here as there. */
const MOST_DEEP = 10_000

/** Most bytes of a stack; calls that need more bytes each may go less deep. */
const MOST_STACK = 2 ** 19

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
  if (l.context.kind !== 'loop' || f.params.some(({ type }) => type !== 'Identifier')) return refused()
  const span = l.span(call)
  const given = f.params.map((_, i) => args[i] ?? exprValue(literal(undefined, span)))
  const parameters = given.map((value, i) => (value.kind === 'expr' ? l.newName(parameterName(f, i)) : value))
  const isDeep = l.isDeep({ unit, start: f.start })
  for (const [i, value] of given.entries()) {
    const local = parameters[i]
    if (value.kind === 'expr' && typeof local === 'string') l.emit({ kind: 'Let', local, init: value.expr, span })
  }
  const locals = parameters.filter((one) => typeof one === 'string')
  const depth = counter(l, 'depth', call)
  const stack = isDeep ? newStack(l, locals, { name, calls: callsIn(f), node: call, f }) : undefined
  if (isDeep && stack === undefined) return REFUSED
  const [label, turn, local] = [l.newLabel('again'), l.newLabel('call'), l.newName('result')]
  const result: Result = {
    local,
    label: turn,
    breaks: true,
    stored: undefined,
    declarations: [],
    isScalar: false,
    site: { unit: closure.unit, start: closure.node.start },
  }
  const recursion: Recursion = { label, parameters, tails: tailsOf(f), depth, stack }
  const frame: Frame = { ...closure, targets: [], result, recursion }
  const statements = l.inLoop(() => l.collect(() => body(frame, parameters)))
  if (result.stored !== undefined) return l.refuse('object-as-value', call)
  if (stack !== undefined && !onlyComputes(statements, stack, [...locals, depth, local])) return refused()
  const isAlwaysGiven = statements.some(goes) // the initial value is never seen
  l.emit({ kind: 'Let', local, ...(isAlwaysGiven ? { init: literal(0, span) } : {}), span })
  const before: Stmt[] = stack === undefined ? [] : [{ kind: 'Assign', local: stack.seen, value: literal(0, span), span }]
  const turns: Stmt = { kind: 'Labeled', label: turn, body: withoutUnreachable(statements), span }
  const after = stack === undefined ? [{ kind: 'Break', label, span } as const] : back(l, stack, { label, local, depth, node: call })
  l.emit({ kind: 'For', label, init: [], update: [], body: [...before, turns, ...after], doWhile: false, span })
  return exprValue({ kind: 'Local', name: local, span })
}

function parameterName(f: FunctionNode, i: number): string {
  const parameter = f.params[i]
  return parameter?.type === 'Identifier' ? parameter.name : 'parameter'
}

function counter(l: Lowering, wanted: string, node: AnyNode): string {
  const [local, span] = [l.newName(wanted), l.span(node)]
  l.emit({ kind: 'Let', local, init: literal(0, span), span })
  return local
}

function newStack(
  l: Lowering,
  locals: readonly string[],
  of: { readonly name: string; readonly calls: number; readonly node: AnyNode; readonly f: FunctionNode },
): Stack | undefined {
  const most = Math.min(MOST_DEEP, Math.floor(MOST_STACK / (8 * (locals.length + of.calls) + 4)))
  const kept = l.stacks.get(of.f)
  const arrays = kept?.parameters.length === locals.length ? kept : stackArrays(l, locals, { ...of, most })
  if (arrays === undefined) return undefined
  l.stacks.set(of.f, arrays)
  const [have, seen] = [counter(l, 'have', of.node), counter(l, 'seen', of.node)]
  return { most, have, seen, ...arrays, parameters: new Map(locals.map((local, i) => [local, arrays.parameters[i] as string])) } // one each
}

function stackArrays(
  l: Lowering,
  locals: readonly string[],
  of: { readonly name: string; readonly calls: number; readonly node: AnyNode; readonly most: number },
): StackArrays | undefined {
  const array = (wanted: string, dtype: Made['dtype'], shape: readonly number[]): string | undefined =>
    arrayOfBody(l, { name: `${of.name}_${wanted}`, dtype, node: of.node, text: `the calls of ${of.name}` }, shape)
  const parameters = locals.flatMap((local) => array(local, 'f64', [of.most]) ?? [])
  const [results, counts] = [array('results', 'f64', [of.most, of.calls]), array('counts', 'i32', [of.most])]
  return results === undefined || counts === undefined || parameters.length < locals.length ? undefined : { parameters, results, counts }
}

/** Lowers a recursive call inside the function that is being written out. */
export function selfCall(l: Lowering, frame: Frame, closure: Closure, args: readonly Value[], call: AnyNode): Value {
  const { recursion } = frame
  const site = { unit: frame.unit, start: frame.node.start }
  if (recursion === undefined) {
    l.foundRecursive.push({ site, isDeep: false })
    return l.refuse('recursive', call, closure.name)
  }
  // Frames of functions in between would be left unfinished.
  const inner = l.frames.slice(l.frames.indexOf(frame) + 1)
  if (inner.length > 0) return l.refuse('recursive', call, closure.name)
  const span = l.span(call)
  const exprs: (readonly [string, Expr])[] = []
  for (const [i, parameter] of recursion.parameters.entries()) {
    const value = args[i] ?? exprValue(literal(undefined, span))
    if (typeof parameter !== 'string') {
      if (!isSame(parameter, value)) return l.refuse('recursive', call, closure.name)
      continue
    }
    const expr = l.scalarOrNothing(value, call)
    if (expr === undefined) return REFUSED
    exprs.push([parameter, expr])
  }
  const isTail = recursion.tails.has(call)
  const { stack } = recursion
  const nothing = exprValue(literal(0, span)) // nothing runs after the call
  const assigned = (): void => {
    const kept = exprs.map(([local, expr]) => [local, l.temporary(expr, 'next')] as const)
    for (const [local, value] of kept) l.emit({ kind: 'Assign', local, value, span })
  }
  const depth: Expr = { kind: 'Local', name: recursion.depth, span }
  const deeper = (most: number): void => {
    const message = literal(`${closure.name} calls itself more than ${most.toLocaleString('en')} deep. Write it as a loop.`, span)
    const isFull = binary('>=', depth, literal(most - 1, span), span)
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    l.emit({ kind: 'If', test: isFull, then: [{ kind: 'Throw', error: 'RangeError', message, span }], else: [], span })
  }
  const counted: Stmt = { kind: 'Assign', local: recursion.depth, value: binary('+', depth, literal(1, span), span), span }
  if (isTail && l.frame === frame && stack === undefined) {
    deeper(MOST_DEEP)
    l.emit(counted)
    assigned()
    l.emit({ kind: 'Continue', label: recursion.label, span })
    return nothing
  }
  if (stack === undefined) {
    l.foundRecursive.push({ site, isDeep: true })
    return l.refuse('recursive', call, closure.name)
  }
  if (isInLoop(frame.node, call)) return l.refuse('recursive', call, closure.name)
  const [have, seen] = [stack.have, stack.seen].map((name): Expr => ({ kind: 'Local', name, span })) as [Expr, Expr]
  const one = literal(1, span)
  for (const [local, expr] of exprs) checkNumber(l, stack.parameters.get(local) ?? '', expr, call, { always: true })
  const value = l.newName('given')
  const begun = l.collect(() => {
    deeper(stack.most)
    for (const [local, array] of stack.parameters)
      l.emit({ kind: 'Write', array, subscripts: [depth], value: { kind: 'Local', name: local, span }, span })
    l.emit({ kind: 'Write', array: stack.counts, subscripts: [depth], value: have, span })
    l.emit(counted)
    assigned()
    l.emit({ kind: 'Assign', local: stack.have, value: literal(0, span), span })
    l.emit({ kind: 'Continue', label: recursion.label, span })
  })
  l.emit({ kind: 'Let', local: value, init: literal(0, span), span })
  const read: Expr = { kind: 'Read', array: stack.results, subscripts: [depth, seen], span }
  l.emit({
    kind: 'If',
    test: binary('<', seen, have, span),
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    then: [{ kind: 'Assign', local: value, value: read, span }],
    else: begun,
    span,
  })
  l.emit({ kind: 'Assign', local: stack.seen, value: binary('+', seen, one, span), span })
  l.stableLocals.add(value)
  return exprValue({ kind: 'Local', name: value, span })
}

/** Builds the return of a call that has its result: the caller is restored from the stack and continues, if there is one. */
function back(
  l: Lowering,
  stack: Stack,
  { label, local, node, ...of }: { readonly label: string; readonly local: string; readonly depth: string; readonly node: AnyNode },
): Stmt[] {
  const span = l.span(node)
  const [depth, have] = [of.depth, stack.have].map((name): Expr => ({ kind: 'Local', name, span })) as [Expr, Expr]
  const one = literal(1, span)
  const result: Expr = { kind: 'Local', name: local, span }
  checkNumber(l, stack.results, result, node, { always: true })
  const isOuter = binary('===', depth, literal(0, span), span)
  return [
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    { kind: 'If', test: isOuter, then: [{ kind: 'Break', label, span }], else: [], span },
    { kind: 'Assign', local: of.depth, value: binary('-', depth, one, span), span },
    ...[...stack.parameters].map(([name, array]): Stmt => {
      return { kind: 'Assign', local: name, value: { kind: 'Read', array, subscripts: [depth], span }, span }
    }),
    { kind: 'Assign', local: stack.have, value: { kind: 'Read', array: stack.counts, subscripts: [depth], span }, span },
    { kind: 'Write', array: stack.results, subscripts: [depth, have], value: result, span },
    { kind: 'Assign', local: stack.have, value: binary('+', have, one, span), span },
  ]
}

/** Whether a function that is begun again leaves nothing behind but its result. */
function onlyComputes(stmts: readonly Stmt[], stack: Stack, locals: readonly string[]): boolean {
  const arrays = new Set([...stack.parameters.values(), stack.results, stack.counts])
  const own = new Set([...locals, stack.have, stack.seen])
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Let') own.add(stmt.local)
  })
  let found = true
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Write') found &&= arrays.has(stmt.array)
    if (stmt.kind === 'Add' || stmt.kind === 'Accumulate') found = false
    if (stmt.kind === 'Assign') found &&= own.has(stmt.local)
    if (JSON.stringify(stmt, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).includes('"kind":"Draw"'))
      found = false
  })
  return found
}

function isSame(a: Value, b: Value): boolean {
  if (a.kind === 'view' && b.kind === 'view') return a.array === b.array && exprId(a.prefix) === exprId(b.prefix)
  if (a.kind === 'data' && b.kind === 'data') return a.value === b.value
  if (a.kind === 'handle' && b.kind === 'handle') return a.name === b.name
  if (a.kind === 'closure' && b.kind === 'closure') return a.node === b.node
  return a.kind === b.kind && (a.kind === 'env' || a.kind === 'key')
}

/** Returns an upper bound of the number of self-calls in a function's text. */
function callsIn(f: FunctionNode): number {
  let count = 0
  const note = (node: AnyNode): false => {
    if (node.type === 'CallExpression' && node.callee.type === 'Identifier') count++
    return false
  }
  someNode(f.body, note, { intoFunctions: false })
  return Math.max(1, count)
}

/** Whether a call stands in a loop of the function, which may reach it any number of times. */
function isInLoop(f: FunctionNode, call: AnyNode): boolean {
  const isAround = (node: AnyNode): boolean => /^(For|While|DoWhile)/.test(node.type) && node.start <= call.start && call.end <= node.end
  return someNode(f.body, isAround, { intoFunctions: false })
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
