/**
 * Lowers loops over elements: `for (const x of row)`, `row.reduce(f, 0)`, `Math.max(...row)`.
 *
 *     for (const w of weights) s += w        -->     for (let index = 0; index < weights.length; index++) s += weights[index]
 *     for (const [dx, dy] of OFFSETS) f      -->     f, with dx and dy for each of the few
 *
 * Captured arrays of primitives, row views and the body's own arrays are iterated by index, each element read when its
 * iteration begins, as JavaScript does. Lists of anything else are short, and their loops are unrolled.
 */
import type { AnyNode, CallExpression, ForInStatement, ForOfStatement } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import { type IteratedCall, iterated, iteratedCall, namesOf } from '../captures/capturedLists.ts'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import { isTable } from '../captures/outside.ts'
import { binary, literal } from '../lower/build.ts'
import { counted } from '../lower/counted.ts'
import { forbidden } from '../lower/expressions.ts'
import { eachYielded } from '../lower/generators/goingThrough.ts'
import { inTarget } from '../lower/loops.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Target } from '../lower/loweringParts.ts'
import { memberValue } from '../lower/members.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { someNode } from '../source/ast.ts'
import type { AnyFunction } from '../unit.ts'
import { isList } from './held/notes.ts'
import { entriesOf } from './keyed/collections.ts'
import { isCollection, isDictionary, noteDictionary } from './keyed/collectionValue.ts'
import { dictionaryEntries, dictionaryPart, whileGoneThrough } from './keyed/dictionaries.ts'
import { type ByIndex, constantOf, elementsOf, rowElements } from './listElements.ts'
import { reduceFrom, reduceInto } from './listMethods.ts'
import { keptView } from './movedArrays.ts'
import { isObject } from './stored.ts'

/** Most iterations that are unrolled. */
const MOST_TURNS = 64
/** Most iterations unrolled for lists of primitives in row lambdas, whose kernels over columns have no loops. */
const MOST_IN_ROWS = 16

export function lowerForOf(l: Lowering, node: ForOfStatement, labels: readonly string[]): void {
  const named = dictionaryPart(l, node.right)
  if (named !== undefined) {
    eachOf(l, named.of, node, labels, { part: named.part })
    return
  }
  const call = iteratedCall(l, node.right)
  const value = call?.over ?? valueOrTurns(l, node, labels)
  if (value === undefined) return
  const given = call === undefined ? iterated(value) : value
  const over = given.kind === 'view' ? keptView(l, given) : given
  const { left } = node
  if (over.kind === 'refused') return
  if (left.type !== 'VariableDeclaration' || node.await) {
    l.refuse('for-of', node.right)
    return
  }
  if (!eachOf(l, over, node, labels, call ?? {})) l.refuse('for-of', node.right)
}

/** Lowers what a loop goes through; undefined where that was a generator, which has the loop's body in it. */
function valueOrTurns(l: Lowering, node: ForOfStatement, labels: readonly string[]): Value | undefined {
  const [declaration] = node.left.type === 'VariableDeclaration' && !node.await ? node.left.declarations : []
  if (declaration === undefined) return l.verbs.value(l, node.right)
  const span = l.span(node)
  let label = ''
  const begin = (): void => {
    label = l.newLabel(labels[0] ?? 'turns')
  }
  const turn = (item: Value): void => {
    const next = l.newLabel('turn')
    const target: Target = { kind: 'loop', isWrittenOut: true, sourceLabels: labels, label, continueLabel: next, plainBreak: true }
    const body = inTarget(l, target, () => {
      l.verbs.bind(l, declaration.id, item, 'declare')
      l.verbs.statements(l, [node.body])
    })
    l.emit({ kind: 'Labeled', label: next, body, span })
  }
  let value: Value | undefined
  const emitted = l.collect(() => {
    value = eachYielded(l, node.right, turn, begin)
  })
  if (value !== undefined) l.emit(...emitted)
  else l.emit({ kind: 'Labeled', label, body: emitted, span })
  return value
}

/** Lowers `for (const name in object)` of a captured plain object. */
export function lowerForIn(l: Lowering, node: ForInStatement, labels: readonly string[]): void {
  const over = node.left.type === 'VariableDeclaration' ? l.verbs.value(l, node.right) : REFUSED
  if (isDictionary(over)) {
    eachOf(l, over, node, labels, { part: 'keys' })
    return
  }
  noteDictionary(l, over)
  const names = namesOf(over)
  if (names === undefined || !eachOf(l, names, node, labels, {})) forbidden(l, node)
}

