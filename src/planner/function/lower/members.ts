/** Lowers `object.name` and `object[index]`, by the kind of the object. */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { valueByRow, writtenOut } from '../captures/capturedKeys.ts'
import { elementOfRow, fieldOfRow, nestedRow, rowThatIsThere } from '../captures/capturedLookups.ts'
import { charactersOf } from '../captures/characters.ts'
import { staticField } from '../captures/declaredClasses.ts'
import { builtinFunction, envValue, fromOutside, globalValue, tableOf, tableOfString } from '../captures/outside.ts'
import { hasTraps } from '../captures/traps.ts'
import { functionAt } from '../lists/chosenFunctions.ts'
import { placesOfList } from '../lists/grownLists.ts'
import { checkedHeld, heldLength, presentHeld } from '../lists/held/heldLists.ts'
import { fieldOfObject } from '../lists/held/heldObjects.ts'
import { noteListElements, noteListPart } from '../lists/held/notes.ts'
import { collectionMember, noteDictionary } from '../lists/keyed/collectionValue.ts'
import { fieldByText } from '../lists/keyed/fieldsByText.ts'
import { checkedIndex, elementRead, lengthIn } from '../lists/madeArrays.ts'
import { rowInList } from '../lists/movedArrays.ts'
import { present } from '../lists/optionals.ts'
import { checkedItem, partOfItem, recordsLength } from '../lists/records.ts'
import { partOf } from '../lists/stored.ts'
import { gotten } from '../lists/variants/getters.ts'
import { functionNamed } from '../lists/variants/namedFunctions.ts'
import { isObjectChoice, memberOfChoice, objectAt } from '../lists/variants/objectChoices.ts'
import { checkedInWindow, type Window, windowRead } from '../lists/windows/windows.ts'
import { refusalOf } from '../refusals.ts'
import { elementOfRowList, lengthOfRowList } from '../rowLists.ts'
import { askedCall, askedElement, askingOf } from '../source/askedElements.ts'
import { classSourceOf } from '../source/source.ts'
import { characterAt } from '../textIndex.ts'
import type { AnyFunction } from '../unit.ts'
import { binary, conditional, literal } from './build.ts'
import { inputElement, rankOf } from './context.ts'
import type { Lowering } from './lowering.ts'
import { arrayOfRows, fieldOfElementRow } from './tableRows.ts'
import { exprValue, REFUSED, type Value } from './value.ts'

/** Names that every object inherits, which never mean a column. */
const INHERITED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype)])

