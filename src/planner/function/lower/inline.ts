/**
 * Inlines functions of the user where they are called.
 *
 *     const relu = (x) => { if (x < 0) return 0; return x }      y = relu(e)   -->   y = e < 0 ? 0 : e
 *
 * Each call has locals of its own. A function whose returns all stand at the end of their path needs no jumps; others
 * leave a labelled block. Functions that call themselves become loops (`recursion/`).
 */
import type { AnyNode, Expression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { noteObject } from '../lists/held/notes.ts'
import { absentLiteral, noteOptional } from '../lists/optionals.ts'
import { newResult } from '../lists/returnedObjects.ts'
import { isObject, named } from '../lists/stored.ts'
import { Activation } from '../source/activation.ts'
import type { FunctionNode } from '../source/ast.ts'
import { isLikeLet } from '../source/scope.ts'
import type { Unit } from '../unit.ts'
import { literal } from './build.ts'
import type { Lowering } from './lowering.ts'
import type { Frame, Result } from './loweringParts.ts'
import { identifierOf, selfCall, withRecursion } from './recursion/selfCalls.ts'
import { hasEarlyReturn } from './statements.ts'
import { exprValue, type Owner, REFUSED, type Storage, type Value } from './value.ts'

/** Most calls of one function nested in each other that belong to different closures; more would never end. */
const MOST_NESTED = 16

export function inlineCall(l: Lowering, closure: Value & { kind: 'closure' }, args: readonly Value[], node: AnyNode): Value {
  const { unit, node: f } = closure
  const calls = l.frames.filter((frame) => frame.node === f)
  const running = calls.findLast((frame) => frame.around === closure.around)
  if (f.async) return l.refuse('async', node)
  if (f.generator) return gaveValues(l, closure, args, node)
  l.countCall()
  if (l.isTooLarge) return REFUSED
  const [outer, bound] = [l.unit, l.bound]
  if (running !== undefined) return selfCall(l, running, closure, args, node)
  if (calls.length >= MOST_NESTED) return l.refuse('recursive', node, closure.name)
  // arguments are evaluated before the call, in order
  const kept = args.map((value) => (value.kind === 'stored' ? value : l.stabilizedValue(value)))
  const lent = l.lent.length
  l.lent.push(...ownersOf(kept))
  l.unit = unit
  l.bound = new Activation(closure.around)
  try {
    const isRecursive = l.isRecursive({ unit, start: f.start })
    const { asking: _, ...plain } = closure
    const value = isRecursive ? recursiveCall(l, plain, kept, node) : withFrame(l, closure, kept, node)
    if (holdsFunction(value)) for (const owner of ownersOf(kept)) l.keptByFunctions.add(owner)
    return value
  } finally {
    l.unit = outer
    l.bound = bound
    l.lent.length = lent
  }
}

/** Gives a generator to the loop that goes through it; elsewhere its call is refused. */
function gaveValues(l: Lowering, closure: Value & { kind: 'closure' }, args: readonly Value[], node: AnyNode): Value {
  const loop = l.goingThrough
  if (loop?.call !== node) return l.refuse('generator-value', node, closure.name)
  loop.take(closure, args)
  return REFUSED
}

function recursiveCall(l: Lowering, closure: Value & { kind: 'closure' }, args: readonly Value[], call: AnyNode): Value {
  const { unit, node: f } = closure
  return withRecursion(l, closure, args, call, (frame, parameters) => {
    enterFunction(l, closure)
    inFrame(l, frame, () => {
      for (const [i, param] of f.params.entries()) {
        const named = identifierOf(param)
        const binding = named && unit.names.bindingOf.get(named)
        const given = parameters[i]
        if (binding === undefined || given === undefined) continue
        const of = typeof given === 'string' ? frame.recursion?.heldIn.get(given) : undefined
        if (typeof given !== 'string') l.bound.set(binding, { kind: 'value', value: given })
        else l.bound.set(binding, of === undefined ? { kind: 'local', name: given } : { kind: 'held', of, local: given, mayBeAbsent: true })
      }
      hoistVars(l, unit, f)
      const { result } = frame
      if (f.body.type === 'BlockStatement') l.verbs.statements(l, f.body.body)
      else if (result !== undefined) {
        returnHeld(l, result, l.verbs.value(l, f.body), f.body)
      }
      return REFUSED
    })
  })
}

/** Emits what gives the result of a function that calls itself its value: a scalar, or the number of a list or object. */
function returnHeld(l: Lowering, result: Result, given: Value, node: Expression): void {
  if (given.kind === 'held') {
    result.list ??= given.of
    noteOptional(l, result.site, given)
  } else if (isObject(given)) noteObject(l, given)
  else if (absentLiteral(given) !== undefined) noteOptional(l, result.site, given)
  const value =
    result.list === undefined
      ? l.scalarOrNothing(given, node)
      : l.verbs.heldNumber(l, result.list, given, { node, mayBeAbsent: result.mayBeAbsent === true })
  if (value !== undefined) l.emit({ kind: 'Assign', local: result.local, value, span: value.span })
}

function withFrame(l: Lowering, closure: Value & { kind: 'closure' }, args: readonly Value[], call: AnyNode): Value {
  const { unit, node: f } = closure
  const frame: Frame = { ...closure, targets: [] }
  const span = l.span(f)
  enterFunction(l, closure)
  if (f.body.type !== 'BlockStatement') {
    return inFrame(l, frame, () => {
      bindParameters(l, f, args)
      return l.verbs.value(l, f.body as Exclude<typeof f.body, { type: 'BlockStatement' }>)
    })
  }
  const statements = f.body.body
  const last = statements.at(-1)
  const early = hasEarlyReturn(statements)
  if (!early && (last?.type === 'ReturnStatement' || !endsInReturn(last))) {
    return inFrame(l, frame, () => {
      bindParameters(l, f, args)
      hoistVars(l, unit, f)
      const hasResult = last?.type === 'ReturnStatement'
      l.verbs.statements(l, hasResult ? statements.slice(0, -1) : statements)
      if (!hasResult || !last.argument) return exprValue(literal(undefined, span))
      return l.verbs.value(l, last.argument)
    })
  }
  const local = l.newName('result')
  const label = l.newLabel('call')
  const result = newResult(l, { local, label, breaks: early }, { unit, start: f.start })
  const body = l.collect(() => {
    inFrame(l, { ...frame, result }, () => {
      bindParameters(l, f, args)
      hoistVars(l, unit, f)
      l.verbs.statements(l, statements)
      return REFUSED
    })
  })
  const mayEnd = !alwaysReturns(statements)
  if (result.list !== undefined) {
    if (mayEnd) noteOptional(l, result.site, exprValue(literal(undefined, span)))
    const { mayBeAbsent } = result
    if ((mayEnd && mayBeAbsent !== true) || result.isScalar || result.stored !== undefined) return l.refuse('object-as-value', call)
    l.emit({ kind: 'Let', local, init: literal(-1, span), span }, ...(early ? [{ kind: 'Labeled', label, body, span } as const] : body))
    l.stableLocals.add(local)
    const number: Expr = { kind: 'Local', name: local, span }
    return { kind: 'held', of: result.list, number, ...(mayBeAbsent === true ? { mayBeAbsent } : {}) }
  }
  if (mayEnd) noteOptional(l, result.site, exprValue(literal(undefined, span)))
  l.emit(...(result.stored === undefined ? [{ kind: 'Let', local, span } as const] : result.declarations))
  if (early) l.emit({ kind: 'Labeled', label, body, span })
  else l.emit(...body)
  if (result.stored !== undefined) {
    const [absent, another] = result.optional?.absents ?? []
    if (result.optional !== undefined && result.optional.absents.size > 1) return l.refuse('absent-differs', call, closure.name)
    const isOptionalThere = result.optional !== undefined && (!mayEnd || absent === undefined) && another === undefined
    // Reading a part of undefined fails, so a path that returns no object is known, or refused.
    if (result.isScalar || (mayEnd && !isOptionalThere)) return l.refuse('object-as-value', call)
    return result.stored
  }
  return exprValue({ kind: 'Local', name: local, span })
}

export function bindParameters(l: Lowering, f: FunctionNode, args: readonly Value[]): void {
  for (const [i, param] of f.params.entries()) {
    if (param.type === 'RestElement') {
      l.verbs.bind(l, param.argument, { kind: 'tuple', items: args.slice(i) }, 'declare')
      return
    }
    const given = args[i] ?? exprValue(literal(undefined, l.span(f)))
    const binding = param.type === 'Identifier' ? l.unit.names.bindingOf.get(param) : undefined
    const isConstant = binding !== undefined && binding.assignments === 0 && binding.declarators <= 1
    if (given.kind === 'stored' && isConstant) l.bound.set(binding, { kind: 'value', value: named(given) })
    else l.verbs.bind(l, param, given, 'declare')
  }
}

/** Whether statements end in a return with a value, or throw, on every path that does not return earlier. */
function alwaysReturns(statements: readonly AnyNode[]): boolean {
  const last = statements.at(-1)
  if (last?.type === 'BlockStatement') return alwaysReturns(last.body)
  if (last?.type === 'IfStatement') return last.alternate != null && alwaysReturns([last.consequent]) && alwaysReturns([last.alternate])
  return (last?.type === 'ReturnStatement' && last.argument != null) || last?.type === 'ThrowStatement'
}

/** Returns the owners of the objects given to a function: while it runs, they have two names. */
function ownersOf(args: readonly Value[]): Owner[] {
  return args.flatMap((value) => (value.kind === 'stored' ? [value.owner] : []))
}

function endsInReturn(last: AnyNode | undefined): boolean {
  return last !== undefined && (last.type === 'IfStatement' || last.type === 'BlockStatement' || last.type === 'LabeledStatement')
}

function holdsFunction(value: Value): boolean {
  if (value.kind === 'tuple') return value.items.some(holdsFunction)
  if (value.kind === 'record') return value.fields.some((field) => holdsFunction(field.value))
  if (value.kind === 'choice') return true
  return value.kind === 'closure' || (value.kind === 'stored' && storesFunction(value.storage))
}

function storesFunction(storage: Storage): boolean {
  if (storage.kind === 'fields') return storage.fields.some((field) => storesFunction(field.storage))
  return storage.kind === 'items' ? storage.items.some(storesFunction) : storage.kind === 'fixed' && holdsFunction(storage.value)
}

/** Lowers the body of a constructor, whose `this` gets more fields from statement to statement. */
export function withSelf(
  l: Lowering,
  { unit, node, self }: { readonly unit: Unit; readonly node: FunctionNode; readonly self: () => Value },
  args: readonly Value[],
  work: () => void,
): void {
  const [outer, bound, lent] = [l.unit, l.bound, l.lent.length]
  const frame: Frame = {
    node,
    unit,
    targets: [],
    get self() {
      return self()
    },
  }
  l.countCall()
  if (l.isTooLarge) return
  l.lent.push(...ownersOf(args))
  l.unit = unit
  l.bound = new Activation()
  try {
    inFrame(l, frame, () => {
      bindParameters(l, node, args)
      hoistVars(l, unit, node)
      work()
      return REFUSED
    })
  } finally {
    frame.isOver = true
    l.unit = outer
    l.bound = bound
    l.lent.length = lent
  }
}

export function inFrame(l: Lowering, frame: Frame, work: () => Value): Value {
  l.frames.push(frame)
  try {
    return work()
  } finally {
    l.frames.pop()
  }
}

/** Binds the own name of a function expression, by which it may call itself. */
export function enterFunction(l: Lowering, closure: Value & { kind: 'closure' }): void {
  for (const binding of closure.unit.names.ownedBy.get(closure.node.start) ?? [])
    if (binding.kind === 'self') l.bound.set(binding, { kind: 'value', value: { ...closure, name: binding.name } })
}

/** Declares the `var`s of a function at its start, except those that can be declared where they stand. */
export function hoistVars(l: Lowering, unit: Unit, f: FunctionNode): void {
  for (const binding of unit.names.ownedBy.get(f.start) ?? []) {
    if (binding.kind !== 'var' || binding.dropped || isLikeLet(binding)) continue
    const local = l.newName(binding.name)
    l.emit({ kind: 'Let', local, span: l.span(f) })
    l.bound.set(binding, { kind: 'local', name: local })
  }
}