/** Lowers the body for each element, with the declaration bound to it, or to its index and it; false where it has no known elements. */
function eachOf(
  l: Lowering,
  over: Value,
  node: ForOfStatement | ForInStatement,
  labels: readonly string[],
  { withIndex = false, part }: Partial<Omit<IteratedCall, 'over'>>,
): boolean {
  const declaration = node.left.type === 'VariableDeclaration' ? node.left.declarations[0] : undefined
  const turn = (item: Value, index: Expr): void => {
    const bound: Value = withIndex ? { kind: 'tuple', items: [exprValue(index), item] } : item
    if (declaration !== undefined) l.verbs.bind(l, declaration.id, bound, 'declare')
    l.verbs.statements(l, [node.body])
  }
  const isShort = areFewTexts(over) || holdsRows(over) || (l.context.kind === 'row' && (fewOf(over) ?? MOST_IN_ROWS + 1) <= MOST_IN_ROWS)
  if (isDictionary(over)) {
    const given = part ?? 'entries'
    const entries = dictionaryEntries(l, over, given, node.right)
    whileGoneThrough(l, over, given, () => eachByIndex(l, entries, node, labels, turn))
    return true
  }
  const byIndex = isCollection(over) ? entriesOf(l, over, node.right, part) : isShort ? undefined : elementsOf(l, over, node.right)
  if (byIndex !== undefined) {
    l.iterated.push(over.kind === 'view' ? over.array : '')
    eachByIndex(l, byIndex, node, labels, turn)
    l.iterated.pop()
  } else if (!writtenOut(l, over, node, labels, turn)) {
    const rows = rowElements(l, over, node.right)
    if (rows === undefined) return false
    eachByIndex(l, rows, node, labels, turn)
  }
  return true
}

/** Whether a list is a few texts: their loop is unrolled, since an object may be asked for each as a known name. */
function areFewTexts(over: Value): boolean {
  return (
    over.kind === 'data' &&
    Array.isArray(over.value) &&
    over.value.length <= MOST_TURNS &&
    over.value.every((one) => typeof one === 'string')
  )
}

/** Whether it is a captured list of lists or objects: a loop over a few of them is unrolled. */
function holdsRows(over: Value): boolean {
  return over.kind === 'data' && Array.isArray(over.value) && !isTable(over.value)
}

/** Emits a loop over the indices; `turn` lowers its body for one element. */
function eachByIndex(
  l: Lowering,
  { length, item }: ByIndex,
  node: AnyNode,
  labels: readonly string[],
  turn: (item: Value, index: Expr) => void,
): void {
  const span = l.span(node)
  const local = l.newName('index')
  const index: Expr = { kind: 'Local', name: local, span }
  const label = labels.length > 0 ? l.newLabel(labels[0] ?? 'loop') : undefined
  l.stableLocals.add(local)
  const most = length.kind === 'LookupLength' || length.kind === 'Literal' ? constantOf(l, length) : undefined
  if (most !== undefined) l.counters.set(local, { low: 0, high: most - 1 })
  const target = { kind: 'loop', sourceLabels: labels, label, plainBreak: true } as const
  const body = l.inLoop(() => {
    l.noteTurns(constantOf(l, length))
    return inTarget(l, target, () => turn(item(index), index))
  })
  l.stableLocals.delete(local)
  l.counters.delete(local)
  const counter: Stmt = { kind: 'Let', local, init: literal(0, span), span }
  const test = binary('<', index, length, span)
  const update: Stmt = { kind: 'Assign', local, value: binary('+', index, literal(1, span), span), span }
  const found = counted({ init: [counter], test, update: [update], body })
  l.emit({
    kind: 'For',
    ...(label === undefined ? {} : { label }),
    init: [counter],
    test,
    update: [update],
    body,
    doWhile: false,
    ...(found === undefined ? {} : { counted: found.loop }),
    span,
  })
}

/** Unrolls the body for each of a few elements, whatever they are; false where there are too many. */
function writtenOut(
  l: Lowering,
  given: Value,
  node: ForOfStatement | ForInStatement,
  labels: readonly string[],
  turn: (item: Value, index: Expr) => void,
): boolean {
  let over = given.kind === 'tuple' ? l.stabilizedValue(given) : given
  const length = fewOf(over)
  if (length === undefined || length > MOST_TURNS) return false
  const span = l.span(node)
  const leaves = (type: AnyNode['type']): boolean => someNode(node.body, (one) => one.type === type, { intoFunctions: false })
  const label = leaves('BreakStatement') || leaves('ContinueStatement') ? l.newLabel(labels[0] ?? 'turns') : undefined
  const unrolled = (): void => {
    for (let i = 0; i < length && !l.isTooLarge; i++) {
      const next = leaves('ContinueStatement') ? l.newLabel('turn') : undefined
      const target = {
        ...({ kind: 'loop', isWrittenOut: true, sourceLabels: labels, label, plainBreak: true } as const),
        ...(next === undefined ? {} : { continueLabel: next }),
      }
      l.countCall()
      const body = inTarget(l, target, () => turn(memberValue(l, over, String(i), node), literal(i, span)))
      if (next === undefined) l.emit(...body)
      else l.emit({ kind: 'Labeled', label: next, body, span })
    }
  }
  const before = l.now()
  let turns = l.collect(unrolled)
  if (given.kind === 'stored' && (given.owner.assigned ?? -1) > before) {
    over = l.stabilizedValue(given) // the loop goes through what the variable held when it began
    turns = l.collect(unrolled)
  }
  if (label === undefined) l.emit(...turns)
  else l.emit({ kind: 'Labeled', label, body: turns, span })
  return true
}

