/** Lowers statements: each node type of acorn to what it emits. */
import type { AnyNode, AssignmentExpression, Expression, ExpressionStatement, Identifier, Statement } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { declaredClasses } from '../captures/declaredClasses.ts'
import { noteObject } from '../lists/held/notes.ts'
import { lowerForIn, lowerForOf } from '../lists/iteration.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { absentLiteral, noteOptional } from '../lists/optionals.ts'
import { returnStored } from '../lists/returnedObjects.ts'
import { isObject } from '../lists/stored.ts'
import { lowerSwitch } from '../normalize/switches.ts'
import { isFunctionNode, someNode } from '../source/ast.ts'
import { declare } from '../source/patterns.ts'
import type { Binding, Scope } from '../source/scope.ts'
import { asTest, conditional, literal, makeIf, negated } from './build.ts'
import { lowerTest, returned } from './conditions.ts'
import { forbidden, lowerEffect, lowerExpression } from './expressions.ts'
import { lowerDoWhile, lowerFor, lowerWhile } from './loops.ts'
import type { Lowering } from './lowering.ts'
import { lowerTry } from './tries.ts'
import { exprValue, REFUSED } from './value.ts'

export function lowerStatements(l: Lowering, nodes: readonly Statement[]): void {
  hoistFunctions(l, nodes)
  const classes = declaredClasses(l, nodes)
  for (const node of nodes) {
    if (l.isTooLarge) return
    const binding = node.type === 'ClassDeclaration' ? l.unit.names.bindingOf.get(node.id) : undefined
    if (isOnlyAssignment(l, node, nodes) && declaredHere(l, node)) continue
    if (node.type !== 'ClassDeclaration') lowerStatement(l, node, [])
    else if (binding !== undefined) l.bound.set(binding, { kind: 'value', value: classes.get(node.id.name) ?? REFUSED })
  }
}

/** Whether a statement gives a variable its only value, `var row; … row = [1]`, and nothing outside of the rest of its block uses it. */
function isOnlyAssignment(l: Lowering, node: Statement, nodes: readonly Statement[]): node is ExpressionStatement & OnlyAssignment {
  if (l.context.kind !== 'loop' || node.type !== 'ExpressionStatement' || node.expression.type !== 'AssignmentExpression') return false
  const { left, operator, right } = node.expression
  const binding =
    left.type === 'Identifier' && operator === '=' && MAKES_LIST.test(right.type) ? l.unit.names.bindingOf.get(left) : undefined
  if (binding === undefined || (binding.kind !== 'var' && binding.kind !== 'let') || binding.initialized) return false
  if (binding.assignments !== 1 || binding.declarators !== 1 || binding.owner.start !== l.frame.node.start) return false
  const end = nodes.at(-1)?.end ?? 0
  return binding.uses.every(
    ({ at, scope }) => at === left.start || (at >= node.end && at < end && functionOf(scope).start === binding.owner.start),
  )
}

type OnlyAssignment = { readonly expression: AssignmentExpression & { readonly left: Identifier } }
const MAKES_LIST = /^(Array|Object|Call|New)Expression$/

function functionOf(scope: Scope): AnyNode {
  let at: Scope | undefined = scope
  while (at?.parent !== undefined && !isFunctionNode(at.node)) at = at.parent
  return (at ?? scope).node
}

/** Declares the variable where it is given a list or an object; false for other values, which any variable may be given. */
function declaredHere(l: Lowering, { expression: { left, right } }: OnlyAssignment): boolean {
  const before = l.out.length
  l.nameHint = left.name
  const value = l.verbs.value(l, right)
  l.nameHint = undefined
  if (value.kind === 'expr' || value.kind === 'refused') {
    l.out.length = before // it is lowered again
    return false
  }
  const binding = l.unit.names.bindingOf.get(left)
  if (binding === undefined) return false
  const once: Binding = { ...binding, kind: 'let', assignments: 0, initialized: true }
  declare(l, once, value, left)
  const bound = l.bound.get(once)
  if (bound !== undefined) l.bound.set(binding, bound)
  return true
}

/** Binds function declarations, which exist from the start of their block. */
export function hoistFunctions(l: Lowering, nodes: readonly Statement[]): void {
  for (const node of nodes) {
    if (node.type !== 'FunctionDeclaration') continue
    const binding = l.unit.names.bindingOf.get(node.id)
    if (binding === undefined) continue
    if (binding.assignments > 0 || binding.declarators > 1) l.refuse('reassigns-value', node, node.id.name)
    l.bound.set(binding, { kind: 'value', value: l.closure(node, node.id.name) })
  }
}

