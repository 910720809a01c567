/**
 * Lowers loops: `for`, `while` and `do`, all to the IR's one For; `for … of` is in `iteration.ts`.
 *
 * A test that has effects moves into the body, where `if (!test) break` takes its place. Declarations in the head stand
 * before the loop, all but the counter's: locals are unique, so it makes no difference.
 */
import type { DoWhileStatement, Expression, ForStatement, Statement, WhileStatement } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { constantOf } from '../lists/listElements.ts'
import { whereHolds } from '../lists/madeArrays.ts'
import { someNode } from '../source/ast.ts'
import type { Binding } from '../source/scope.ts'
import { asTest, makeIf, negated } from './build.ts'
import { lowerTest } from './conditions.ts'
import { counted } from './counted.ts'
import { lowerEffect } from './expressions.ts'
import { counterRange, rangeOf } from './indexRanges.ts'
import type { Lowering } from './lowering.ts'
import type { Target } from './loweringParts.ts'

export function lowerFor(l: Lowering, node: ForStatement, labels: readonly string[]): void {
  const { init } = node
  const counter = counterOf(l, node)
  const head = l.collect(() => {
    if (init?.type === 'VariableDeclaration') {
      for (const one of init.declarations) {
        if (
          one.init &&
          someNode(one.init, (inner) => inner.type === 'ArrowFunctionExpression' || inner.type === 'FunctionExpression', {
            intoFunctions: true,
          })
        )
          l.refuse('closure-in-loop-head', one)
      }
      l.verbs.statements(l, [init])
    } else if (init) lowerEffect(l, init)
  })
  const bound = counter === undefined ? undefined : l.bound.get(counter)
  const local = bound?.kind === 'local' ? bound.name : undefined
  // inside the body nothing assigns the counter, so that it counts as a constant
  if (local !== undefined) l.stableLocals.add(local)
  const range = local === undefined || counter === undefined ? undefined : counterRange(node, counter.name)
  if (local !== undefined && range !== undefined) l.counters.set(local, range)
  loop(l, node, labels, { head, test: node.test ?? undefined, update: node.update ?? undefined, body: node.body, local })
  if (local !== undefined) l.counters.delete(local)
}

/** Returns the variable of the head that only the update assigns; undefined where there is none. */
function counterOf(l: Lowering, node: ForStatement): Binding | undefined {
  const { init, update } = node
  if (init?.type !== 'VariableDeclaration' || !update) return undefined
  for (const one of init.declarations) {
    const binding = one.id.type === 'Identifier' ? l.unit.names.bindingOf.get(one.id) : undefined
    if (binding === undefined || binding.declarators !== 1) continue
    const inUpdate = binding.uses.filter((use) => use.at >= update.start && use.at < update.end).length
    if (binding.assignments === 1 && inUpdate === 1 && assignsIn(l, update, binding)) return binding
  }
  return undefined
}

function assignsIn(l: Lowering, update: Expression, binding: Binding): boolean {
  if (update.type === 'UpdateExpression')
    return update.argument.type === 'Identifier' && l.unit.names.bindingOf.get(update.argument) === binding
  if (update.type === 'AssignmentExpression')
    return update.left.type === 'Identifier' && l.unit.names.bindingOf.get(update.left) === binding
  if (update.type === 'SequenceExpression') return update.expressions.some((one) => assignsIn(l, one, binding))
  return false
}

export function lowerWhile(l: Lowering, node: WhileStatement, labels: readonly string[]): void {
  loop(l, node, labels, { head: [], test: node.test, update: undefined, body: node.body, local: undefined })
}

interface LoopParts {
  readonly head: readonly Stmt[]
  readonly test: Expression | undefined
  readonly update: Expression | undefined
  readonly body: Statement
  /** The counter, constant inside the body; undefined where there is none. */
  readonly local: string | undefined
}

function loop(l: Lowering, node: Statement, labels: readonly string[], parts: LoopParts): void {
  l.inLoop(() => loopOnce(l, node, labels, parts))
}