function fewOf(over: Value): number | undefined {
  if (over.kind === 'tuple') return over.items.length
  if (over.kind === 'stored') return over.storage.kind === 'items' ? over.storage.items.length : undefined
  if (over.kind === 'item') return over.parts.kind === 'items' ? over.parts.items.length : undefined
  return over.kind === 'data' && Array.isArray(over.value) ? over.value.length : undefined
}

/** Lowers `row.reduce(f, init)` and `row.forEach(f)`; undefined for other methods. */
export function overElements(l: Lowering, over: Value, name: string, node: CallExpression): Value | undefined {
  if (name !== 'reduce' && name !== 'forEach') return undefined
  const byIndex = elementsOf(l, over, node)
  const [given, init, ...more] = node.arguments
  if (byIndex === undefined || given === undefined || given.type === 'SpreadElement' || more.length > 0) return undefined
  const f = l.verbs.value(l, given)
  if (f.kind !== 'closure') return undefined
  const span = l.span(node)
  const called = (args: readonly Value[]): Value => l.verbs.inline(l, f, args, node)
  if (name === 'forEach') {
    if (init !== undefined) return undefined
    eachByIndex(l, byIndex, node, [], (item, index) => void called([item, exprValue(index), over]))
    return exprValue(literal(undefined, span))
  }
  if (init === undefined || init.type === 'SpreadElement') return undefined
  const begin = l.verbs.value(l, init)
  if ((isObject(begin) || isList(l, begin)) && l.context.kind === 'loop') {
    const by = returnsFirst(f) ? reduceInto : reduceFrom
    return l.verbs.inline(l, libraryFunction(l, by as AnyFunction, name, node), [over, f, begin], node)
  }
  const first = l.scalarOrNothing(begin, init)
  if (first === undefined) return REFUSED
  return folded(l, byIndex, first, node, (sofar, item, index) =>
    l.scalarOrNothing(called([exprValue(sofar), item, exprValue(index), over]), node),
  )
}

/** Whether a function always returns its first argument: `(sums, v) => { sums.all += v; return sums }`. */
function returnsFirst({ node: { params, body }, unit }: Value & { readonly kind: 'closure' }): boolean {
  const [param] = params
  const first = param?.type === 'Identifier' ? unit.names.bindingOf.get(param) : undefined
  if (first === undefined || first.assignments > 0 || body.type !== 'BlockStatement') return false
  const isFirst = (one: AnyNode): boolean =>
    one.type === 'ReturnStatement' && one.argument?.type === 'Identifier' && unit.names.bindingOf.get(one.argument) === first
  const returnsOther = someNode(body, (one) => one.type === 'ReturnStatement' && !isFirst(one), { intoFunctions: false })
  return body.body.at(-1)?.type === 'ReturnStatement' && !returnsOther
}

/** Lowers `Math.max(...row)`; undefined where the spread value is no row. */
export function extremeOf(l: Lowering, callee: 'Math.max' | 'Math.min', over: Value, node: CallExpression): Value | undefined {
  const byIndex = elementsOf(l, over, node)
  if (byIndex === undefined) return undefined
  const span = l.span(node)
  const first = literal(callee === 'Math.max' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY, span)
  return folded(l, byIndex, first, node, (sofar, item) => {
    const expr = l.scalarOrNothing(item, node)
    return expr && { kind: 'Call', callee, args: [sofar, expr], span }
  })
}

/** Emits a fold: a local that `next` computes anew from each element. */
function folded(
  l: Lowering,
  byIndex: ByIndex,
  first: Expr,
  node: AnyNode,
  next: (sofar: Expr, item: Value, index: Expr) => Expr | undefined,
): Value {
  const span = l.span(node)
  const local = l.newName('sofar')
  const sofar: Expr = { kind: 'Local', name: local, span }
  l.emit({ kind: 'Let', local, init: first, span })
  eachByIndex(l, byIndex, node, [], (item, index) => {
    const kept = item.kind === 'expr' ? exprValue(l.temporary(item.expr, 'item')) : item
    const value = next(sofar, kept, index)
    if (value !== undefined) l.emit({ kind: 'Assign', local, value, span })
  })
  return exprValue(l.temporary(sofar))
}
