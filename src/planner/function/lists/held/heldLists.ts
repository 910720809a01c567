/**
 * Lists that grow and that other lists, objects in lists and variables hold: each is a number, by which its memory is found (`heaps.ts`).
 *
 *     const graph = []; graph.push([])                  graph: number of a list of numbers of lists
 *     const row = graph[a]                      -->     let row = Read numbers [Read firsts [graph] + a]
 *     row.push(b)                                       Write elements [grown(heap, row)] = b
 *
 * Whoever has a list has its number, so that a change is seen under every name, and a list may lie in two places. What is known of an
 * element is the number of its list and its index there: its place is computed where it is read, since lists move when they grow.
 * Elements that are objects are as in `records.ts`.
 */
import type { AnyNode, CallExpression } from 'acorn'
import type { Expr, Stmt } from '../../../../core/ir/functionIr.ts'
import { exprId } from '../../../../core/ir/irFacts.ts'
import type { Span } from '../../../../core/span.ts'
import { binary, literal, logical, makeIf, negated } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import type { Heap } from '../../lower/loweringParts.ts'
import { exprValue, type Held, type Leaves, REFUSED, type Storage, type Value } from '../../lower/value.ts'
import { elementRead } from '../madeArrays.ts'
import { itemAt, itemParts, leafOrItem, writeAt } from '../records.ts'
import { isObject, ownerOf } from '../stored.ts'
import { heapOf, placeBehind } from './heaps.ts'
import { noteElement, noteObject } from './notes.ts'

/** Returns the list with a number that does not change any more. */
export function keptHeld(l: Lowering, list: Held): Held {
  return l.isStable(list.number) ? list : { ...list, number: l.temporary(list.number, 'list') }
}

/** Returns the number that stands for what is absent. */
export function numberOfAbsent(value: null | undefined, span: Span): Expr {
  return literal(value === null ? -2 : -1, span)
}

/** Returns the list or object, kept; where it may be absent, emits what throws then. */
export function presentHeld(l: Lowering, given: Held, name: string, node: AnyNode): Held {
  const list = keptHeld(l, given)
  const { mayBeAbsent, ...there } = list
  if (mayBeAbsent !== true) return list
  const span = l.span(node)
  const fails = (absent: null | undefined): Stmt => {
    const message = literal(`Cannot read properties of ${absent} (reading '${name}')`, span)
    return { kind: 'Throw', error: 'TypeError', message, span }
  }
  const isNull = binary('===', list.number, literal(-2, span), span)
  const isAbsent = binary('<', list.number, literal(0, span), span)
  l.emit(...makeIf(isAbsent, [...makeIf(isNull, [fails(null)], [fails(undefined)], span)], [], span))
  return there
}

/** Lowers `a === b` of two lists or objects: they are the same where their numbers are. Undefined for values and operators that have none. */
export function comparedHeld(l: Lowering, operator: string, [a, b]: readonly (Value | undefined)[], span: Span): Expr | undefined {
  if (a === undefined || b === undefined || !/^[!=]==?$/.test(operator)) return undefined
  if (a.kind !== 'held' || b.kind !== 'held') {
    // Objects that are compared are told from copies: the next try has numbers for both.
    if (isObject(a) && isObject(b)) noteObject(l, b, noteObject(l, a))
    return undefined
  }
  if (l.held.isObject(a.of) !== l.held.isObject(b.of)) return undefined
  if (l.held.find(a.of) !== l.held.find(b.of)) l.held.join(a.of, b.of)
  const [one, other] = [keptHeld(l, a).number, keptHeld(l, b).number]
  const isEqual = operator.startsWith('=')
  const same = binary(isEqual ? '===' : '!==', one, other, span)
  if (operator.length === 3 || a.mayBeAbsent !== true || b.mayBeAbsent !== true) return same
  const areAbsent = [one, other].map((number) => binary('<', number, literal(0, span), span)) as [Expr, Expr] // two of two
  const isNone = logical('&&', ...areAbsent, span)
  return isEqual ? logical('||', same, isNone, span) : logical('&&', same, negated(isNone, span), span)
}

/** Returns whether a list is there. */
export function isThere({ mayBeAbsent, number }: Held, span: Span): Expr {
  return mayBeAbsent === true ? binary('>=', number, literal(0, span), span) : literal(true, span)
}