function lowerStatement(l: Lowering, node: Statement, labels: readonly string[]): void {
  const span = l.span(node)
  switch (node.type) {
    case 'EmptyStatement':
    case 'DebuggerStatement':
    case 'FunctionDeclaration':
      return
    case 'ExpressionStatement':
      if (node.directive === undefined) lowerEffect(l, node.expression)
      return
    case 'BlockStatement':
      if (labels.length > 0) {
        labeledBlock(l, node, labels)
        return
      }
      lowerStatements(l, node.body)
      return
    case 'VariableDeclaration':
      if (node.kind === 'using' || node.kind === 'await using') {
        l.refuse('operator', node, 'using')
        return
      }
      for (const one of node.declarations) {
        l.nameHint = one.id.type === 'Identifier' ? one.id.name : undefined
        const value = one.init ? lowerExpression(l, one.init) : undefined
        l.nameHint = undefined
        if (value !== undefined) l.verbs.bind(l, one.id, value, 'declare')
        else if (node.kind !== 'var') l.verbs.bind(l, one.id, { kind: 'expr', expr: literal(undefined, span) }, 'declare')
      }
      return
    case 'ReturnStatement':
      lowerReturn(l, node)
      return
    case 'IfStatement': {
      const test = lowerTest(l, node.test)
      const then = whereHolds(l, test && asTest(test), () => l.collect(() => lowerStatement(l, node.consequent, [])))
      const other = l.collect(() => {
        const { alternate } = node
        if (alternate) whereHolds(l, test && negated(test, span), () => lowerStatement(l, alternate, []))
      })
      if (test !== undefined) l.emit(...makeIf(test, then, other, span))
      return
    }
    case 'LabeledStatement':
      if (isLoopOrLabel(node.body)) {
        lowerStatement(l, node.body, [...labels, node.label.name])
        return
      }
      labeledBlock(l, node.body, [...labels, node.label.name])
      return
    case 'ForStatement':
      lowerFor(l, node, labels)
      return
    case 'WhileStatement':
      lowerWhile(l, node, labels)
      return
    case 'DoWhileStatement':
      lowerDoWhile(l, node, labels)
      return
    case 'ForOfStatement':
      lowerForOf(l, node, labels)
      return
    case 'SwitchStatement':
      lowerSwitch(l, node, labels)
      return
    case 'BreakStatement':
      lowerBreak(l, node)
      return
    case 'ContinueStatement':
      lowerContinue(l, node)
      return
    case 'ThrowStatement':
      lowerThrow(l, node)
      return
    case 'ForInStatement':
      lowerForIn(l, node, labels)
      return
    case 'TryStatement':
      lowerTry(l, node)
      return
    case 'ClassDeclaration':
    case 'WithStatement':
      forbidden(l, node)
      return
  }
}

function isLoopOrLabel(node: AnyNode): boolean {
  return /^(For|ForIn|ForOf|While|DoWhile|Labeled|Switch|Block)Statement$/.test(node.type)
}

/** Lowers `label: { … break label … }`. */
function labeledBlock(l: Lowering, node: Statement, labels: readonly string[]): void {
  const label = l.newLabel(labels[0] ?? 'block')
  const target = { kind: 'block', sourceLabels: labels, label, plainBreak: false } as const
  l.frame.targets.push(target)
  const body = l.collect(() => lowerStatement(l, node, []))
  l.frame.targets.pop()
  l.emit({ kind: 'Labeled', label, body, span: l.span(node) })
}

function lowerBreak(l: Lowering, node: Statement & { type: 'BreakStatement' }): void {
  const span = l.span(node)
  const { targets } = l.frame
  const name = node.label?.name
  const target = targets.findLast((one) => (name === undefined ? one.plainBreak : one.sourceLabels.includes(name)))
  if (target === undefined) return
  const isInnermost = target.kind === 'loop' && target.isWrittenOut !== true && targets.findLast((one) => one.kind === 'loop') === target
  if (isInnermost && (name === undefined || target.label === undefined)) l.emit({ kind: 'Break', span })
  else if (target.label !== undefined) l.emit({ kind: 'Break', label: target.label, span })
}

function lowerContinue(l: Lowering, node: Statement & { type: 'ContinueStatement' }): void {
  const span = l.span(node)
  const { targets } = l.frame
  const name = node.label?.name
  const target = targets.findLast((one) => one.kind === 'loop' && (name === undefined || one.sourceLabels.includes(name)))
  if (target === undefined) return
  if (target.continueLabel !== undefined) l.emit({ kind: 'Break', label: target.continueLabel, span })
  else if (name === undefined || target.label === undefined) l.emit({ kind: 'Continue', span })
  else l.emit({ kind: 'Continue', label: target.label, span })
}

