/** Which lists places hold (`heldLists.ts`): what a try notes of the literals and calls that make them. */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../../lower/lowering.ts'
import type { Shape } from '../../lower/loweringParts.ts'
import type { Item, Records, Site, Value } from '../../lower/value.ts'
import { absentLiteral, isOptional, shapeOf } from '../optionals.ts'
import { isObject, partsOf, takenApart } from '../stored.ts'
import { noteElements } from './aliases.ts'
import { type Maker, makerOf } from './kinds.ts'

/** Returns what made a list, where it is one that may be held; undefined for other values. */
export function makerOfValue(l: Lowering, value: Value): Maker | undefined {
  if (value.kind === 'tuple' || value.kind === 'stored') {
    const isList = value.kind === 'tuple' || value.storage.kind === 'items'
    return isList && value.site !== undefined ? makerAt(value.site) : undefined
  }
  if (value.kind === 'records') return makerAt(value.list.site)
  const row = l.makerOfRow.get(value)
  if (row !== undefined) return row
  return value.kind === 'view' && value.prefix.length === 0 && l.lists.has(value.array) ? l.makers.get(value.array) : undefined
}

/** Whether a value is a list, other than one of a few parts that are written out. */
export function isList(l: Lowering, value: Value): boolean {
  if (value.kind === 'held') return !l.held.isObject(value.of)
  if (value.kind === 'records') return true
  if (value.kind === 'view') return value.prefix.length === 0 && l.lists.has(value.array)
  return value.kind === 'tuple' && value.items.length === 0
}

/** Whether a value is a list or an object. */
export function isListOrObject(l: Lowering, value: Value): boolean {
  return value.kind === 'held' || isList(l, value) || isObject(value)
}

/** Whether a value is such a list or an object that is held, or an object with one in it. */
export function holdsList(l: Lowering, value: Value): boolean {
  if (value.kind === 'held' || isList(l, value)) return true
  if (value.kind === 'record') return value.fields.some((field) => holdsList(l, field.value))
  if (value.kind === 'tuple') return value.items.some((item) => holdsList(l, item))
  return value.kind === 'stored' && !value.owner.isVariable && holdsList(l, partsOf(value, value.owner.span))
}

/** Notes that a list is given lists, or objects with lists in them: the next try holds both. */
export function noteHeld(l: Lowering, maker: Maker | undefined, given: Value): void {
  if (maker === undefined) return
  noteElement(l, l.held.note(maker), given)
}

/** Notes that a list has a name, a place or a variable: from then on a copy could be told from it. */
export function withName(l: Lowering, value: Value): Value {
  if (value.kind === 'view') l.named.add(value.array)
  if (value.kind !== 'tableRow' || value.isCopy !== true) return value
  const { isCopy: _, ...row } = value
  return row
}

/** Notes that a list which a call makes grows, as those do that places hold. */
export function noteGrowing(l: Lowering, list: Value): void {
  const maker = makerOfValue(l, list)
  if (maker !== undefined) l.held.note(maker)
}

/** Notes that two lists are in one place, as those of which one is chosen: the next try holds both. False where what makes them is not known. */
export function noteOneKind(l: Lowering, a: Value, b: Value): boolean {
  const [one, other] = [makerOfValue(l, a), makerOfValue(l, b)]
  if (one === undefined || other === undefined) return false
  l.held.note(other, l.held.note(one))
  return true
}

/** Notes that a variable is given lists of more than one length, which are rows of one bank no more. */
export function noteOtherLength(l: Lowering, variable: Value, given: Value): void {
  const [one, other] = [variable, given].map((list) => l.makerOfRow.get(list) ?? (isGrown(l, list) ? makerOfValue(l, list) : undefined))
  if (one !== undefined && other !== undefined) l.held.note(other, l.held.note(one))
}

function isGrown(l: Lowering, list: Value): boolean {
  return list.kind === 'view' && l.sizes.has(list.array)
}

/** Notes that a call makes a list of lists. */
export function noteRows(l: Lowering, node: AnyNode, row: Value): void {
  const kind = l.held.note(makerOf(l, node))
  if (row.kind === 'held') {
    noteElement(l, kind, row)
    return
  }
  const maker = makerOfValue(l, row)
  l.held.noteElement(kind, { kind: 'list', of: maker === undefined ? l.held.fresh() : l.held.note(maker) })
}

/** Notes what lists of a kind are given, where nothing is known of it yet, or it may be absent. */
export function noteElement(l: Lowering, kind: number, given: Value): void {
  const known = l.held.elementOf(kind)
  if (known?.kind === 'list' && known.mayBeAbsent !== true && mayBeAbsent(given)) l.held.noteElement(kind, { ...known, mayBeAbsent: true })
  const isOther = known !== undefined && known.kind !== 'list' && given.kind === 'held'
  const shape = known === undefined || isOther ? shapeOfHeld(l, takenApart(l, given)) : undefined
  if (shape !== undefined) l.held.noteElement(kind, shape)
}

