/**
 * What makes lists that places hold (`heldLists.ts`), and which lists these are.
 *
 * A list is held where it is put into another list, or into an object that is: only a whole try tells, so a try notes the literal or call
 * that makes the list, and the next one makes it by number. A list that has no name yet is copied into one that is held; nobody can tell.
 */
import type { AnyNode, ArrayExpression, CallExpression, Expression, NewExpression, SpreadElement } from 'acorn'
import type { Expr, Stmt } from '../../../../core/ir/functionIr.ts'
import { partBetween } from '../../captures/capturedLookups.ts'
import { asTest, binary, literal, makeIf } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, type Held, REFUSED, type Value } from '../../lower/value.ts'
import { iterableOf } from '../keyed/collections.ts'
import { eachElement, elementsOf } from '../listElements.ts'
import { eachIndex } from '../madeArrays.ts'
import { absentLiteral } from '../optionals.ts'
import { listPlaces } from '../places.ts'
import { isObject } from '../stored.ts'
import { emptyHeld, heapOf } from './heaps.ts'
import { numberOfAbsent, pushedHeld } from './heldLists.ts'
import { makerOf } from './kinds.ts'
import { makerOfValue, noteObject } from './notes.ts'

/** Returns the number of a list or object that is put where those of a kind are; undefined where it is refused, or only the next try has it. */
export function heldNumber(
  l: Lowering,
  of: number,
  given: Value,
  { node, mayBeAbsent = false }: { readonly node: AnyNode; readonly mayBeAbsent?: boolean },
): Expr | undefined {
  if (given.kind === 'refused') return undefined
  const absent = absentLiteral(given)
  if (absent !== undefined && mayBeAbsent) return numberOfAbsent(absent.value, l.span(node))
  if (given.kind === 'held' && (l.held.isObject(of) === l.held.isObject(given.of) || isOpen(l, of) || isOpen(l, given.of))) {
    l.held.join(of, given.of)
    if (given.mayBeAbsent !== true || mayBeAbsent) return given.number
  } else if (isObject(given) && (l.held.isObject(of) || isOpen(l, of))) {
    noteObject(l, given, of)
    const declared = given.kind === 'stored' ? given.owner.declared : undefined
    if (declared !== undefined) l.foundOptionals.push({ site: declared, shape: { kind: 'list', of } })
  }
  if (given.kind === 'held' || absent !== undefined || l.held.isObject(of)) {
    l.refuse('object-as-value', node)
    return undefined
  }
  const value = given.kind === 'item' ? REFUSED : given
  const isUnnamed = value.kind === 'view' && value.prefix.length === 0 && l.lists.has(value.array) && !l.named.has(value.array)
  if (isUnnamed || (value.kind === 'tableRow' && value.isCopy === true)) {
    const copy = newHeld(l, of, node)
    return copy !== undefined && pushAll(l, copy, value, node) ? copy.number : undefined
  }
  const maker = makerOfValue(l, value)
  if (maker !== undefined) l.held.note(maker, of)
  l.refuse('lists-of-lists', node, l.span(node).text)
  return undefined
}

/** Whether nothing is known of a kind yet but that something holds what is of it. */
function isOpen(l: Lowering, kind: number): boolean {
  return !l.held.isObject(kind) && l.held.elementOf(kind) === undefined
}

/** Lowers `test ? a : b` of lists or objects of a kind. */
export function chosenHeld(
  l: Lowering,
  of: number,
  test: Expr,
  branches: readonly { readonly value: Value; readonly emitted: readonly Stmt[] }[],
  node: AnyNode,
): Value {
  const [span, local] = [l.span(node), l.newName('list')]
  const mayBeAbsent = branches.some(
    ({ value }) => absentLiteral(value) !== undefined || (value.kind === 'held' && value.mayBeAbsent === true),
  )
  const [then = [], other = []] = branches.map(({ value, emitted }) =>
    l.collect(() => {
      l.emit(...emitted)
      const number = heldNumber(l, of, value, { node, mayBeAbsent })
      if (number !== undefined) l.emit({ kind: 'Assign', local, value: number, span })
    }),
  )
  l.emit({ kind: 'Let', local, init: literal(-1, span), span }, ...makeIf(test, then, other, span))
  l.stableLocals.add(local)
  return { kind: 'held', of, number: { kind: 'Local', name: local, span }, ...(mayBeAbsent ? { mayBeAbsent } : {}) }
}

/** Makes an empty list of a kind. */
function newHeld(l: Lowering, of: number, node: AnyNode, name = 'list'): Held | undefined {
  const heap = heapOf(l, of, name, node)
  const number = heap && emptyHeld(l, heap, node)
  return number && { kind: 'held', of: heap.kind, number }
}

/** Emits what puts all elements of another list behind those of a list; false where it is refused. */
export function pushAll(l: Lowering, list: Held, from: Value, node: AnyNode): boolean {
  const source = elementsOf(l, from, node)
  if (source === undefined) {
    l.refuse('spread', node)
    return false
  }
  let isDone = true
  eachElement(l, source, node, (item) => {
    isDone &&= pushedHeld(l, list, l.stabilizedValue(item), node)
  })
  return isDone
}