/** Returns the number of elements of a list that is kept. */
export function heldLength(l: Lowering, list: Held, node: AnyNode): Expr {
  const heap = heapOf(l, list.of, 'list', node)
  const length: Expr = { kind: 'Read', array: heap?.counts ?? '', subscripts: [list.number], span: l.span(node) }
  l.heldLengths.set(exprId(length), length)
  return length
}

/** Returns the element at an index below the length. Both do not change any more, but its place does. */
export function heldElement(l: Lowering, list: Held, index: Expr, node: AnyNode): Value {
  const heap = heapOf(l, list.of, 'list', node)
  return heap === undefined ? REFUSED : leafOrItem(l, itemAt(heap.elements, placeOf(l, heap, list, index)), l.span(node))
}

function placeOf(l: Lowering, heap: Heap, list: Held, index: Expr): Expr {
  const { span } = index
  const place = binary('+', { kind: 'Read', array: heap.firsts, subscripts: [list.number], span }, index, span)
  l.heldPlaces.add(place)
  return place
}

/** Returns the element for a subscript, which is checked. */
export function checkedHeld(l: Lowering, given: Held, index: Expr, node: AnyNode): Value {
  const list = presentHeld(l, given, l.span(node).text, node)
  const at = l.stabilized(index, 'at')
  checkIndex(l, list, at, node)
  return heldElement(l, list, at, node)
}

function checkIndex(l: Lowering, list: Held, at: Expr, node: AnyNode): void {
  if (l.frame.isLibrary === true) return
  const span = l.span(node)
  const isOutside = logical('||', binary('<', at, literal(0, span), span), binary('>=', at, heldLength(l, list, node), span), span)
  const message = literal(`A subscript of ${span.text} is not below the length. Ask for it, as list[k] ?? 0.`, span)
  l.emit(...makeIf(isOutside, [{ kind: 'Throw', error: 'RangeError', message, isLimit: true, span }], [], span))
}

/** Emits what gives a place another element, that behind the last one included, unless it is known to be there; false where it is refused. */
export function storedInHeld(
  l: Lowering,
  list: Held,
  at: Expr,
  value: Value,
  { node, isThere = false }: { readonly node: AnyNode; readonly isThere?: boolean },
): boolean {
  const heap = heapOf(l, list.of, 'list', node)
  if (heap === undefined) return false
  l.held.noteMoved(list.of)
  noteElement(l, list.of, value)
  const place = (): Expr => {
    if (isThere) return placeOf(l, heap, list, at)
    const isNext = binary('===', at, heldLength(l, list, node), l.span(node))
    const grows = l.collect(() => void placeBehind(l, heap, list.number, node))
    if (l.frame.isLibrary !== true) l.emit(...makeIf(isNext, grows, [], l.span(node)))
    checkIndex(l, list, at, node)
    return placeOf(l, heap, list, at)
  }
  return writeAt(l, heap.elements, value, place, node)
}

/** Emits what puts a value behind the last element; false where it is refused. */
export function pushedHeld(l: Lowering, list: Held, value: Value, node: AnyNode): boolean {
  const heap = heapOf(l, list.of, 'list', node)
  if (heap === undefined) return false
  noteElement(l, list.of, value)
  forgetLengths(l)
  let isPut = true
  const put = writeAt(
    l,
    heap.elements,
    value,
    () => {
      const place = placeBehind(l, heap, list.number, node)
      if (place === undefined) isPut = false
      return place ?? literal(0, l.span(node))
    },
    node,
  )
  return put && isPut
}

/** Emits what leaves a list without elements. */
export function emptiedHeld(l: Lowering, list: Held, node: AnyNode): void {
  const [span, heap] = [l.span(node), heapOf(l, list.of, 'list', node)]
  if (heap === undefined) return
  l.held.noteMoved(list.of)
  forgetLengths(l)
  l.emit({ kind: 'Write', array: heap.counts, subscripts: [list.number], value: literal(0, span), span })
}

/** Forgets which lists are known to have elements: another name of one may be that of the list which changes. */
function forgetLengths(l: Lowering): void {
  for (const id of l.heldLengths.keys()) l.holdingSome.delete(id)
}