/** Whether a list or an object that places hold may be absent, or is. */
function mayBeAbsent(value: Value): boolean {
  return absentLiteral(value) !== undefined || (value.kind === 'held' && value.mayBeAbsent === true)
}

/** Notes that the elements of a list, which seemed to be arrays of a few parts, are lists themselves. */
export function noteListElements(l: Lowering, { parts, site, held }: Records): void {
  if (parts.kind !== 'items') return
  if (held !== undefined) l.held.noteLists(held)
  else l.held.noteElement(l.held.note(makerAt(site)), { kind: 'list', of: l.held.fresh() })
}

export function noteHeldAt(l: Lowering, site: Site, given: Value): void {
  noteHeld(l, makerAt(site), given)
}

/** Notes that an object is held by other places, too: the next try makes it by number. */
export function noteObject(l: Lowering, value: Value, as?: number): number | undefined {
  if (value.kind === 'held') return value.of
  const elementOf =
    value.kind === 'record' ? value.elementOf : value.kind === 'item' && value.parts === value.list.parts ? value.list : undefined
  if (elementOf !== undefined) return noteElements(l, elementOf, as)
  const site = value.kind === 'record' || (value.kind === 'stored' && value.storage.kind === 'fields') ? value.site : undefined
  return site && l.held.noteObject(makerAt(site), as)
}

/** Notes what the fields of objects of a kind are given. */
export function noteParts(l: Lowering, kind: number, { fields, prototype }: Value & { readonly kind: 'record' }): void {
  const shapes = fields.map(({ name, value }) => ({ name, shape: partShape(l, value, l.held.elementOf(kind) !== undefined) }))
  l.held.noteElement(kind, { kind: 'fields', fields: shapes, ...(prototype === undefined ? {} : { prototype }) })
}

/** Notes that a field of an object, or of objects of a kind, is given something that places hold, or nothing. */
export function notePart(l: Lowering, kind: number, name: string, value: Value): void {
  l.held.noteElement(kind, { kind: 'fields', fields: [{ name, shape: partShape(l, value, true) }] })
}

/** Notes that an array of a few parts, which is a field of an object that places hold, is a list. */
export function noteListPart(l: Lowering, { list, parts }: Item): void {
  const fields = list.parts.kind === 'fields' && list.held !== undefined && l.held.isObject(list.held) ? list.parts.fields : []
  const field = parts.kind === 'items' ? fields.find(({ leaves }) => leaves === parts) : undefined
  if (field !== undefined && list.held !== undefined) l.held.noteListPart(list.held, field.name)
}

/** Returns the shape of a field; what is not known yet counts as absent, which a later try sees to be something. */
function partShape(l: Lowering, value: Value, isKnown: boolean): Shape {
  if (!isKnown && value.kind === 'tuple' && value.site !== undefined) return { kind: 'list', of: l.held.note(makerAt(value.site)) }
  if (value.kind === 'held' || (!isKnown && !isOptional(value))) {
    const shape = shapeOfHeld(l, value)
    if (shape !== undefined) return shape
  }
  return value.kind === 'expr' ? { kind: 'scalar', of: value.expr } : { kind: 'scalar', init: undefined }
}

export function makerAt({ unit, start }: Site): Maker {
  return { of: unit.f, place: start }
}

function shapeOfHeld(l: Lowering, value: Value): Shape | undefined {
  if (value.kind === 'held')
    return value.mayBeAbsent === true ? { kind: 'list', of: value.of, mayBeAbsent: true } : { kind: 'list', of: value.of }
  if (isList(l, value)) {
    const maker = makerOfValue(l, value)
    return { kind: 'list', of: maker === undefined ? l.held.fresh() : l.held.note(maker) }
  }
  if (value.kind === 'record') {
    const fields = value.fields.map((field) => ({ name: field.name, shape: shapeOfHeld(l, field.value) }))
    if (fields.some(({ shape }) => shape === undefined)) return undefined
    const { prototype } = value
    return { kind: 'fields', fields: fields as { name: string; shape: Shape }[], ...(prototype === undefined ? {} : { prototype }) } // none is undefined
  }
  if (value.kind === 'tuple') {
    const items = value.items.map((item) => shapeOfHeld(l, item))
    return items.includes(undefined) ? undefined : { kind: 'items', items: items as Shape[] } // none is undefined
  }
  if (value.kind === 'stored' && !value.owner.isVariable) return shapeOfHeld(l, partsOf(value, value.owner.span))
  return shapeOf(value)
}
