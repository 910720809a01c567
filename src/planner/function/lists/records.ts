/**
 * Lists of objects or arrays that a loop's body makes: an array for each of their parts, all of one length (structure of arrays).
 *
 *     const queue = [[r, c]]                            queue_0, queue_1: arrays; queue_length: local
 *     queue.push([a, b])                       -->      Write queue_0 [queue_length] = a; Write queue_1 [queue_length] = b; …
 *     for (const p of points) p.x += p.v                Write points_x [k] = Read points_x [k] + Read points_v [k]
 *
 * An element is its place, so that a change is seen under every name. That holds while places keep their elements: in a list from which
 * elements are taken, or whose places are given others, what a variable has of an element is a copy of its parts, which nobody can tell
 * from the element as long as no part of an element is assigned. A list that has both is refused by name, and so is one with parts that are
 * assigned and elements that have names outside of it.
 */
import type { AnyNode, CallExpression } from 'acorn'
import type { Expr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { plainName } from '../captures/privateNames.ts'
import { binary, literal, makeIf } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Shape } from '../lower/loweringParts.ts'
import { exprValue, type Item, type Leaves, REFUSED, type Records, type Site, type Storage, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { emptyLists, makeRoom, setEnd, takenFrom } from './grownLists.ts'
import { noteElements } from './held/aliases.ts'
import { holdsList, isList, makerAt, noteHeldAt, noteListElements, noteObject } from './held/notes.ts'
import { checkedIndex, checkNumber, elementRead, lengthOfList, placeIn } from './madeArrays.ts'
import { absentLiteral, shapeOf } from './optionals.ts'
import { holdsNamed, noteCopy, ownerOf, takenApart } from './stored.ts'

/** Notes that a list is given objects or arrays; the next try makes a list of these. */
export function noteRecord(l: Lowering, site: Site | undefined, given: Value): void {
  if (site !== undefined && holdsList(l, given)) {
    noteHeldAt(l, site, given)
    return
  }
  const hasNothing = given.kind === 'record' && given.fields.some(({ value }) => absentLiteral(value) !== undefined)
  if (site !== undefined && hasNothing) {
    l.held.noteObjects(l.held.note(makerAt(site)), noteObject(l, given)) // a field for an object, as in a list or a tree
    return
  }
  const shape = site === undefined ? undefined : shapeOf(takenApart(l, given))
  if (site !== undefined && shape !== undefined && shape.kind !== 'scalar') l.foundRecords.push({ site, shape })
}

/** Makes an empty list of objects of this shape, with room for so many; undefined where it is refused. */
export function emptyRecords(
  l: Lowering,
  { name, node, site }: { readonly name: string; readonly node: AnyNode; readonly site: Site },
  shape: Shape,
  room: number,
): (Value & { readonly kind: 'records' }) | undefined {
  const { parts, leaves, hasEmpty } = leavesOf(shape, name)
  if (hasEmpty) l.refuse('lists-of-lists', node, name) // no array would have its length, and no place what is put into an element
  const arrays = hasEmpty ? undefined : emptyLists(l, { name, node, leaves }, room, { isShifted: l.isAmong(l.shifted, site) })
  if (arrays === undefined) return undefined
  const flags = { hasShared: false, hasCopies: false, isChanged: false }
  return { kind: 'records', list: { name, site, arrays, parts, isMoved: l.itemsMove(site), ...flags } }
}

/** Returns the parts of elements of a shape, and what their arrays hold; `hasEmpty`: whether an object or array in them has no part. */
export function leavesOf(
  shape: Shape,
  name: string,
): {
  readonly parts: Leaves
  readonly leaves: readonly { readonly name: string; readonly isBoolean: boolean; readonly isList: boolean }[]
  readonly hasEmpty: boolean
} {
  const leaves: { readonly name: string; readonly isBoolean: boolean; readonly isList: boolean }[] = []
  let hasEmpty = false
  const partsOf = (one: Shape, at: string): Leaves => {
    if ((one.kind === 'items' ? one.items : one.kind === 'fields' ? one.fields : undefined)?.length === 0) hasEmpty = true
    if (one.kind === 'items') return { kind: 'items', items: one.items.map((item, i) => partsOf(item, `${at}_${i}`)) }
    if (one.kind === 'fields') {
      const fields = one.fields.map((field) => ({ name: field.name, leaves: partsOf(field.shape, `${at}_${plainName(field.name)}`) }))
      return { kind: 'fields', fields, ...(one.prototype === undefined ? {} : { prototype: one.prototype }) }
    }
    leaves.push({ name: at, isBoolean: one.kind === 'scalar' && one.init === false, isList: one.kind === 'list' })
    const absent = one.kind === 'list' && one.mayBeAbsent === true ? { mayBeAbsent: true as const } : {}
    return { kind: 'leaf', number: leaves.length - 1, ...(one.kind === 'list' ? { list: one.of, ...absent } : {}) }
  }
  const parts = partsOf(shape, name)
  return { parts, leaves, hasEmpty }
}

/** Returns the element of a list at a place that it has. */
export function itemAt(list: Records, place: Expr): Item {
  return { kind: 'item', list, place, parts: list.parts }
}

/** Returns the element for a subscript, which is checked. */
export function checkedItem(l: Lowering, list: Records, index: Expr, node: AnyNode): Item {
  return itemAt(list, checkedIndex(l, list.arrays[0] ?? '', index, node))
}

export function recordsLength(l: Lowering, list: Records, node: AnyNode): Expr {
  return lengthOfList(l, list.arrays[0] ?? '', node)
}

/** Returns the value of a part of an element: a scalar, or again an object; undefined where there is none of this name. */
export function partOfItem(l: Lowering, item: Item, name: string, span: Span): Value | undefined {
  const { parts } = item
  const leaves =
    parts.kind === 'fields'
      ? parts.fields.find((field) => field.name === name)?.leaves
      : parts.kind === 'items'
        ? parts.items[Number(name)]
        : undefined
  return leaves && leafOrItem(l, { ...item, parts: leaves }, span)
}

/** Returns an element, or a part of one, that is a scalar or a list by what its array holds. */
export function leafOrItem(l: Lowering, item: Item, span: Span): Value {
  const { parts, list, place } = item
  if (parts.kind !== 'leaf') return item
  const read = elementRead(l, list.arrays[parts.number] ?? '', [place], span)
  if (parts.list === undefined) return exprValue(read)
  return { kind: 'held', of: parts.list, number: read, ...(parts.mayBeAbsent === true ? { mayBeAbsent: true } : {}) }
}

/** Returns an element as a literal of its parts: a copy, which later changes would miss. */
export function itemParts(l: Lowering, item: Item, span: Span): Value {
  item.list.hasCopies = true
  checkRecords(l, item.list, span)
  const parts = partsIn(l, item, span)
  const isWhole = (parts.kind === 'tuple' || parts.kind === 'record') && item.parts === item.list.parts
  return isWhole ? { ...parts, elementOf: item.list } : parts
}

function partsIn(l: Lowering, item: Item, span: Span): Value {
  const { parts } = item
  const inner = (leaves: Leaves): Value => {
    const value = leafOrItem(l, { ...item, parts: leaves }, span)
    return value.kind === 'item' ? partsIn(l, value, span) : value
  }
  if (parts.kind === 'items') return { kind: 'tuple', items: parts.items.map(inner), isNamed: true }
  if (parts.kind !== 'fields') return leafOrItem(l, item, span)
  const fields = parts.fields.map((field) => ({ name: field.name, value: inner(field.leaves) }))
  return { kind: 'record', fields, isNamed: true, ...(parts.prototype === undefined ? {} : { prototype: parts.prototype }) }
}

/** Returns the parts of an element that are read and forgotten: they are no copy as long as none of them is an object. */
export function partsNow(l: Lowering, item: Item, span: Span): Value {
  const { parts } = item
  const inner = parts.kind === 'fields' ? parts.fields.map(({ leaves }) => leaves) : parts.kind === 'items' ? parts.items : []
  return inner.every(({ kind }) => kind === 'leaf') ? partsIn(l, item, span) : itemParts(l, item, span)
}

/** Returns a value that goes on standing for the element: its place, or a copy where places do not keep their elements. */
export function keptItem(l: Lowering, item: Item): Value {
  if (item.list.isMoved) return l.stabilizedValue(itemParts(l, item, item.place.span))
  return l.isStable(item.place) ? item : { ...item, place: l.temporary(item.place, 'place') }
}

/** Returns the array and the place of a part that is assigned; undefined where it is no scalar, or refused. */
export function changedPart(
  l: Lowering,
  item: Item,
  name: string,
  node: AnyNode,
): { readonly array: string; readonly place: Expr } | undefined {
  const span = l.span(node)
  const { list, parts } = item
  const leaves =
    parts.kind === 'fields'
      ? parts.fields.find((field) => field.name === name)?.leaves
      : parts.kind === 'items'
        ? parts.items[Number(name)]
        : undefined
  if (leaves === undefined) l.refuse('adds-part', node, span.text)
  else if (leaves.kind !== 'leaf' || leaves.list !== undefined) l.refuse('reassigns-value', node, span.text)
  if (leaves?.kind !== 'leaf' || leaves.list !== undefined) return undefined
  list.isChanged = true
  checkRecords(l, list, span)
  return { array: list.arrays[leaves.number] ?? '', place: l.stabilized(item.place, 'place') }
}

/** Refuses a list with elements that are changed and that others may have copies of. */
function checkRecords(l: Lowering, list: Records, span: Span): void {
  if (!list.isChanged || !(list.hasCopies || list.hasShared)) return
  noteListElements(l, list)
  noteElements(l, list)
  l.refuseWith(refusalOf('aliased-element', span, list.name))
}

/** Whether an object was made for the list, so that nothing else has it. */
function isMadeHere(value: Value): boolean {
  if (value.kind !== 'stored') return !holdsNamed(value)
  const { owner, storage, isPart } = value
  return !isPart && !owner.isNamed && !owner.isShared && (!owner.isVariable || owner.isResult) && !holdsObject(storage)
}

function holdsObject(storage: Storage): boolean {
  if (storage.kind === 'items') return storage.items.some(holdsObject)
  if (storage.kind === 'fields') return storage.fields.some((field) => holdsObject(field.storage))
  return storage.kind !== 'scalar'
}

/** Emits the writes of an object's parts to a place; false where it has other parts, or is refused. */
export function writeAt(l: Lowering, list: Records, given: Value, place: () => Expr, node: AnyNode): boolean {
  const span = l.span(node)
  if (given.kind === 'stored') noteCopy(l, given, span)
  if (!isMadeHere(given)) {
    list.hasShared = true
    checkRecords(l, list, span)
  }
  const values: Leaf[] = []
  const isHeld = list.parts.kind === 'leaf' && list.parts.list !== undefined
  if (!matches(l, list, list.parts, isHeld ? given : takenApart(l, given), node, values)) {
    if (given.kind === 'tuple' || isList(l, given) || (given.kind === 'stored' && given.storage.kind === 'items')) noteListElements(l, list)
    if (/^(record|item|held)$/.test(given.kind) || absentLiteral(given) !== undefined) noteElements(l, list)
    l.refuse('records-differ', node, list.name)
    return false
  }
  const kept = values.map((one) => ({ ...one, value: l.stabilized(one.value) }))
  for (const { array, value, isNumber } of kept) if (isNumber !== true) checkNumber(l, array, value, node, { always: true })
  const at = place()
  for (const { array, value } of kept) l.emit({ kind: 'Write', array, subscripts: [at], value, span })
  return true
}

/** What an array of a list is given at a place; `isNumber`: the number of a list. */
interface Leaf {
  readonly array: string
  readonly value: Expr
  readonly isNumber?: true
}

function matches(l: Lowering, list: Records, leaves: Leaves, given: Value, node: AnyNode, values: Leaf[]): boolean {
  const span = l.span(node)
  if (leaves.kind === 'leaf' && leaves.list !== undefined) {
    const number = l.verbs.heldNumber(l, leaves.list, given, { node, mayBeAbsent: leaves.mayBeAbsent === true })
    if (number !== undefined) values.push({ array: list.arrays[leaves.number] ?? '', value: number, isNumber: true })
    return number !== undefined
  }
  const value = given.kind === 'item' ? partsIn(l, given, span) : given.kind === 'stored' ? storedParts(given.storage, span) : given
  if (leaves.kind === 'leaf') {
    if (value.kind !== 'expr') return false
    values.push({ array: list.arrays[leaves.number] ?? '', value: value.expr })
    return true
  }
  if (leaves.kind === 'items')
    return (
      value.kind === 'tuple' &&
      value.items.length === leaves.items.length &&
      leaves.items.every((item, i) => matches(l, list, item, value.items[i] ?? REFUSED, node, values))
    )
  return (
    value.kind === 'record' &&
    value.prototype === leaves.prototype &&
    value.fields.length === leaves.fields.length &&
    leaves.fields.every((field, i) => {
      const one = value.fields[i]
      return one?.name === field.name && matches(l, list, field.leaves, one.value, node, values)
    })
  )
}

/** Returns what a storage holds now, as a literal; refused where a part is no scalar. */
function storedParts(storage: Storage, span: Span): Value {
  switch (storage.kind) {
    case 'scalar':
      return exprValue({ kind: 'Local', name: storage.local, span })
    case 'items':
      return { kind: 'tuple', items: storage.items.map((item) => storedParts(item, span)) }
    case 'fields': {
      const fields = storage.fields.map((field) => ({ name: field.name, value: storedParts(field.storage, span) }))
      return { kind: 'record', fields, ...(storage.prototype === undefined ? {} : { prototype: storage.prototype }) }
    }
    case 'fixed':
      return storage.value
    case 'optional':
      return REFUSED
  }
}

/** Emits what puts an object behind the last element; false where it is refused. */
export function pushedRecord(l: Lowering, list: Records, given: Value, node: AnyNode): boolean {
  const [first = ''] = list.arrays
  const isPut = writeAt(l, list, given, () => makeRoom(l, first, list.arrays, node), node)
  if (isPut) setEnd(l, first, 1, node)
  return isPut
}

/** Emits what gives a place another object, that behind the last one included; false where it is refused. */
export function replacedRecord(l: Lowering, list: Records, index: Expr, given: Value, node: AnyNode): boolean {
  l.foundItemsMoved.push(list.site)
  const turns = l.turnsInside(list.site.loops ?? 0)
  if (l.frame.isLibrary !== true) l.foundGrowing.push({ site: list.site, count: turns ?? Number.POSITIVE_INFINITY })
  const place = (): Expr => {
    const [first = '', span] = [list.arrays[0], l.span(node)]
    const isNext = binary('===', index, recordsLength(l, list, node), span)
    const grows = l.collect(() => {
      makeRoom(l, first, list.arrays, node)
      setEnd(l, first, 1, node)
    })
    if (l.frame.isLibrary !== true) l.emit(...makeIf(isNext, grows, [], span))
    return l.stabilized(checkedItem(l, list, index, node).place, 'place')
  }
  return writeAt(l, list, given, place, node)
}

/** Lowers `pop` and `shift`: the parts of the element, or what stands for an object that may be absent. */
export function takenRecord(l: Lowering, list: Records, name: 'pop' | 'shift', node: CallExpression): Value {
  const [span, [first = '']] = [l.span(node), list.arrays]
  l.foundItemsMoved.push(list.site)
  if (name === 'shift') l.foundShifted.push(list.site)
  const taken = takenFrom(l, first, name, node)
  if (taken === undefined) return l.refuse('local-array-grows', node, list.name)
  const parts = itemParts(l, itemAt(list, taken.place), span)
  if (taken.isThere) {
    l.emit(...taken.before)
    const value = l.stabilizedValue(parts)
    l.emit(...taken.after)
    return value.kind === 'tuple' || value.kind === 'record' ? { ...value, isNamed: false } : value
  }
  const declarations: Stmt[] = []
  const assigned: Stmt[] = []
  const storageOf = (leaves: Leaves, at: string): Storage => {
    if (leaves.kind === 'items') return { kind: 'items', items: leaves.items.map((item, i) => storageOf(item, `${at}_${i}`)) }
    if (leaves.kind === 'fields') {
      const fields = leaves.fields.map((field) => ({
        name: field.name,
        storage: storageOf(field.leaves, `${at}_${plainName(field.name)}`),
      }))
      return { kind: 'fields', fields, ...(leaves.prototype === undefined ? {} : { prototype: leaves.prototype }) }
    }
    const [array, local] = [list.arrays[leaves.number] ?? '', l.newName(at)]
    declarations.push({ kind: 'Let', local, init: literal(l.booleans.has(array) ? false : 0, span), span })
    assigned.push({ kind: 'Assign', local, value: elementRead(l, array, [taken.place], span), span })
    return { kind: 'scalar', local }
  }
  const of = storageOf(list.parts, 'taken')
  const there = l.newName('taken_there')
  declarations.push({ kind: 'Let', local: there, init: literal(false, span), span })
  assigned.push({ kind: 'Assign', local: there, value: literal(true, span), span })
  l.emit(...declarations, ...makeIf(taken.test, [...taken.before, ...assigned, ...taken.after], [], span))
  const owner = { ...ownerOf(l, list.name, node, { isVariable: true, site: undefined }), isResult: true, elementOf: list }
  return { kind: 'stored', storage: { kind: 'optional', there, absent: undefined, of }, owner, isPart: false }
}

/** Returns the place of an element with a whole number below the length. */
export function placeOfItem(l: Lowering, list: Records, index: Expr): Expr {
  return placeIn(l, list.arrays[0] ?? '', index)
}
