/** Lowers array and object literals to tuples and records, whose parts are values of their own. */
import type { AnyNode, ArrayExpression, Expression, SpreadElement } from 'acorn'
import { fieldOfRow } from '../captures/capturedLookups.ts'
import { isPrivate } from '../captures/privateNames.ts'
import { isPlain } from '../lower/build.ts'
import { inputElement } from '../lower/context.ts'
import type { Lowering } from '../lower/lowering.ts'
import { fieldsOfElementRow } from '../lower/tableRows.ts'
import { exprValue, REFUSED, type RecordField, type Records, type Site, type Value } from '../lower/value.ts'
import { elements, spreadValue } from './elements.ts'
import { emptyList, growingMethod } from './grownLists.ts'
import { heldLiteral } from './held/heldMade.ts'
import { heldObject } from './held/heldObjects.ts'
import { makerOf } from './held/kinds.ts'
import { isList, isListOrObject, noteHeld } from './held/notes.ts'
import { iterableOf } from './keyed/collections.ts'
import { dictionaryLiteral } from './keyed/dictionaries.ts'
import { listInTurn, spreadLiteral } from './listCopies.ts'
import { eachElement, elementsOf } from './listElements.ts'
import { noteListName } from './listVariables.ts'
import { listLiteral } from './localArrays.ts'
import { typeLike } from './madeArrays.ts'
import { listOfPlaces } from './places.ts'
import { emptyRecords, noteRecord, pushedRecord } from './records.ts'
import { isObject, storedLiteral } from './stored.ts'
import { gotten, setterName } from './variants/getters.ts'

export function arrayLiteral(l: Lowering, node: Expression & { type: 'ArrayExpression' }): Value {
  if (node.elements.includes(null)) return l.refuse('sparse-literal', node)
  const name = l.takeName('item')
  const nodes = node.elements as (Expression | SpreadElement)[] // null was refused
  const site = { unit: l.unit, start: node.start, loops: l.loops.length }
  const room = l.capacityOf(site)
  const held = heldLiteral(l, name, node)
  if (held !== undefined) return held
  if (l.recordsAt(site) !== undefined) return recordsLiteral(l, name, site, node)
  if (room !== undefined) return growingLiteral(l, name, room, node)
  const rows = l.isAmong(l.indexed, site) ? rowsOf(l, nodes) : undefined
  const list = rows && listLiteral(l, name, rows, node)
  if (list !== undefined) return list
  const spread = listOfPlaces(l, node, { name }) ?? spreadLiteral(l, name, node)
  if (spread !== undefined) return spread
  const items = elements(l, nodes)
  return items === undefined ? REFUSED : written(l, name, { kind: 'tuple', items }, node)
}

/** Lowers a literal of objects or arrays that are reached by a computed index, or that grows. */
function recordsLiteral(l: Lowering, name: string, site: Site, node: ArrayExpression): Value {
  const [nodes, shape] = [node.elements as (Expression | SpreadElement)[], l.recordsAt(site)] // holes were refused
  const spread = nodes.some((one) => one.type === 'SpreadElement')
  const items = spread ? [] : elements(l, nodes)
  if (items === undefined || shape === undefined) return REFUSED
  const of = emptyRecords(l, { name, node, site }, shape, spread ? Number.POSITIVE_INFINITY : (l.capacityOf(site) ?? 0) + items.length)
  if (of === undefined) return REFUSED
  const arePut = spread ? nodes.map((one) => putInTurn(l, of.list, one)) : items.map((item) => pushedRecord(l, of.list, item, node))
  return arePut.includes(false) ? REFUSED : of
}

/** Emits what puts an item of a literal, or all elements of a list that is spread in it, into a list of objects. */
function putInTurn(l: Lowering, list: Records, one: Expression | SpreadElement): boolean {
  if (one.type !== 'SpreadElement') return pushedRecord(l, list, l.verbs.value(l, one), one)
  const value = iterableOf(l, one.argument)
  if (value.kind === 'tuple') return value.items.every((item) => pushedRecord(l, list, item, one))
  const source = elementsOf(l, value, one)
  if (source === undefined) return l.refuse('spread', one).kind !== 'refused'
  let isDone = true
  eachElement(l, source, one, (item) => {
    isDone &&= pushedRecord(l, list, l.stabilizedValue(item), one)
  })
  return isDone
}