function lowerReturn(l: Lowering, node: Statement & { type: 'ReturnStatement' }): void {
  const span = l.span(node)
  const { result } = l.frame
  if (result === undefined) {
    if (node.argument) lowerReturned(l, node.argument)
    else l.emit({ kind: 'Return', span })
    return
  }
  const value = node.argument ? lowerExpression(l, node.argument) : undefined
  if (value?.kind === 'closure') l.refuse('returns-function', node)
  else if (value !== undefined && node.argument && (value.kind === 'held' || result.list !== undefined)) {
    const of = value.kind === 'held' ? value.of : (result.list ?? 0)
    result.list = of
    noteOptional(l, result.site, value)
    const number = l.verbs.heldNumber(l, of, value, { node: node.argument, mayBeAbsent: result.mayBeAbsent === true })
    if (number !== undefined) l.emit({ kind: 'Assign', local: result.local, value: number, span })
  } else if (value !== undefined && node.argument && (isObject(value) || absentLiteral(value) !== undefined)) {
    if (l.frame.recursion !== undefined) noteObject(l, value)
    returnStored(l, result, value, node.argument)
    if (result.optional === undefined && value.kind === 'expr' && absentLiteral(value) !== undefined)
      l.emit({ kind: 'Assign', local: result.local, value: value.expr, span })
  } else if (node.argument === null || node.argument === undefined) {
    const nothing = exprValue(literal(undefined, span))
    if (result.list === undefined) returnStored(l, result, nothing, node)
    else noteOptional(l, result.site, nothing)
  } else if (value !== undefined && node.argument) {
    result.isScalar = true
    const expr = l.scalarOrNothing(value, node.argument)
    if (expr !== undefined) l.emit({ kind: 'Assign', local: result.local, value: expr, span })
  }
  if (result.breaks) l.emit({ kind: 'Break', label: result.label, span })
}

/** Lowers `return c ? a : b`: one expression where neither branch has effects, an if otherwise. */
export function lowerReturned(l: Lowering, node: Expression): void {
  const span = l.span(node)
  if (node.type === 'ConditionalExpression') {
    const test = lowerTest(l, node.test)
    const then = whereHolds(l, test && asTest(test), () => l.collect(() => lowerReturned(l, node.consequent)))
    const other = whereHolds(l, test && negated(test, span), () => l.collect(() => lowerReturned(l, node.alternate)))
    if (test === undefined) return
    const [a, b] = [onlyReturn(then), onlyReturn(other)]
    if (a !== undefined && b !== undefined) l.emit({ kind: 'Return', value: conditional(test, a, b, span), span })
    else l.emit(...makeIf(test, then, other, span))
    return
  }
  const value = returned(l, lowerExpression(l, node), node)
  if (value !== undefined) emitReturn(l, value, span)
}

function onlyReturn(stmts: readonly Stmt[]): Expr | undefined {
  const [only] = stmts
  return stmts.length === 1 && only?.kind === 'Return' ? only.value : undefined
}

/** Emits a return. In a loop body a returned undefined is no value: the element stays. */
function emitReturn(l: Lowering, value: Expr | undefined, span: Stmt['span']): void {
  const isNothing = (expr: Expr | undefined): boolean => expr === undefined || (expr.kind === 'Literal' && expr.value === undefined)
  if (value === undefined || (l.context.kind === 'loop' && isNothing(value))) l.emit({ kind: 'Return', span })
  else if (l.context.kind === 'loop' && value.kind === 'Conditional' && (isNothing(value.then) || isNothing(value.else))) {
    const branch = (expr: Expr): Stmt[] => l.collect(() => emitReturn(l, expr, span))
    l.emit(...makeIf(value.test, branch(value.then), branch(value.else), span))
  } else l.emit({ kind: 'Return', value, span })
}

function lowerThrow(l: Lowering, node: Statement & { type: 'ThrowStatement' }): void {
  const { argument } = node
  const made = argument.type === 'NewExpression' || argument.type === 'CallExpression' ? argument : undefined
  const name = made?.callee.type === 'Identifier' && l.unit.names.free.has(made.callee) ? made.callee : undefined
  const free = name === undefined ? undefined : l.unit.freeOf(name)
  const error = free?.kind === 'global' ? ERRORS.find((one) => one === free.name) : undefined
  if (error === undefined || made === undefined || made.arguments.length > 1) {
    l.refuse('throws-value', node)
    return
  }
  const [message] = made.arguments
  if (message === undefined) {
    l.emit({ kind: 'Throw', error, span: l.span(node) })
    return
  }
  if (message.type === 'SpreadElement') {
    l.refuse('spread', message)
    return
  }
  const text = l.scalarOrNothing(lowerExpression(l, message), message)
  // what the library's own functions are given to say is said of the room that they have
  const isLimit = l.frame.isLibrary === true && message.type === 'Identifier'
  if (text !== undefined) l.emit({ kind: 'Throw', error, message: text, ...(isLimit ? { isLimit } : {}), span: l.span(node) })
}

const ERRORS = ['Error', 'RangeError', 'TypeError'] as const

/** Whether a function body has a return that is not the last thing on its path. */
export function hasEarlyReturn(statements: readonly Statement[]): boolean {
  return statements.some((statement, i) => {
    if (i < statements.length - 1) return someNode(statement, (node) => node.type === 'ReturnStatement', { intoFunctions: false })
    if (statement.type === 'BlockStatement') return hasEarlyReturn(statement.body)
    if (statement.type === 'IfStatement') {
      const branches = [statement.consequent, ...(statement.alternate ? [statement.alternate] : [])]
      return branches.some((branch) => hasEarlyReturn(branch.type === 'BlockStatement' ? branch.body : [branch]))
    }
    if (statement.type === 'ReturnStatement') return false
    return someNode(statement, (node) => node.type === 'ReturnStatement', { intoFunctions: false })
  })
}