/** Lowers a member whose name is written out, or computed from an expression. */
export function memberValue(l: Lowering, of: Value, property: Value | string, node: AnyNode): Value {
  const name = typeof property === 'string' ? property : staticName(l, property)
  const object = present(l, of, name ?? 'undefined', node)
  if (object.kind === 'expr' && object.expr.kind === 'Local' && l.absentAtFirst.has(object.expr.name)) {
    l.refuse('object-as-value', node)
    return exprValue(literal(0, l.span(node))) // so that an object with this part tells its shape to the next try
  }
  const asked = askedElement(l, object, name ?? property, node)
  if (asked !== undefined) return asked
  if (name === undefined) return indexed(l, object, property as Value, node)
  switch (object.kind) {
    case 'expr':
      return fieldOf(l, object.expr, name, { optional: false }, node)
    case 'key':
      return keyMember(l, name, node)
    case 'env':
      return envValue(l, name, node)
    case 'handle':
      if (name === 'shape' && object.of === 'array') return { kind: 'shape', array: arrayOfRows(l, object.name) ?? object.name }
      return l.refuse('handle-as-value', node, `${object.name}.${name}`)
    case 'view':
      if (name === 'length') return exprValue(placesOfList(l, object, node) ?? lengthIn(l, object, node))
      return isIndexName(name) ? viewElement(l, object, literal(Number(name), l.span(node)), node) : l.refuse('view-as-value', node)
    case 'window':
      if (name === 'length') return exprValue(object.count)
      return isIndexName(name) ? windowElement(l, object, literal(Number(name), l.span(node)), node) : l.refuse('view-as-value', node)
    case 'shape': {
      const rank = l.ranks.get(object.array)
      if (name === 'length' && rank !== undefined) return exprValue(literal(rank, l.span(node)))
      if (isIndexName(name) && rank !== undefined && Number(name) >= rank) return exprValue(literal(undefined, l.span(node)))
      if (isIndexName(name)) return exprValue({ kind: 'Extent', array: object.array, axis: Number(name), span: l.span(node) })
      return l.refuse('handle-as-value', node, `${object.array}.shape`)
    }
    case 'data':
      return dataMember(l, object, name, node)
    case 'recordRow':
      return fieldOfRow(object, name, l, node)
    case 'elementRow':
      return fieldOfElementRow(l, object, name, node)
    case 'tableRow': {
      const span = l.span(node)
      if (name === 'length') return exprValue(rowThatIsThere(l, object, node).length)
      return isIndexName(name) ? elementOfRow(object, literal(Number(name), span), l, node) : l.refuse('captured-object', node, object.name)
    }
    case 'date':
      return l.refuse('unknown-method', node, name)
    case 'regex':
      return l.refuse('regex', node)
    case 'global':
      return globalMember(l, object, name, node)
    case 'tuple':
      if (name === 'length') return exprValue(literal(object.items.length, l.span(node)))
      if (!isIndexName(name)) return l.refuse('unknown-method', node, name)
      return object.items[Number(name)] ?? exprValue(literal(undefined, l.span(node)))
    case 'record': {
      const field = object.fields.find((one) => one.name === name)
      if (field !== undefined) return gotten(l, object, field.value, node)
      const more = l.verbs.inherited(l, object, name, node)
      if (more !== undefined) return more
      return INHERITED.has(name) ? l.refuse('unknown-method', node, name) : exprValue(literal(undefined, l.span(node)))
    }
    case 'stored': {
      const ofCollection = collectionMember(l, object, name, node)
      if (ofCollection !== undefined) return ofCollection
      const span = l.span(node)
      const part = partOf(object, name, span)
      const more = part ?? l.verbs.inherited(l, object, name, node)
      if (more !== undefined) return gotten(l, object, more, node)
      if (object.storage.kind === 'items' && name === 'length') return exprValue(literal(object.storage.items.length, span))
      const isKnown = INHERITED.has(name) || (object.storage.kind === 'items' && !isIndexName(name))
      return isKnown ? l.refuse('unknown-method', node, name) : exprValue(literal(undefined, span))
    }
    case 'records':
      if (name === 'length') return exprValue(recordsLength(l, object.list, node))
      return isIndexName(name)
        ? checkedItem(l, object.list, literal(Number(name), l.span(node)), node)
        : l.refuse('unknown-method', node, name)
    case 'item': {
      const part = partOfItem(l, object, name, l.span(node))
      if (part !== undefined) return part
      const whole = l.verbs.itemParts(l, object, l.span(node))
      return memberValue(l, whole, name, node)
    }
    case 'held':
      if (l.held.isObject(object.of)) return fieldOfObject(l, object, name, node)
      if (name === 'length') return exprValue(heldLength(l, presentHeld(l, object, 'length', node), node))
      return isIndexName(name) ? checkedHeld(l, object, literal(Number(name), l.span(node)), node) : l.refuse('unknown-method', node, name)
    case 'builtin':
      return globalMember(l, { kind: 'global', name: object.name, value: builtinFunction(object.name) }, name, node)
    case 'choice':
      return isObjectChoice(object) ? memberOfChoice(l, object, name, node) : l.refuse('function-as-value', node)
    case 'closure':
    case 'library':
      return l.refuse('function-as-value', node)
    case 'refused':
      return REFUSED
  }
}

/** Returns the name of a computed member where it is the same on every run: a literal, or a captured constant; undefined otherwise. */
export function staticName(l: Lowering, property: Value): string | undefined {
  if (property.kind !== 'expr') return undefined
  const { expr } = property
  if (expr.kind === 'Literal' && typeof expr.value === 'string') return expr.value
  if (expr.kind === 'Literal' && typeof expr.value === 'number') return isIndexName(String(expr.value)) ? String(expr.value) : undefined
  if (expr.kind !== 'Parameter') return undefined
  const value = l.parameters.find((one) => one.name === expr.name)?.value
  return typeof value === 'string' ? value : undefined
}

