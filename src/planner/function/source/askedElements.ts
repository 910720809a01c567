/**
 * Lowers elements of the body's lists that the program asks whether they are there (`asked.ts`): they are undefined outside
 * of the list.
 *
 *     list[k] ?? 0        -->       k >= 0 && k < length of list ? list[k] : 0
 */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import type { Span } from '../../../core/span.ts'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import { heldElement, heldLength, keptHeld, presentHeld } from '../lists/held/heldLists.ts'
import { elementRead, lengthIn, lengthOfList, placeIn } from '../lists/madeArrays.ts'
import { itemAt, keptItem } from '../lists/records.ts'
import { binary, conditional, literal, logical, unary } from '../lower/build.ts'
import { isWithin } from '../lower/indexRanges.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, type Held, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { type Asking, askedIn } from './asked.ts'

/** Returns what the program asks of a place; undefined where it takes for granted that there is a value. */
export function askingOf(l: Lowering, node: AnyNode): Asking | undefined {
  if (l.context.kind !== 'loop' || l.frame.isLibrary === true) return undefined
  const { places, returned } = askedIn(l.unit)
  const ofPlace = places.get(node)
  const asReturned = l.frame.asking === undefined ? undefined : returned.get(node)
  if (ofPlace === 'value' || asReturned === 'value') return 'value'
  return asReturned === undefined ? ofPlace : l.frame.asking
}

/** Returns a function with what the program asks of its result. Functions that a method calls, as `map` does, are not asked as its call is. */
export function askedCall<F extends Value & { readonly kind: 'closure' }>(l: Lowering, f: F, node: AnyNode): F {
  const asking = askingOf(l, node)
  return asking === undefined ? f : { ...f, asking }
}

/** Lowers an element that is asked for; undefined for values that are no lists of the body, and where nobody asks. */
export function askedElement(l: Lowering, of: Value, property: Value | string, node: AnyNode): Value | undefined {
  const isList = of.kind === 'records' || (of.kind === 'held' && !l.held.isObject(of.of)) || (of.kind === 'view' && l.locals.has(of.array))
  if (!isList) return undefined
  const asking = askingOf(l, node)
  if (asking === undefined) return undefined
  const index = typeof property === 'string' ? indexOfName(l, property, node) : property
  if (index?.kind !== 'expr') return undefined
  if (of.kind === 'view') {
    const extents = l.locals.get(of.array) ?? []
    if (l.rowsOf.has(of.array) || extents.length !== of.prefix.length + 1) return undefined
    const length = l.sizes.has(of.array) ? undefined : extents.at(-1)
    const span = l.span(node)
    const count = length === undefined ? lengthIn(l, of, node) : literal(length, span)
    const isOpen = boundsOf(index.expr, count, span).map((bound) => !l.holding.includes(exprId(bound)))
    if (!isOpen.includes(true) || (length !== undefined && isWithin(l, index.expr, length))) return undefined
    const isShort = /^(Key|Local|Literal)$/.test(index.expr.kind)
    const at = isShort ? l.stabilized(index.expr, 'at') : l.temporary(index.expr, 'at')
    const read = elementRead(l, of.array, [...of.prefix, placeIn(l, of.array, at)], l.span(node))
    const isTruth = l.booleans.has(of.array)
    const inside = boundsOf(at, count, span)
      .filter((_, k) => isOpen[k])
      .reduce((a, b) => logical('&&', a, b, span))
    if (asking === 'truth') return exprValue(conditional(inside, read, literal(isTruth ? false : 0, span), span))
    const value = isTruth ? read : unary('+', read, span)
    const element = conditional(inside, value, literal(undefined, span), span)
    l.lookups.add(element)
    return exprValue(element)
  }
  const list = of.kind === 'held' ? keptHeld(l, of) : of
  if (list.kind === 'held' && l.held.elementOf(list.of)?.kind === 'list') return askedList(l, list, index.expr, node)
  return (
    uncopiedItem(l, list, index.expr, node) ??
    l.verbs.inline(l, libraryFunction(l, elementOrNothing as AnyFunction, 'at', node), [list, index], node)
  )
}

/** Lowers an element that is an object and must be no copy, which would miss changes: its place, and whether it is there. */
function uncopiedItem(l: Lowering, list: Held | (Value & { readonly kind: 'records' }), index: Expr, node: AnyNode): Value | undefined {
  if (!askedIn(l.unit).uncopied.has(node)) return undefined
  const [at, span] = [l.stabilized(index, 'at'), l.span(node)]
  const [first = ''] = list.kind === 'records' ? list.list.arrays : []
  const item = list.kind === 'held' ? heldElement(l, list, at, node) : itemAt(list.list, placeIn(l, first, at))
  if (item.kind !== 'item' || item.list.isMoved) return undefined
  const length = list.kind === 'held' ? heldLength(l, list, node) : lengthOfList(l, first, node)
  const there = l.newName('there')
  l.emit({ kind: 'Let', local: there, init: insideOf(at, length, span), span })
  l.stableLocals.add(there)
  const kept = keptItem(l, item)
  return kept.kind === 'item' ? { kind: 'maybeItem', item: kept, there } : undefined
}

/** Lowers a list in a list: the number of none is -1. */
function askedList(l: Lowering, given: Held, index: Expr, node: AnyNode): Value {
  const list = presentHeld(l, given, l.span(node).text, node)
  const [at, span] = [l.stabilized(index, 'at'), l.span(node)]
  const inside = insideOf(at, heldLength(l, list, node), span)
  const element = heldElement(l, list, at, node)
  if (element.kind !== 'held') return element
  return { ...element, number: l.temporary(conditional(inside, element.number, literal(-1, span), span), 'list'), mayBeAbsent: true }
}

/** Lowers a row of a grid behind which `?.` stands: the test that it is there, and what gives the row. */
export function askedRow(l: Lowering, node: AnyNode): { readonly inside: Expr; readonly value: () => Value } | undefined {
  if (node.type !== 'MemberExpression' || !node.computed || node.optional || node.object.type !== 'Identifier') return undefined
  if (node.property.type === 'PrivateIdentifier' || l.context.kind !== 'loop' || l.frame.isLibrary === true) return undefined
  const of = l.verbs.value(l, node.object)
  const extent = of.kind === 'view' ? l.locals.get(of.array)?.[of.prefix.length] : undefined
  if (of.kind !== 'view' || extent === undefined || (of.rank ?? 0) <= of.prefix.length + 1) return undefined
  const [at, span] = [l.stabilized(l.scalar(l.verbs.value(l, node.property), node), 'at'), l.span(node)]
  return { inside: insideOf(at, literal(extent, span), span), value: () => l.verbs.member(l, of, exprValue(at), node) }
}

function elementOrNothing(list: ArrayLike<number>, i: number): number | undefined {
  return i >= 0 && i < list.length ? list[i] : void 0
}

function indexOfName(l: Lowering, name: string, node: AnyNode): Value | undefined {
  return /^(0|[1-9]\d*)$/.test(name) ? exprValue(literal(Number(name), l.span(node))) : undefined
}

function insideOf(at: Expr, length: Expr, span: Span): Expr {
  const [low, high] = boundsOf(at, length, span)
  return logical('&&', low, high, span)
}

function boundsOf(at: Expr, length: Expr, span: Span): readonly [Expr, Expr] {
  return [binary('>=', at, literal(0, span), span), binary('<', at, length, span)]
}