/** Lowers a literal that elements are pushed onto. */
function growingLiteral(l: Lowering, name: string, room: number, node: ArrayExpression): Value {
  const nodes = node.elements as (Expression | SpreadElement)[] // holes were refused
  const site = { unit: l.unit, start: node.start, loops: l.loops.length }
  if (nodes.some((one) => one.type === 'SpreadElement')) return listInTurn(l, name, node, site)
  const items = elements(l, nodes)
  if (items === undefined) return REFUSED
  const [first] = items
  if (first !== undefined && isListOrObject(l, first)) {
    noteRecord(l, site, first)
    return l.refuse('object-as-value', node)
  }
  const empty = l.isAmong(l.truths, site) ? ({ dtype: 'u8', isBoolean: true } as const) : ({ dtype: 'f64' } as const)
  const type = first?.kind === 'expr' ? typeLike(first.expr) : empty
  const list = emptyList(l, { name, node, isList: true, ...type }, room + items.length, { isShifted: l.isAmong(l.shifted, site) })
  if (list === undefined) return REFUSED
  l.madeIn.set(list.array, site)
  return growingMethod(l, list, 'push', items, node)?.kind === 'refused' ? REFUSED : list
}

/** Returns the rows of a list in memory, which lie in it and not in arrays of their own; undefined where an item is no row. */
function rowsOf(l: Lowering, nodes: readonly (Expression | SpreadElement)[]): readonly Value[] | undefined {
  if (!nodes.every((one) => one.type === 'ArrayExpression' && !one.elements.includes(null))) return undefined
  const rows = nodes.map((one) => () => {
    const items = elements(l, (one as ArrayExpression).elements as (Expression | SpreadElement)[]) // as looked at above
    return items === undefined ? REFUSED : ({ kind: 'tuple', items } as const)
  })
  return l.inOrder(rows)
}

/** Returns a literal as its parts, or as locals for them where they are assigned later. */
export function written(l: Lowering, name: string, value: Value & { kind: 'tuple' | 'record' }, node: AnyNode): Value {
  for (const part of value.kind === 'tuple' ? value.items : value.fields.map((field) => field.value)) noteListName(l, part)
  const site = { unit: l.unit, start: node.type === 'CallExpression' ? -node.end : node.start, loops: l.loops.length }
  if (value.kind === 'record') l.objectSites.add(site)
  const named = value.kind === 'record' ? dictionaryLiteral(l, { name, fields: value.fields, site }, node) : undefined
  if (named !== undefined) return named
  const held = value.kind === 'record' ? heldObject(l, name, value, site, node) : undefined
  if (held !== undefined) return held
  const items = value.kind === 'tuple' && l.isAmong(l.indexed, site) ? value.items : []
  const grown = items.find((item) => isHeldOrGrows(l, item)) ?? (node.type === 'CallExpression' ? longerList(l, items) : undefined)
  if (grown !== undefined) {
    noteHeld(l, makerOf(l, node), grown)
    return l.refuse('lists-of-lists', node, name)
  }
  const list = value.kind === 'tuple' && l.isAmong(l.indexed, site) ? listLiteral(l, name, value.items, node) : undefined
  if (list !== undefined) return list
  const [first] = value.kind === 'tuple' && l.isAmong(l.indexed, site) && l.context.kind === 'loop' ? value.items : []
  if (first !== undefined && isObject(first)) noteRecord(l, site, first)
  return l.isChanging(site) ? storedLiteral(l, name, { ...value, site }, node) : { ...value, site }
}

/** Returns a list of several that has another length than the first; undefined for lists of one length, and for other values. */
function longerList(l: Lowering, items: readonly Value[]): Value | undefined {
  const lengths = items.map((item) => (item.kind === 'tuple' ? item.items.length : isList(l, item) ? plainLength(l, item) : undefined))
  return lengths.includes(undefined) ? undefined : items.find((item, i) => lengths[i] !== lengths[0] && item.kind === 'view')
}

function plainLength(l: Lowering, list: Value): number | undefined {
  return list.kind === 'view' ? l.locals.get(list.array)?.at(-1) : undefined
}

function isHeldOrGrows(l: Lowering, value: Value): boolean {
  return value.kind === 'held' || (value.kind === 'view' && l.sizes.has(value.array))
}

export function objectLiteral(l: Lowering, node: Expression & { type: 'ObjectExpression' }): Value {
  const ownName = l.takeName('object')
  const names: (string | undefined)[] = []
  const work: (() => Value)[] = []
  for (const property of node.properties) {
    if (property.type === 'SpreadElement') {
      names.push(undefined)
      work.push(() => spreadValue(l, property))
      continue
    }
    const name = literalName(l, property)
    if (name === undefined) return l.refuse('computed-name', property)
    if (isRisky(name)) return l.refuse('field-order', property, name)
    const isLeftOut = property.kind === 'set' && !isOnlyAccessor(l, node, name)
    if (isLeftOut || (property.kind !== 'init' && l.context.kind === 'row')) return l.refuse('literal-accessor', property, name)
    names.push(property.kind === 'set' ? setterName(name) : name)
    const isGetter = property.kind === 'get'
    work.push(() => (isGetter ? getter(l.verbs.value(l, property.value)) : l.verbs.value(l, property.value)))
  }
  const values = l.inOrder(work)
  const fields = joinedFields(l, names, values, node)
  if (fields === undefined) return REFUSED
  if (!mayFail({ kind: 'tuple', items: fields.overwritten })) return written(l, ownName, { kind: 'record', fields: fields.joined }, node)
  const kept = values.map((value) => l.stabilizedValue(value))
  return written(l, ownName, { kind: 'record', fields: joinedFields(l, names, kept, node)?.joined ?? [] }, node)
}