export function isIndexName(name: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(name)
}

/** Lowers a field of a row or struct, or a property of a string, number or date. */
export function fieldOf(l: Lowering, of: Expr, name: string, how: { readonly optional: boolean }, node: AnyNode): Value {
  const span = l.span(node)
  if (of.kind === 'Input') {
    const element = inputElement(l.context, of.argument)
    if (element.kind === 'row') {
      if (element.fields.some((field) => field.name === name)) return exprValue({ kind: 'Field', of, name, optional: false, span })
      if (INHERITED.has(name)) return l.refuse('unknown-method', node, name)
      l.missing.push({ name, span })
      return REFUSED
    }
  }
  if (of.kind === 'Read' && l.context.kind === 'loop' && !INHERITED.has(name)) {
    const array = Object.hasOwn(l.context.env, of.array) ? l.context.env[of.array] : undefined
    const fields = array === undefined || array.kind === 'constant' ? undefined : array.fields
    if (fields?.some((field) => field.name === name) === false) {
      l.missing.push({ name, span, array: { name: of.array, fields } })
      return REFUSED
    }
  }
  const ofList =
    name === 'length'
      ? lengthOfRowList(l, of, node)
      : isIndexName(name)
        ? elementOfRowList(l, of, literal(Number(name), span), node)
        : undefined
  if (ofList !== undefined) return how.optional ? whereThere(of, ofList, span) : ofList
  const characters = name === 'length' || isIndexName(name) ? charactersOf(l, of, node) : undefined
  if (characters !== undefined) return l.verbs.member(l, characters, name, node)
  if (name === 'length') {
    const text = of.kind === 'Parameter' ? l.parameters.find((one) => one.name === of.name)?.value : undefined
    if (typeof text === 'string') return exprValue(literal(text.length, span))
    const expr: Expr = { kind: 'MethodCall', method: 'length', object: of, args: [], optional: how.optional, span }
    const isString = (kinds: readonly string[] | undefined): boolean => kinds?.every((kind) => kind === 'utf8' || kind === 'null') === true
    l.checks.push({ expr: of, holds: isString, refusal: refusalOf('ambiguous-method', span, 'length') })
    return exprValue(expr)
  }
  if (isIndexName(name)) {
    const table = of.kind === 'Parameter' ? tableOfString(l, of.name) : undefined
    if (table !== undefined) return exprValue({ kind: 'Lookup', table, index: literal(Number(name), span), span })
    const character = how.optional ? undefined : characterAt(l, of, literal(Number(name), span), node)
    return character ?? l.refuse('string-index', node)
  }
  if (INHERITED.has(name)) return l.refuse('unknown-method', node, name)
  return exprValue({ kind: 'Field', of, name, optional: how.optional, span })
}

/** The answer of a list, undefined where there is none. */
function whereThere(list: Expr, answer: Value, span: Span): Value {
  if (answer.kind !== 'expr') return answer
  return exprValue(conditional(binary('==', list, literal(null, span), span), literal(undefined, span), answer.expr, span))
}

export function keyComponent(l: Lowering, axis: number, node: AnyNode): Value {
  const rank = rankOf(l.context)
  if (rank !== undefined && axis >= rank) return exprValue(literal(undefined, l.span(node)))
  l.keyRank = Math.max(l.keyRank, axis + 1)
  return exprValue({ kind: 'Key', axis, span: l.span(node) })
}

function keyMember(l: Lowering, name: string, node: AnyNode): Value {
  if (isIndexName(name)) return keyComponent(l, Number(name), node)
  const rank = rankOf(l.context)
  if (name === 'length' && rank !== undefined) return exprValue(literal(rank, l.span(node)))
  return l.refuse('key-as-value', node)
}