/** Lowers `pop` and `shift`: the element, or what stands for one that may be absent. */
export function takenHeld(l: Lowering, list: Held, name: 'pop' | 'shift', node: CallExpression): Value {
  const [span, heap] = [l.span(node), heapOf(l, list.of, 'list', node)]
  if (heap === undefined) return REFUSED
  l.held.noteMoved(list.of)
  const length = heldLength(l, list, node)
  const isThere = l.holdingSome.get(exprId(length)) === (l.loops.at(-1) ?? 'no loop')
  forgetLengths(l)
  const count = l.temporary(length, 'count')
  const one = literal(1, span)
  const write = (array: string, value: Expr): Stmt => ({ kind: 'Write', array, subscripts: [list.number], value, span })
  const read = (array: string): Expr => ({ kind: 'Read', array, subscripts: [list.number], span })
  const less = write(heap.counts, binary('-', count, one, span))
  const after =
    name === 'pop'
      ? [less]
      : [less, write(heap.firsts, binary('+', read(heap.firsts), one, span)), write(heap.rooms, binary('-', read(heap.rooms), one, span))]
  const index = name === 'pop' ? binary('-', count, one, span) : literal(0, span)
  const item = itemAt(heap.elements, placeOf(l, heap, list, index))
  if (isThere) {
    const value = l.stabilizedValue(item.parts.kind === 'leaf' ? leafOrItem(l, item, span) : itemParts(l, item, span))
    l.emit(...after)
    return value.kind === 'tuple' || value.kind === 'record' ? { ...value, isNamed: false } : value
  }
  const test = binary('>', count, literal(0, span), span)
  const { parts } = item
  if (parts.kind === 'leaf') {
    const taken = l.newName('taken')
    const nothing = parts.list === undefined ? {} : { init: literal(-1, span) }
    l.emit({ kind: 'Let', local: taken, ...nothing, span })
    const value = elementRead(l, heap.elements.arrays[parts.number] ?? '', [item.place], span)
    l.emit(...makeIf(test, [{ kind: 'Assign', local: taken, value, span }, ...after], [], span))
    const local: Expr = { kind: 'Local', name: taken, span }
    if (parts.list === undefined) {
      l.lookedUp.add(taken)
      return exprValue(local)
    }
    l.stableLocals.add(taken)
    return { kind: 'held', of: parts.list, number: local, mayBeAbsent: true }
  }
  return takenObject(l, heap, item.place, { test, after }, node)
}

function takenObject(
  l: Lowering,
  heap: Heap,
  place: Expr,
  { test, after }: { readonly test: Expr; readonly after: readonly Stmt[] },
  node: CallExpression,
): Value {
  const span = l.span(node)
  heap.elements.hasCopies = true
  const declarations: Stmt[] = []
  const assigned: Stmt[] = []
  const storageOf = (leaves: Leaves): Storage => {
    if (leaves.kind === 'items') return { kind: 'items', items: leaves.items.map(storageOf) }
    if (leaves.kind === 'fields') {
      const fields = leaves.fields.map((field) => ({ name: field.name, storage: storageOf(field.leaves) }))
      return { kind: 'fields', fields, ...(leaves.prototype === undefined ? {} : { prototype: leaves.prototype }) }
    }
    const [array, local] = [heap.elements.arrays[leaves.number] ?? '', l.newName('taken')]
    declarations.push({ kind: 'Let', local, init: literal(l.booleans.has(array) ? false : 0, span), span })
    assigned.push({ kind: 'Assign', local, value: elementRead(l, array, [place], span), span })
    if (leaves.list === undefined) return { kind: 'scalar', local }
    l.stableLocals.add(local)
    return { kind: 'fixed', value: { kind: 'held', of: leaves.list, number: { kind: 'Local', name: local, span } } }
  }
  const of = storageOf(heap.elements.parts)
  const there = l.newName('taken_there')
  declarations.push({ kind: 'Let', local: there, init: literal(false, span), span })
  assigned.push({ kind: 'Assign', local: there, value: literal(true, span), span })
  l.emit(...declarations, ...makeIf(test, [...assigned, ...after], [], span))
  const flags = { isResult: true, elementOf: heap.elements }
  const owner = { ...ownerOf(l, heap.name, node, { isVariable: true, site: undefined }), ...flags }
  return { kind: 'stored', storage: { kind: 'optional', there, absent: undefined, of }, owner, isPart: false }
}

/** Whether the elements are scalars; undefined where the list is refused. */
export function holdsScalars(l: Lowering, list: Held, node: AnyNode): boolean | undefined {
  const parts = heapOf(l, list.of, 'list', node)?.elements.parts
  return parts && parts.kind === 'leaf' && parts.list === undefined
}