function loopOnce(l: Lowering, node: Statement, labels: readonly string[], parts: LoopParts): void {
  const span = l.span(node)
  const label = labels.length > 0 ? l.newLabel(labels[0] ?? 'loop') : undefined
  let test: Expr | undefined
  if (parts.local !== undefined) l.stableLocals.delete(parts.local)
  const testWork = l.collect(() => {
    const value = parts.test === undefined ? undefined : lowerTest(l, parts.test)
    test = value === undefined ? undefined : asTest(value)
  })
  if (parts.local !== undefined) l.stableLocals.add(parts.local)
  l.noteTurns(turnsOf(l, parts, test))
  const target = { kind: 'loop', sourceLabels: labels, label, plainBreak: true } as const
  const inner = whereHolds(l, test, () => inTarget(l, target, () => l.verbs.statements(l, [parts.body])))
  if (parts.local !== undefined) l.stableLocals.delete(parts.local)
  const update = l.collect(() => {
    if (parts.update !== undefined) lowerEffect(l, parts.update)
  })
  const body =
    testWork.length === 0 || test === undefined
      ? inner
      : [...testWork, ...makeIf(negated(test, test.span), [{ kind: 'Break', span }], [], span), ...inner]
  const kept = testWork.length === 0 && !(test?.kind === 'Literal' && test.value) ? test : undefined
  const found = counted({ init: parts.head, test: kept, update, body })
  l.emit(...(found?.before ?? parts.head))
  l.emit({
    kind: 'For',
    ...(label === undefined ? {} : { label }),
    init: found === undefined ? [] : [found.counter],
    ...(kept === undefined ? {} : { test: kept }),
    update,
    body,
    doWhile: false,
    ...(found === undefined ? {} : { counted: found.loop }),
    span,
  })
}

/** Returns an upper bound of the trip count of a loop that counts up by one; undefined for other loops. */
function turnsOf(l: Lowering, { head, local, update }: LoopParts, test: Expr | undefined): number | undefined {
  const isCounted = update?.type === 'UpdateExpression' && update.operator === '++'
  if (local === undefined || !isCounted || test?.kind !== 'Binary' || test.left.kind !== 'Local' || test.left.name !== local)
    return undefined
  const start = head.find((stmt) => stmt.kind === 'Let' && stmt.local === local)
  const from = start?.kind === 'Let' && start.init !== undefined ? lowestOf(l, start.init) : undefined
  const to = constantOf(l, test.right) ?? highestOf(l, test.right)
  if (from === undefined || to === undefined || (test.operator !== '<' && test.operator !== '<=')) return undefined
  return Math.max(0, Math.ceil(to - from) + (test.operator === '<=' ? 1 : 0))
}

function lowestOf(l: Lowering, expr: Expr): number | undefined {
  return constantOf(l, expr) ?? rangeOf(l, expr)?.low
}

function highestOf(l: Lowering, expr: Expr): number | undefined {
  return rangeOf(l, expr)?.high
}

export function inTarget(l: Lowering, target: Target, work: () => void): Stmt[] {
  l.frame.targets.push(target)
  const body = l.collect(work)
  l.frame.targets.pop()
  return body
}

export function lowerDoWhile(l: Lowering, node: DoWhileStatement, labels: readonly string[]): void {
  l.inLoop(() => doWhile(l, node, labels))
}

function doWhile(l: Lowering, node: DoWhileStatement, labels: readonly string[]): void {
  const span = l.span(node)
  const label = labels.length > 0 ? l.newLabel(labels[0] ?? 'loop') : undefined
  const hasEffect = someNode(node.test, (one) => /^(Assignment|Update|Call|Sequence)Expression$/.test(one.type), { intoFunctions: false })
  const target = { kind: 'loop', sourceLabels: labels, label, plainBreak: true } as const
  const named = label === undefined ? {} : { label }
  const test = (): Expr | undefined => lowerTest(l, node.test)
  if (!hasEffect) {
    const body = inTarget(l, target, () => l.verbs.statements(l, [node.body]))
    let tested: Expr | undefined
    const emitted = l.collect(() => {
      tested = test()
    })
    if (emitted.length > 0) l.refuse('effect-in-expression', node.test)
    if (tested !== undefined) l.emit({ kind: 'For', ...named, init: [], test: asTest(tested), update: [], body, doWhile: true, span })
    return
  }
  // `continue` goes to the test: it leaves a block around the body
  const continueLabel = l.newLabel('next')
  const inner = inTarget(l, { ...target, continueLabel }, () => l.verbs.statements(l, [node.body]))
  const tail = l.collect(() => {
    const tested = test()
    if (tested !== undefined) l.emit(...makeIf(negated(tested, span), [{ kind: 'Break', span }], [], span))
  })
  l.emit({
    kind: 'For',
    ...named,
    init: [],
    update: [],
    body: [{ kind: 'Labeled', label: continueLabel, body: inner, span }, ...tail],
    doWhile: false,
    span,
  })
}