function viewElement(l: Lowering, view: Value & { kind: 'view' }, index: Expr, node: AnyNode): Value {
  const row = rowInList(l, view, index)
  if (row !== undefined) return row
  const subscripts = [...view.prefix, index]
  if (view.rank !== undefined && view.rank > subscripts.length) return { ...view, prefix: [...view.prefix, l.stabilized(index, 'row')] }
  const last = checkedIndex(l, view.array, index, node)
  return exprValue(elementRead(l, view.array, [...view.prefix, last], l.span(node)))
}

/** An element of a part that may lie outside of it is asked for by nobody: it is refused. */
function windowElement(l: Lowering, of: Window, index: Expr, node: AnyNode): Value {
  if (askingOf(l, node) !== undefined) return l.refuse('list-method', node, `${of.view.array}.subarray`)
  return exprValue(windowRead(l, of, checkedInWindow(l, of, index, node), node))
}

function indexed(l: Lowering, object: Value, property: Value, node: AnyNode): Value {
  if (object.kind === 'refused' || property.kind === 'refused') return REFUSED
  if (object.kind === 'view') return viewElement(l, object, l.scalar(property, node), node)
  if (object.kind === 'window') return windowElement(l, object, l.scalar(property, node), node)
  if (object.kind === 'records') return checkedItem(l, object.list, l.scalar(property, node), node)
  if (object.kind === 'held' && !l.held.isObject(object.of)) return checkedHeld(l, object, l.scalar(property, node), node)
  if (object.kind === 'item' && object.parts === object.list.parts) noteListElements(l, object.list)
  if (object.kind === 'item') noteListPart(l, object)
  if (object.kind === 'tuple' && object.elementOf !== undefined) noteListElements(l, object.elementOf)
  const chosen =
    functionAt(l, object, property, node) ??
    objectAt(l, object, property, node) ??
    functionNamed(l, object, property, { isCalled: false }, node)
  if (chosen !== undefined) return chosen
  if (object.kind === 'data') {
    const table = tableOf(l, object)
    const index = l.scalarOrNothing(property, node)
    if (index === undefined) return REFUSED
    if (table === undefined)
      return (
        valueByRow(l, object, index, node) ??
        nestedRow(l, object, index, node) ??
        l.refuse(areTypedRows(object.value) ? 'typed-rows' : 'captured-object', node, object.name)
      )
    return exprValue({ kind: 'Lookup', table, index, span: l.span(node) })
  }
  if (object.kind === 'tableRow') return elementOfRow(object, l.scalar(property, node), l, node)
  if (object.kind === 'recordRow') return fieldByText(l, object, property, node) ?? l.refuse('computed-name', node)
  if (object.kind === 'expr') {
    const characters = charactersOf(l, object.expr, node)
    if (characters !== undefined) return elementOfRow(characters, l.scalar(property, node), l, node)
    const table = object.expr.kind === 'Parameter' ? tableOfString(l, object.expr.name) : undefined
    if (table !== undefined) return exprValue({ kind: 'Lookup', table, index: l.scalar(property, node), span: l.span(node) })
    const index = l.scalarOrNothing(property, node)
    if (index === undefined) return REFUSED
    const item = elementOfRowList(l, object.expr, index, node)
    if (item !== undefined) return item
    if (object.expr.kind === 'Input' && inputElement(l.context, object.expr.argument).kind !== 'scalar')
      return l.refuse('computed-name', node)
    return characterAt(l, object.expr, index, node) ?? l.refuse('string-index', node)
  }
  if (object.kind === 'handle') return l.refuse('handle-as-value', node, object.name)
  const constants = object.kind === 'tuple' || object.kind === 'record' ? writtenOut(l, object, property) : undefined
  if (constants !== undefined) return indexed(l, constants, property, node)
  if ((object.kind === 'tuple' || object.kind === 'stored') && object.site !== undefined) l.foundIndexed.push(object.site)
  noteDictionary(l, object)
  return l.refuse('computed-name', node)
}

