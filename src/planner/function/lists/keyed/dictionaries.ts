/**
 * Objects whose names a loop's body computes: Maps of `collections.ts` in another dress.
 *
 *     const counts = {}                                 const counts = new Map()
 *     counts[w] = (counts[w] ?? 0) + 1        -->       counts.set(w, (counts.get(w) ?? 0) + 1)
 *     if ('the' in counts) delete counts.the            if (counts.has('the')) counts.delete('the')
 *     for (const w in counts) s += counts[w]            for (const w of counts.keys()) s += counts.get(w)
 *
 * Names are texts, or numbers, of which two are one name exactly where a Map has one key for them. What differs is refused by name: texts
 * that all objects have as names; the order of names that are numbers, which ascend before all others; and changes while a loop goes
 * through what the object held before.
 */
import type { AnyNode, CallExpression, Expression, MemberExpression } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { literal } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, REFUSED, type RecordField, type Site, type Value } from '../../lower/value.ts'
import { refusalOf } from '../../refusals.ts'
import { makerOf } from '../held/kinds.ts'
import { copied } from '../listCopies.ts'
import type { ByIndex } from '../listElements.ts'
import { partOf } from '../stored.ts'
import { asked, emptyCollection, entriesOf, entriesPut, isHeldValue, keyPut, listOf, putHeld, putIn, putKey } from './collections.ts'
import { type Collection, heldKind, isDictionary, NAMES, noteDictionary } from './collectionValue.ts'

/** Makes an object whose names are computed, as an earlier try has found; undefined for others. */
export function dictionaryLiteral(
  l: Lowering,
  { name, fields, site }: { readonly name: string; readonly fields: readonly RecordField[]; readonly site: Site },
  node: AnyNode,
): Value | undefined {
  if (!l.isKeyed(site, 'names')) return undefined
  const of = emptyCollection(l, { name, prototype: NAMES, start: site.start }, node)
  if (of === undefined) return REFUSED
  l.dictionaries.push({ name, span: l.span(node), isGoneThrough: false })
  const arePut = fields.map((field) => putIn(l, of, [nameValue(l, of, field.name, node), field.value], node))
  return arePut.includes(false) ? REFUSED : of
}

/** Returns a name that is written out as a key: a number where the names of the object are. */
function nameValue(l: Lowering, of: Collection, name: string, node: AnyNode): Value {
  const isNumber = !l.isKeyed(of.site, 'text keys') && String(Number(name)) === name
  return exprValue(literal(isNumber ? Number(name) : name, l.span(node)))
}

/** Returns the key that a name is: texts that are written out may be numbers, and numbers texts. */
function keyOfName(l: Lowering, of: Collection, property: Value | string, node: AnyNode): Value {
  if (typeof property === 'string') return nameValue(l, of, property, node)
  const expr = property.kind === 'expr' ? property.expr : undefined
  return expr?.kind === 'Literal' && expr.value !== null && expr.value !== undefined ? nameValue(l, of, String(expr.value), node) : property
}

/** Lowers `object[name]` and `object.name` of such an object; undefined for others. */
export function dictionaryMember(l: Lowering, of: Value, property: Value | string, node: AnyNode): Value | undefined {
  if (!isDictionary(of) || l.frame.isLibrary === true) return undefined
  return asked(l, of, 'get', keyOfName(l, of, property, node), node)
}

/** Lowers `name in object`, `Object.hasOwn(object, name)`. */
export function dictionaryHas(l: Lowering, of: Value, name: Value, node: AnyNode): Value | undefined {
  if (!isDictionary(of)) {
    noteDictionary(l, of)
    return undefined
  }
  return asked(l, of, 'has', keyOfName(l, of, name, node), node)
}

/** Lowers `Object.hasOwn(object, name)`; undefined for other calls. */
export function dictionaryHasOwn(l: Lowering, node: CallExpression): Value | undefined {
  const { callee } = node
  const [of, name, another] = node.arguments
  const isAsked = callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && callee.property.name === 'hasOwn'
  if (!isAsked || !isObjectItself(l, callee.object) || of?.type !== 'Identifier' || another !== undefined) return undefined
  if (name === undefined || name.type === 'SpreadElement') return undefined
  const object = l.verbs.value(l, of)
  if (isDictionary(object)) return dictionaryHas(l, object, l.verbs.value(l, name), node)
  noteDictionary(l, object)
  return undefined
}

/** Lowers `delete object[name]`; undefined for other objects. */
export function dictionaryDelete(l: Lowering, of: Value, name: Value | string, node: MemberExpression): Value | undefined {
  if (!isDictionary(of)) {
    noteDictionary(l, of)
    return undefined
  }
  if (l.goneThrough.some(({ owner }) => owner === of.owner)) return l.refuse('dictionary-changed', node, of.owner.name)
  l.foundShifted.push(of.site)
  const gone = asked(l, of, 'delete', keyOfName(l, of, name, node), node)
  return gone.kind === 'refused' ? gone : exprValue(literal(true, l.span(node)))
}

/** The number under which `object[name]` is kept. */
export function dictionaryKey(l: Lowering, of: Collection, property: Value | string, node: AnyNode): Expr | undefined {
  const expr = l.scalarOrNothing(keyOfName(l, of, property, node), node)
  return expr && keyPut(l, of, expr, node)
}