/** Lowers an array literal that makes a list which is held; undefined for other literals. */
export function heldLiteral(l: Lowering, name: string, node: ArrayExpression): Value | undefined {
  const of = l.held.at(makerOf(l, node))
  if (of === undefined || l.context.kind !== 'loop') return undefined
  if (l.held.isObject(of)) return l.refuse('object-as-value', node)
  const nodes = node.elements as (Expression | SpreadElement)[] // holes were refused
  const list = newHeld(l, of, node, name)
  if (list === undefined) return REFUSED
  // one after another, since a later element may change a list that is spread before it
  const areAllPut = nodes.map((one) => {
    if (one.type !== 'SpreadElement') return pushedHeld(l, list, l.verbs.value(l, one), node)
    const value = iterableOf(l, one.argument)
    return value.kind === 'tuple' ? value.items.every((item) => pushedHeld(l, list, item, node)) : pushAll(l, list, value, node)
  })
  return areAllPut.includes(false) ? REFUSED : list
}

/** Lowers a call, which may make a list that is held; `otherwise` lowers any other. */
export function heldCall(l: Lowering, node: CallExpression | NewExpression, otherwise: () => Value): Value {
  const of = l.context.kind === 'loop' ? l.held.at(makerOf(l, node)) : undefined
  if (of === undefined || l.held.isObject(of)) return otherwise()
  const name = l.takeName('list')
  const places = listPlaces(l, node)
  if (places === 'refused') return REFUSED
  if (places !== undefined) {
    const list = newHeld(l, of, node, name)
    if (list === undefined) return REFUSED
    eachIndex(l, places.length, node, (at) => void pushedHeld(l, list, l.stabilizedValue(places.item(at)), node))
    return list
  }
  return (node.type === 'CallExpression' ? mapped(l, of, name, node) : undefined) ?? copyOfCall(l, of, name, node, otherwise)
}

/** Lowers `list.map(f)`, `list.filter(f)`, `list.slice()` and `list.concat(…)`, whatever the elements are. */
function mapped(l: Lowering, of: number, name: string, node: CallExpression): Value | undefined {
  const { callee } = node
  if (callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier' || callee.object.type === 'Super')
    return undefined
  const method = callee.property.name
  if (callee.optional || node.optional) return undefined
  if (method === 'concat') return concatenated(l, of, name, callee.object, node)
  if (method === 'slice') return sliced(l, of, name, callee.object, node)
  if (!/^(map|filter)$/.test(method) || node.arguments.length !== 1) return undefined
  const before = l.out.length
  const given = l.verbs.value(l, callee.object)
  const over = l.stabilizedValue(given)
  const source = elementsOf(l, over, node)
  const [argument] = node.arguments
  const f = source === undefined || argument === undefined || argument.type === 'SpreadElement' ? undefined : l.verbs.value(l, argument)
  if (source === undefined || f?.kind !== 'closure') {
    l.out.length = before
    return undefined
  }
  const list = newHeld(l, of, node, name)
  if (list === undefined) return REFUSED
  eachElement(l, source, node, (one, at) => {
    const item = l.stabilizedValue(one)
    const value = l.verbs.inline(l, f, [item, exprValue(at), over], node)
    if (method === 'map') {
      pushedHeld(l, list, value, node)
      return
    }
    const kept = l.scalarOrNothing(value, node)
    if (kept === undefined) return
    const put = l.collect(() => void pushedHeld(l, list, item, node))
    l.emit(...makeIf(asTest(kept), put, [], l.span(node)))
  })
  return list
}

/** Lowers `list.slice(from, to)`. */
function sliced(l: Lowering, of: number, name: string, first: Expression, node: CallExpression): Value | undefined {
  const args = node.arguments.flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  const before = l.out.length
  const source = elementsOf(l, l.stabilizedValue(l.verbs.value(l, first)), node)
  if (source === undefined || args.length < node.arguments.length || args.length > 2) {
    l.out.length = before
    return undefined
  }
  const part =
    args.length === 0 ? { first: literal(0, l.span(node)), count: source.length } : partBetween(l, source.length, args, 'slice', node)
  const list = part && newHeld(l, of, node, name)
  if (part === undefined || list === undefined) return REFUSED
  const start = l.stabilized(part.first)
  const item = (at: Expr): Value => source.item(l.stabilized(binary('+', start, at, at.span)))
  eachElement(l, { length: part.count, item }, node, (one) => void pushedHeld(l, list, l.stabilizedValue(one), node))
  return list
}

/** Lowers `list.concat(another, value)`: a list that is given is gone through, anything else is an element. */
function concatenated(l: Lowering, of: number, name: string, first: Expression, node: CallExpression): Value {
  const nodes = [first, ...node.arguments].flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  if (nodes.length <= node.arguments.length) return l.refuse('spread', node)
  const values = l.inOrder(nodes.map((one) => () => l.stabilizedValue(l.verbs.value(l, one)))) // elements are copied after all are evaluated
  const list = newHeld(l, of, node, name)
  if (list === undefined) return REFUSED
  const areAllPut = values.map((value) => {
    if (value.kind === 'tuple') return value.items.every((item) => pushedHeld(l, list, item, node))
    return elementsOf(l, value, node) === undefined ? pushedHeld(l, list, value, node) : pushAll(l, list, value, node)
  })
  return areAllPut.includes(false) ? l.refuse('unknown-method', node, 'concat') : list
}

/** Lowers a call that makes a list in memory, and copies this. */
function copyOfCall(l: Lowering, of: number, name: string, node: AnyNode, otherwise: () => Value): Value {
  const value = otherwise()
  if (value.kind === 'held' || value.kind === 'refused') return value
  const list = newHeld(l, of, node, name)
  if (list === undefined) return REFUSED
  return pushAll(l, list, value, node) ? list : REFUSED
}