/** Whether a literal has no field and no spread that may have the name of a setter, which would take its place. */
function isOnlyAccessor(l: Lowering, { properties }: Expression & { type: 'ObjectExpression' }, name: string): boolean {
  return properties.every((one) => one.type === 'Property' && (one.kind !== 'init' || (!one.computed && literalName(l, one) !== name)))
}

function getter(value: Value): Value {
  return value.kind === 'closure' ? { ...value, isGetter: true } : value
}

function joinedFields(l: Lowering, names: readonly (string | undefined)[], values: readonly Value[], node: AnyNode) {
  const fields = new Map<string, Value>()
  const overwritten: Value[] = []
  for (const [i, value] of values.entries()) {
    const name = names[i]
    if (value.kind === 'refused') return undefined
    const given = name === undefined ? fieldsOfValue(l, value, node) : [{ name, value }]
    if (given === undefined) return undefined
    for (const field of given) {
      const old = fields.get(field.name)
      if (old !== undefined) overwritten.push(old)
      fields.set(field.name, field.value)
    }
  }
  return { joined: [...fields].map(([name, value]) => ({ name, value })), overwritten }
}

function literalName(l: Lowering, property: { readonly key: Expression; readonly computed: boolean }): string | undefined {
  const { key } = property
  if (!property.computed) return key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : undefined
  const value = l.verbs.value(l, key)
  return value.kind === 'expr' && value.expr.kind === 'Literal' ? String(value.expr.value) : undefined
}

/** Returns the fields of a row of known columns, or of a literal; undefined, with a refusal, for anything else. */
export function fieldsOfValue(l: Lowering, value: Value, node: AnyNode): readonly RecordField[] | undefined {
  if (value.kind === 'record' && value.prototype !== Set.prototype && value.prototype !== Map.prototype)
    return value.fields.filter(({ name }) => !isPrivate(name)).map((field) => ({ ...field, value: gotten(l, value, field.value, node) }))
  if (value.kind === 'recordRow' && value.absent === undefined)
    return [...value.tables.keys()].map((name) => ({ name, value: fieldOfRow(value, name, l, node) }))
  if (value.kind === 'data' && Object.getPrototypeOf(value.value) === Object.prototype) {
    const names = Object.keys(value.value)
    if (!names.some(isRisky)) return names.map((name) => ({ name, value: l.verbs.member(l, value, name, node) }))
  }
  if (value.kind === 'elementRow') return fieldsOfElementRow(l, value, node)
  if (value.kind === 'expr' && value.expr.kind === 'Input') {
    const of = value.expr
    const element = inputElement(l.context, of.argument)
    if (element.kind === 'row') {
      const span = l.span(node)
      const risky = element.fields.find((field) => isRisky(field.name))
      if (risky === undefined)
        return element.fields.map(({ name }) => ({ name, value: exprValue({ kind: 'Field', of, name, optional: false, span }) }))
      l.refuse('field-order', node, risky.name)
      return undefined
    }
    if (element.kind === 'unknown') {
      l.refuse('unknown-columns', node)
      return undefined
    }
  }
  l.refuse('spread', node)
  return undefined
}

/** Whether an object has a name in another order than that of the text, or not as a field. */
export function isRisky(name: string): boolean {
  return name === '__proto__' || /^(0|[1-9]\d*)$/.test(name)
}

/** Lowers a member of a value. */
export function memberOf(l: Lowering, object: Value, name: Value | string, node: AnyNode): Value {
  return l.verbs.member(l, evaluatedWhole(l, object), name, node)
}

/** Emits what the other parts of a literal could fail with, before one part of it is taken. */
export function evaluatedWhole<V extends Value>(l: Lowering, value: V): V {
  return mayFail(value) ? (l.stabilizedValue(value) as V) : value // a stabilized value keeps its kind
}

function mayFail(value: Value): boolean {
  if (value.kind === 'tuple') return value.items.some((item) => mayFail(item) || (item.kind === 'expr' && !isPlain(item.expr)))
  return value.kind === 'record' && mayFail({ kind: 'tuple', items: value.fields.map((field) => field.value) })
}