function dataMember(l: Lowering, object: Value & { kind: 'data' }, name: string, node: AnyNode): Value {
  const { value } = object
  const isArray = Array.isArray(value) || ArrayBuffer.isView(value)
  if (isArray && (name === 'length' || isIndexName(name))) {
    const table = tableOf(l, object)
    const span = l.span(node)
    if (table !== undefined && name === 'length') return exprValue({ kind: 'LookupLength', table, span })
    if (table !== undefined && isOddOne(value, Number(name)))
      return fromOutside(l, (value as readonly unknown[])[Number(name)], `${object.name}[${name}]`, object.origin, node)
    if (table !== undefined) return exprValue({ kind: 'Lookup', table, index: literal(Number(name), span), span })
  } else if (isArray) {
    return l.refuse('captured-object', node, object.name) // `capturedNow.ts` compares the elements of arrays, not their other properties
  }
  const own = Object.getOwnPropertyDescriptor(value, name)
  if (own === undefined) {
    const got = l.verbs.inherited(l, object, name, node)
    if (got !== undefined) return got
    const isBehind = isArray && isIndexName(name) // the length of a list is compared from run to run
    return name in value || (isArray && !isBehind)
      ? l.refuse('captured-object', node, object.name)
      : exprValue(literal(undefined, l.span(node)))
  }
  if (!('value' in own)) return l.refuse('captured-object', node, object.name)
  const inside = isIndexName(name) ? `${object.name}[${name}]` : `${object.name}.${name}`
  return fromOutside(l, own.value, inside, object.origin, node)
}

function areTypedRows(list: object): boolean {
  return Array.isArray(list) && list.some((row) => ArrayBuffer.isView(row))
}

/** Whether an element is a text, or its list has elements of several types, so that no table of numbers holds it. */
function isOddOne(list: object, index: number): boolean {
  if (!Array.isArray(list) || index >= list.length) return false
  const type = typeof list[index]
  return type === 'string' || list.some((one) => typeof one !== type)
}

function globalMember(l: Lowering, object: Value & { kind: 'global' }, name: string, node: AnyNode): Value {
  const full = object.name === 'globalThis' ? name : `${object.name}.${name}`
  if ((typeof object.value !== 'object' && typeof object.value !== 'function') || object.value === null) return l.refuseCall(full, node)
  if (hasTraps(object.value)) return l.refuse('captured-proxy', node, full)
  const constant = staticField(object.value, name)
  if (constant !== undefined) return exprValue(literal(constant.value, l.span(node)))
  const property = propertyOf(object.value, name)
  if (property === undefined) return staticGetter(l, object, name, node) ?? l.refuse('captured-object', node, object.name)
  if (l.context.kind === 'loop' && isStaticField(object.value, property.value)) return fromOutside(l, property.value, full, 'capture', node)
  return globalValue(l, full, property.value, node)
}

/** Lowers the value of a static getter of a class of the program, or of one that it extends, in loop bodies; undefined for anything else. */
function staticGetter(l: Lowering, object: Value & { kind: 'global' }, name: string, node: AnyNode): Value | undefined {
  if (l.context.kind !== 'loop') return undefined
  for (let of: unknown = object.value; typeof of === 'function'; of = Object.getPrototypeOf(of)) {
    if (hasTraps(of) || classSourceOf(of as AnyFunction) === undefined) return undefined
    const own = Object.getOwnPropertyDescriptor(of, name)
    if (own === undefined) continue
    const closure = own.get === undefined ? undefined : fromOutside(l, own.get, `${object.name}.${name}`, 'capture', node)
    return closure?.kind === 'closure' ? l.verbs.inline(l, askedCall(l, { ...closure, self: object }, node), [], node) : undefined
  }
  return undefined
}

/** Whether a value is a static field of a class of the program, which runs compare (`capturedNow.ts`); its functions are called as methods. */
function isStaticField(of: object, value: unknown): boolean {
  return typeof value !== 'function' && typeof of === 'function' && classSourceOf(of as AnyFunction) !== undefined
}

/** Returns the property of an object or its prototypes; undefined behind a getter, which is not called, and in a Proxy. */
function propertyOf(object: object, name: string): { readonly value: unknown } | undefined {
  for (let at: unknown = object; typeof at === 'object' || typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    if (at === null) break
    if (hasTraps(at)) return undefined
    const own = Object.getOwnPropertyDescriptor(at, name)
    if (own !== undefined) return 'value' in own ? { value: own.value } : undefined
  }
  return { value: undefined }
}