/** Emits `object[name] = value`; false where it is refused. */
export function dictionaryPut(l: Lowering, of: Collection, key: Expr, given: Value, node: AnyNode): boolean {
  const isChanged = l.goneThrough.some(({ owner, keeps }) => owner === of.owner && keeps === 'values')
  if (isChanged) return l.refuse('dictionary-changed', node, of.owner.name).kind !== 'refused'
  if (isHeldValue(l, of, given)) return putHeld(l, of, key, given, node)
  const value = l.scalarOrNothing(given, node)
  return value !== undefined && putKey(l, of, key, value, node)
}

/** Lowers the object's only method that is compiled; undefined for other values. */
export function dictionaryMethod(l: Lowering, of: Value, name: string, node: CallExpression): Value | undefined {
  if (!isDictionary(of)) return undefined
  const [argument, another] = node.arguments
  if (name !== 'hasOwnProperty' || argument === undefined || another !== undefined || argument.type === 'SpreadElement')
    return l.refuse('unknown-method', node, name)
  return dictionaryHas(l, of, l.verbs.value(l, argument), node)
}

export type Part = 'keys' | 'values' | 'entries'

const PARTS: ReadonlyMap<string, Part> = new Map([
  ['keys', 'keys'],
  ['values', 'values'],
  ['entries', 'entries'],
])

/** Returns the object and the part of `Object.keys(object)`, `Object.values(object)`, `Object.entries(object)`; undefined for other calls. */
export function dictionaryPart(l: Lowering, node: Expression): { readonly of: Collection; readonly part: Part } | undefined {
  if (node.type !== 'CallExpression' || node.optional || node.callee.type !== 'MemberExpression' || node.callee.computed) return undefined
  const { object, property } = node.callee
  const [argument, another] = node.arguments
  const part = property.type === 'Identifier' ? PARTS.get(property.name) : undefined
  if (part === undefined || !isObjectItself(l, object) || argument?.type !== 'Identifier' || another !== undefined) return undefined
  const of = l.verbs.value(l, argument)
  if (!isDictionary(of)) noteDictionary(l, of)
  return isDictionary(of) ? { of, part } : undefined
}

function isObjectItself(l: Lowering, node: AnyNode): boolean {
  return node.type === 'Identifier' && node.name === 'Object' && l.unit.names.bindingOf.get(node) === undefined
}

/** Lowers `Object.keys(object).length`; undefined for anything else. */
export function dictionarySize(l: Lowering, node: MemberExpression): Value | undefined {
  const { object, property, computed } = node
  if (computed || property.type !== 'Identifier' || property.name !== 'length' || object.type !== 'CallExpression') return undefined
  const found = dictionaryPart(l, object)
  return found && partOf(found.of, 'size', l.span(node))
}

/** Lowers `Object.values(object)` to a copy of the values; undefined for other calls. */
export function dictionaryValues(l: Lowering, node: CallExpression): Value | undefined {
  const found = dictionaryPart(l, node)
  if (found === undefined) return undefined
  const { of, part } = found
  if (part !== 'values') return l.refuse('collection-texts', node, of.owner.name)
  noteGoneThrough(l, of)
  const values = listOf(l, of, 'values', node)
  if (values.kind === 'refused') return REFUSED
  const span = l.span(node)
  const kind = heldKind(l, of)
  if (kind !== undefined) {
    // the next try copies them into a list that places may hold
    const maker = makerOf(l, node)
    if (l.held.at(maker) !== undefined) return values
    l.held.noteElement(l.held.note(maker), { kind: 'list', of: kind })
    return l.refuse('lists-of-lists', node, of.owner.name)
  }
  return copied(l, { name: `${of.owner.name}_list`, dtype: 'f64', node, isList: true, text: span.text }, values)
}

/** Returns what a loop goes through of the object: what it held when the loop began. */
export function dictionaryEntries(l: Lowering, of: Collection, part: Part, node: AnyNode): ByIndex {
  noteGoneThrough(l, of)
  return { ...entriesOf(l, of, node, part), length: l.temporary(entriesPut(of, l.span(node)), 'count') }
}

/** Runs `work`, which lowers the body of a loop over an object's names, or over values too. */
export function whileGoneThrough<T>(l: Lowering, of: Collection, part: Part, work: () => T): T {
  l.goneThrough.push({ owner: of.owner, keeps: part === 'keys' ? 'names' : 'values' })
  try {
    return work()
  } finally {
    l.goneThrough.pop()
  }
}

function noteGoneThrough(l: Lowering, of: Collection): void {
  const { name, span } = of.owner
  l.dictionaries.push({ name, span, isGoneThrough: true })
  if (!l.isKeyed(of.site, 'text keys')) l.refuseWith(refusalOf('dictionary-order', span, name))
}

/** Refuses objects whose names could be told from keys of a Map, now that all texts of the body are known. */
export function checkDictionaries(l: Lowering): void {
  const texts = l.textsByCode
  for (const { name, span, isGoneThrough } of l.dictionaries) {
    if (texts.some((text) => text in Object.prototype)) l.refuseWith(refusalOf('dictionary-inherited', span, name))
    if (isGoneThrough && texts.some((text) => /^(0|[1-9]\d*)$/.test(text))) l.refuseWith(refusalOf('dictionary-order', span, name))
  }
}
