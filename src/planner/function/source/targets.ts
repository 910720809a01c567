/** The places that can be assigned: locals, parts of objects, elements of rows and of the body's own arrays. Others are refused by name. */
import type { AnyNode, Expression, MemberExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { isBuffer } from '../captures/handleMethods.ts'
import { classAround, privateName } from '../captures/privateNames.ts'
import { noteElements } from '../lists/held/aliases.ts'
import { holdsScalars, presentHeld } from '../lists/held/heldLists.ts'
import { itemOfObject } from '../lists/held/heldObjects.ts'
import { noteListPart } from '../lists/held/notes.ts'
import { type Collection, isCollection, isDictionary, noteDictionary } from '../lists/keyed/collectionValue.ts'
import { dictionaryKey } from '../lists/keyed/dictionaries.ts'
import { checkedIndex } from '../lists/madeArrays.ts'
import { keptView } from '../lists/movedArrays.ts'
import { present } from '../lists/optionals.ts'
import { changedPart } from '../lists/records.ts'
import { noteChange, noteReassigned, noteReplaced, storedPart } from '../lists/stored.ts'
import { literalSetter } from '../lists/variants/getters.ts'
import { windowPlace } from '../lists/windows/windows.ts'
import { lowerExpression } from '../lower/expressions.ts'
import type { Lowering } from '../lower/lowering.ts'
import { staticName } from '../lower/members.ts'
import type { Bound, Held, Records, Site, Stored, Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { classSourceOf } from './source.ts'

/** A place that can be assigned. */
export type Place =
  /** `of`: the object of which it is a part. */
  | { readonly kind: 'local'; readonly name: string; readonly userName: string; readonly of?: Stored }
  /** A variable that holds objects, or a part that is one. */
  | { readonly kind: 'whole'; readonly stored: Stored }
  /** A variable that holds views, or a place of a list of rows (`movedArrays.ts`). */
  | { readonly kind: 'view'; readonly bound: Bound & { readonly kind: 'view' }; readonly text: string }
  | { readonly kind: 'row'; readonly rows: string; readonly array: string; readonly subscripts: readonly Expr[]; readonly text: string }
  /** A place of a list of objects (`records.ts`). */
  | { readonly kind: 'item'; readonly list: Records; readonly index: Expr }
  /** A place of a list that places hold, or a variable for such lists (`heldLists.ts`). */
  | { readonly kind: 'held'; readonly list: Held; readonly at: Expr; readonly isScalar: boolean; readonly isThere?: true }
  | { readonly kind: 'list'; readonly of: number; readonly local: string; readonly mayBeAbsent?: true }
  /** A field of an object that places hold, which is such a list or object itself. */
  | {
      readonly kind: 'field'
      readonly array: string
      readonly at: Expr
      readonly of: number
      readonly mayBeAbsent?: true
      readonly part: Part
    }
  | { readonly kind: 'element'; readonly array: string; readonly subscripts: readonly Expr[]; readonly part?: Part }
  /** An element of a list that grows, whose length may change before the place is read or written; `isThere`: it was read, and has not. */
  | { readonly kind: 'grown'; readonly array: string; readonly at: Expr; readonly isThere?: true }
  /** A name of an object whose names are computed (`dictionaries.ts`), by the number under which it is kept. */
  | { readonly kind: 'entry'; readonly of: Collection; readonly key: Expr }
  /** A property with a setter, which is called with the value; its getter gives the current one. */
  | {
      readonly kind: 'accessor'
      readonly setter: Value & { readonly kind: 'closure' }
      readonly object: Stored | Held
      readonly name: string
    }

/** A field of objects that places hold: their kind, and its name. */
export interface Part {
  readonly kind: number
  readonly name: string
}

/** Returns the place that a target names; undefined where it is refused. With `twice` the subscripts can be evaluated again. */
export function placeOf(l: Lowering, target: AnyNode, how: { readonly twice: boolean }): Place | undefined {
  if (target.type === 'ParenthesizedExpression') return placeOf(l, target.expression, how)
  if (target.type === 'Identifier') {
    const binding = l.unit.names.bindingOf.get(target)
    if (binding === undefined) {
      const free = l.unit.freeOf(target)
      if (free.kind === 'absent' && !free.inspector) l.refuse('captures-unreadable', target, target.name)
      else l.refuse('assigns-captured-variable', target, target.name)
      return undefined
    }
    const bound = l.bound.get(binding)
    if (binding.kind === 'const') {
      l.refuse('operator', target, 'an assignment to a constant')
      return undefined
    }
    if (bound?.kind === 'value' && bound.value.kind === 'stored' && bound.value.owner.isVariable) {
      noteReassigned(l, bound.value.owner, l.span(target))
      return { kind: 'whole', stored: bound.value }
    }
    if (bound?.kind === 'view') return { kind: 'view', bound, text: target.name }
    if (bound?.kind === 'held') return { ...bound, kind: 'list' }
    if (bound === undefined) l.refuse('use-before-declaration', target, target.name)
    else if (bound.kind === 'value' && bound.value.kind !== 'refused') l.refuse('reassigns-value', target, target.name)
    return bound?.kind === 'local' ? { kind: 'local', name: bound.name, userName: target.name } : undefined
  }
  if (target.type === 'MemberExpression') return elementPlace(l, target, how)
  l.refuse('operator', target, 'this assignment')
  return undefined
}

function elementPlace(l: Lowering, target: MemberExpression, how: { readonly twice: boolean }): Place | undefined {
  if (target.object.type === 'Super') {
    l.refuse('operator', target, 'super')
    return undefined
  }
  const given = lowerExpression(l, target.object)
  const object = given.kind === 'maybeItem' ? present(l, given as Value, l.span(target.property).text, target) : given
  const objectText = l.span(target.object).text
  const rows = object.kind === 'view' ? l.rowsOf.get(object.array) : undefined
  if (object.kind === 'view' && rows === undefined && object.rank !== undefined && object.rank > object.prefix.length + 1) {
    const site = l.madeAt.get(object.array)
    if (site !== undefined) l.foundPlaced.push(site)
    l.refuse('reassigns-value', target, l.span(target).text)
    return undefined
  }
  if (object.kind === 'view') {
    if (isBuffer(l, object.array)) l.refuse('unknown-method', target, `${objectText}[…] =`)
    const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
    if (index === undefined) {
      if (!target.computed) l.refuse('view-as-value', target)
      return undefined
    }
    if (rows !== undefined) {
      const subscripts = [l.stabilized(index, 'at')]
      return { kind: 'row', rows, array: object.array, subscripts, text: l.span(target).text }
    }
    if (l.sizes.has(object.array) && l.frame.isLibrary !== true) {
      const made = l.madeIn.get(object.array)
      if (made !== undefined) noteGrowing(l, made)
      return { kind: 'grown', array: object.array, at: l.stabilized(index, 'at') }
    }
    const checked = checkedIndex(l, object.array, index, target)
    const prefix = how.twice ? keptView(l, object).prefix : object.prefix
    return { kind: 'element', array: object.array, subscripts: [...prefix, how.twice ? l.stabilized(checked) : checked] }
  }
  if (object.kind === 'window') {
    const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
    if (index === undefined) {
      if (!target.computed) l.refuse('view-as-value', target)
      return undefined
    }
    const subscripts = windowPlace(l, object, index, target)
    return { kind: 'element', array: object.view.array, subscripts: how.twice ? subscripts.map((one) => l.stabilized(one)) : subscripts }
  }
  if (object.kind === 'records') {
    const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
    if (index === undefined) return undefined
    return { kind: 'item', list: object.list, index: l.stabilized(index, 'at') }
  }
  if (object.kind === 'held' && l.held.isObject(object.of)) return fieldPlace(l, object, target)
  if (object.kind === 'held') return heldPlace(l, object, target)
  if (object.kind === 'item') {
    const value = target.computed ? lowerExpression(l, target.property as Expression) : undefined // a private name is not computed
    const name = value === undefined ? nameOf(l, target.property) : staticName(l, value)
    if (name === undefined) l.refuse('computed-name', target)
    const part = name === undefined ? undefined : changedPart(l, object, name, target)
    return part && { kind: 'element', array: part.array, subscripts: [part.place] }
  }
  switch (object.kind) {
    case 'global':
      if (isClass(object.value)) l.refuse('writes-static', target, `${l.span(target.property).text} of the class ${object.name}`)
      else l.refuse('mutates-captured-object', target, object.name)
      break
    case 'data':
    case 'tableRow':
    case 'recordRow':
      l.refuse('mutates-captured-object', target, object.name)
      break
    case 'choice':
      l.refuse('objects-differ', target)
      break
    case 'closure':
    case 'builtin':
      l.refuse('mutates-captured-object', target, objectText)
      break
    case 'expr':
    case 'key':
    case 'elementRow':
      l.refuse('mutates-element', target, objectText)
      break
    case 'env':
    case 'shape':
      l.refuse('mutates-element', target, objectText)
      break
    case 'handle':
      l.refuse('handle-as-value', target, object.name)
      break
    case 'stored':
      return partPlace(l, object, target)
    case 'tuple':
    case 'record':
      if (object.site !== undefined && object.kind === 'tuple' && object.items.length === 0 && target.computed) noteGrowing(l, object.site)
      else if (object.site !== undefined) l.foundChanging.push(object.site)
      if (object.elementOf !== undefined) noteElements(l, object.elementOf)
      l.refuse('mutates-literal', target)
      break
    case 'refused':
      break
  }
  return undefined
}

/** Returns the place of a list that places hold; undefined where it is refused. */
function heldPlace(l: Lowering, object: Held, target: MemberExpression): Place | undefined {
  const list = presentHeld(l, object, l.span(target).text, target)
  const index = target.computed ? l.scalarOrNothing(lowerExpression(l, target.property as Expression), target.property) : undefined
  if (!target.computed) l.refuse('adds-part', target, l.span(target).text)
  const isScalar = index === undefined ? undefined : holdsScalars(l, list, target)
  if (index === undefined || isScalar === undefined) return undefined
  return { kind: 'held', list, at: l.stabilized(index, 'at'), isScalar }
}

/** Returns the place of a field of an object that places hold; undefined where it is refused. */
function fieldPlace(l: Lowering, object: Held, target: MemberExpression): Place | undefined {
  const value = target.computed ? lowerExpression(l, target.property as Expression) : undefined // a private name is not computed
  const name = value === undefined ? nameOf(l, target.property) : staticName(l, value)
  if (name === undefined) l.refuse('computed-name', target)
  const item = name === undefined ? undefined : itemOfObject(l, object, name, target)
  if (name === undefined || item?.parts.kind !== 'fields') return undefined
  const leaves = item.parts.fields.find((field) => field.name === name)?.leaves
  const part = { kind: object.of, name }
  if (leaves?.kind === 'leaf' && leaves.list !== undefined) {
    const { list: of, number, kind: _, ...absent } = leaves
    return { kind: 'field', array: item.list.arrays[number] ?? '', at: item.place, of, part, ...absent }
  }
  const setter = leaves === undefined ? l.verbs.setter(l, object, name, target) : undefined
  if (setter !== undefined) return { kind: 'accessor', setter, object, name }
  if (leaves?.kind === 'items') noteListPart(l, { ...item, parts: leaves })
  const changed = changedPart(l, item, name, target)
  return changed && { kind: 'element', array: changed.array, subscripts: [changed.place], part }
}

/** Returns the place of a part of an object that the function made; undefined where it is refused. */
function partPlace(l: Lowering, of: Stored, target: MemberExpression): Place | undefined {
  const { property, computed } = target
  if (isDictionary(of) && l.frame.isLibrary !== true) {
    const named = computed ? lowerExpression(l, property as Expression) : (nameOf(l, property) ?? '') // a private name is not computed
    const key = typeof named !== 'string' && named.kind === 'refused' ? undefined : dictionaryKey(l, of, named, target)
    return key && { kind: 'entry', of, key }
  }
  if (isCollection(of) && l.frame.isLibrary !== true) {
    l.refuse('adds-part', target, l.span(target).text)
    return undefined
  }
  const value = computed ? lowerExpression(l, property as Expression) : undefined // a private name is not computed
  const name = value === undefined ? nameOf(l, property) : staticName(l, value)
  if (name === undefined) {
    if (value?.kind !== 'refused') l.refuse('computed-name', target)
    if (of.site !== undefined) l.foundIndexed.push(of.site)
    noteDictionary(l, of)
    return undefined
  }
  const span = l.span(target)
  const object = present(l, of, name, target)
  const own = literalSetter(object, name)
  if (own !== undefined) return { kind: 'accessor', setter: own, object, name }
  const part = storedPart(object, name)
  switch (part?.kind) {
    case 'scalar':
      noteChange(l, object.owner, span)
      return { kind: 'local', name: part.local, userName: span.text, of: object }
    case 'fields':
    case 'items':
      noteReplaced(l, object.owner, span)
      return { kind: 'whole', stored: { kind: 'stored', storage: part, owner: object.owner, isPart: true } }
    case 'optional':
      noteReplaced(l, object.owner, span)
      return { kind: 'whole', stored: { kind: 'stored', storage: part, owner: object.owner, isPart: true } }
    case 'fixed':
      if (object.site !== undefined) l.foundIndexed.push(object.site)
      l.refuse('reassigns-value', target, span.text)
      return undefined
    case undefined: {
      const setter = l.verbs.setter(l, object, name, target)
      if (setter !== undefined) return { kind: 'accessor', setter, object, name }
      if (object.storage.kind === 'fields' && object.storage.fields.length === 0) noteDictionary(l, object)
      l.refuse('adds-part', target, span.text)
      return undefined
    }
  }
}

/** Notes that a list without elements is given some by their places: the next try makes a list that grows. */
function noteGrowing(l: Lowering, site: Site): void {
  l.foundGrowing.push({ site, count: l.turnsInside(site.loops ?? 0) ?? Number.POSITIVE_INFINITY })
}

function nameOf(l: Lowering, property: AnyNode): string | undefined {
  if (property.type === 'Identifier') return property.name
  const of = classAround(l, l.unit)
  return property.type === 'PrivateIdentifier' && of !== undefined ? privateName(of, property.name) : undefined
}

function isClass(value: unknown): boolean {
  return typeof value === 'function' && classSourceOf(value as AnyFunction) !== undefined
}
