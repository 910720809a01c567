/**
 * Sets and Maps that a loop's body makes for itself: hash tables of numbers in arrays of its own.
 *
 *     const seen = new Set()                  keys, values, alive, slots: arrays; used, size, mask: locals
 *     if (!seen.has(v)) seen.add(v)           what `collectionMethods.ts` has, written out
 *     for (const [v, count] of counts) …      a loop over the entries in the order in which they were put in
 *
 * Keys are compared as JavaScript compares them (SameValueZero): NaN equals itself, and -0 is 0. Texts are held by their codes
 * (`textLocals.ts`), and truth values as 1 and 0: only a whole try tells what a collection holds, and the next one makes it so. A table has room for as many entries as
 * the loops around what adds them have iterations; where only the run tells, for a fixed number, and one more is an error of the run.
 */
import type { AnyNode, ArrayExpression, CallExpression, Expression, NewExpression } from 'acorn'
import type { DType } from '../../../../core/data/schema.ts'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import type { Span } from '../../../../core/span.ts'
import { libraryFunction } from '../../captures/libraryFunctions.ts'
import { NONE, textOfCode } from '../../captures/textCodes.ts'
import { binary, conditional, isBoolean, literal, logical, makeIf, unary } from '../../lower/build.ts'
import { spreadGenerator } from '../../lower/generators/goingThrough.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { codeOfText } from '../../lower/textLocals.ts'
import { exprValue, REFUSED, type Site, type Value } from '../../lower/value.ts'
import { refusalOf } from '../../refusals.ts'
import { isLookedUp } from '../../surelyNumbers.ts'
import type { AnyFunction } from '../../unit.ts'
import { elements } from '../elements.ts'
import { isListOrObject } from '../held/notes.ts'
import { type ByIndex, eachElement, elementsOf } from '../listElements.ts'
import { arrayOfBody, checkNumber, eachIndex, fill, type Made, NUMBERS, type View } from '../madeArrays.ts'
import { absentLiteral } from '../optionals.ts'
import { platformValue } from '../places.ts'
import { storedLiteral, storedPart } from '../stored.ts'
import { enoughSlots, hash, hashOfBuilt, METHODS, moreSlots, pairsOf, place, slotOfCode } from './collectionMethods.ts'
import { type Collection, heldKind, holdsAbsent, isCollection, isDictionary, isMap, noteHeldValue } from './collectionValue.ts'

/** Most entries of a table for which no loop says how many there may be. */
const MOST_ENTRIES = 2 ** 15
const FIRST_SLOTS = 16
/** Most texts for which a collection has a slot each, which are emptied where it is made. */
const MOST_CODES = 1024

/** Lowers `new Set()`, `new Set(list)`, `new Map([[k, v]])`; undefined for other constructors. */
export function newCollection(l: Lowering, node: NewExpression): Value | undefined {
  const made = l.context.kind === 'loop' ? platformValue(l, node.callee) : undefined
  const [given, another] = node.arguments
  if ((made !== Set && made !== Map) || another !== undefined || given?.type === 'SpreadElement') return undefined
  const name = l.takeName('collection')
  const inTurn =
    given?.type === 'ArrayExpression' && given.elements.some((one) => one?.type === 'SpreadElement') ? given.elements : undefined
  const from = given === undefined || inTurn !== undefined ? undefined : iterableOf(l, given)
  if (from?.kind === 'refused') return REFUSED
  const collection = emptyCollection(l, { name, prototype: (made as typeof Set).prototype, start: node.start }, node)
  if (collection !== undefined && inTurn !== undefined) return putInTurn(l, collection, inTurn, node)
  return collection === undefined || from === undefined ? (collection ?? REFUSED) : putAll(l, collection, from, node)
}

/** Emits what puts the elements of `[...list, item]` into a new collection, without the list. */
function putInTurn(l: Lowering, of: Collection, nodes: ArrayExpression['elements'], node: AnyNode): Value {
  for (const one of nodes) {
    if (one === null) return l.refuse('sparse-literal', node)
    const value = one.type === 'SpreadElement' ? putAll(l, of, iterableOf(l, one.argument), node) : undefined
    if (value?.kind === 'refused' || (one.type !== 'SpreadElement' && !putItem(l, of, l.verbs.value(l, one), node))) return REFUSED
  }
  return of
}

/** Makes a collection; undefined where there is no memory for it. */
export function emptyCollection(
  l: Lowering,
  { name, prototype, start }: { readonly name: string; readonly prototype: object; readonly start: number },
  node: AnyNode,
): Collection | undefined {
  const [span, site] = [l.span(node), { unit: l.unit, start, loops: l.loops.length }]
  const room = roomOf(l, site)
  const byCode = hasSlotsByCode(l, site)
  const slotCount = byCode ? l.textCount + 1 : Math.min(Math.max(FIRST_SLOTS, 4 * 2 ** Math.ceil(Math.log2(room))), 2 * MOST_ENTRIES)
  const array = (part: string, dtype: DType, length: number): View | undefined => {
    const what: Made = { name: `${name}_${part}`, dtype, node, text: span.text, ...(dtype === 'f64' ? { isList: true } : {}) }
    const one = arrayOfBody(l, what, [length])
    return one === undefined ? undefined : { kind: 'view', array: one, prefix: [], rank: 1 }
  }
  const arrays = {
    keys: array('keys', 'f64', room),
    alive: array('alive', 'u8', room),
    slots: array('slots', 'i32', slotCount),
  }
  const counters = { used: 0, size: 0, mask: FIRST_SLOTS - 1 }
  const { keys } = arrays
  const parts = { ...arrays, values: prototype === Set.prototype ? keys : array('values', 'f64', room) }
  const fields = [
    ...Object.entries(parts).map(([part, value]) => ({ name: part, value: value ?? REFUSED })),
    ...Object.entries(counters).map(([part, value]) => ({ name: part, value: exprValue(literal(value, span)) })),
  ]
  if (arrays.slots === undefined || fields.some(({ value }) => value.kind === 'refused')) return undefined
  fill(l, arrays.slots, byCode ? slotCount : FIRST_SLOTS, literal(0, span), node)
  const collection = storedLiteral(l, name, { kind: 'record', fields, prototype, site }, node)
  return isCollection(collection) ? collection : undefined
}

/** Returns the most entries of a collection: one for each text, where these are its keys and none is removed. */
function roomOf(l: Lowering, site: Site): number {
  const room = Math.min(Math.max(1, l.capacityOf(site) ?? 1), MOST_ENTRIES)
  return hasSlotsByCode(l, site) && !l.isAmong(l.shifted, site) ? Math.min(room, l.textCount + 1) : room
}

/** Whether each key of a collection has a slot of its own, since keys are few texts, as an earlier try has found. */
function hasSlotsByCode(l: Lowering, site: Site): boolean {
  return l.textShapes.length === 0 && l.textCount > 0 && l.textCount <= MOST_CODES && l.isKeyed(site, 'text keys')
}

/** Emits what puts the elements of a list, or pairs of keys and values, into a new collection. */
function putAll(l: Lowering, collection: Collection, from: Value, node: AnyNode): Value {
  const put = (item: Value): boolean => putItem(l, collection, item, node)
  if (from.kind === 'tuple') return from.items.every(put) ? collection : l.refuse('collection-of', node)
  const source = elementsOf(l, from, node)
  if (source === undefined) return l.refuse('collection-of', node)
  eachElement(l, source, node, (item) => void put(item))
  return collection
}

/** Emits what puts a key, or a pair of a key and a value, into a collection; false where it is refused. */
function putItem(l: Lowering, of: Collection, item: Value, node: AnyNode): boolean {
  if (!isMap(of)) return putIn(l, of, [item], node)
  const pair = item.kind === 'item' ? l.verbs.itemParts(l, item, l.span(node)) : item
  if (pair.kind === 'tuple' && pair.items.length === 2) return putIn(l, of, pair.items, node)
  return l.refuse('collection-of', node).kind !== 'refused'
}

/** Lowers a method of a collection; undefined for other values. */
export function collectionMethod(l: Lowering, of: Value, name: string, node: CallExpression): Value | undefined {
  if (!isCollection(of)) return undefined
  const [first] = node.arguments
  if (name === 'forEach' && first !== undefined && node.arguments.length === 1 && first.type !== 'SpreadElement') {
    const f = l.verbs.value(l, first)
    if (f.kind !== 'closure') return l.refuse('unknown-method', node, name)
    const { length, item } = entriesOf(l, of, node)
    eachIndex(
      l,
      length,
      node,
      (at) => {
        const entry = item(at)
        const [key, value] = entry.kind === 'tuple' ? entry.items : [entry, entry]
        l.verbs.inline(l, f, [value ?? entry, key ?? entry, of], node)
      },
      { grows: true },
    )
    return exprValue(literal(undefined, l.span(node)))
  }
  const isPut = name === (isMap(of) ? 'set' : 'add')
  const takes = { has: 1, get: isMap(of) ? 1 : -1, delete: 1, clear: 0, set: 2, add: 1 }[name]
  if (takes === undefined || takes !== node.arguments.length || ((name === 'set' || name === 'add') && !isPut))
    return l.refuse('unknown-method', node, name)
  const args = elements(l, node.arguments)
  if (args === undefined) return REFUSED
  if (name === 'delete' || name === 'clear') l.foundShifted.push(of.site)
  if (isPut) return putIn(l, of, args, node) ? of : REFUSED
  return name === 'clear' ? called(l, of, 'clear', [], node) : asked(l, of, name as 'has' | 'get' | 'delete', args[0] ?? REFUSED, node) // one of the listed
}

/** Lowers a question to a collection about a key. */
export function asked(l: Lowering, of: Collection, name: 'has' | 'get' | 'delete', given: Value, node: AnyNode): Value {
  const key = keyOf(l, of, given, node)
  return key === undefined ? REFUSED : askedOf(l, of, name, key, node)
}

/** Lowers what a Map holds under the number of a key. */
export function heldUnder(l: Lowering, of: Collection, number: Expr, node: AnyNode): Value {
  return askedOf(l, of, 'get', { number }, node)
}

function askedOf(l: Lowering, of: Collection, name: 'has' | 'get' | 'delete', key: Key, node: AnyNode): Value {
  const kind = name === 'get' ? heldKind(l, of) : undefined
  if (kind !== undefined) return heldOf(l, of, kind, key, node)
  const found = called(l, of, name, [exprValue(key.number), ...searching(l, of, node)], node)
  if (found.kind !== 'expr') return found
  const { isThere } = key
  const span = l.span(node)
  const nothing = literal(name === 'get' ? undefined : false, span)
  const all = isThere === undefined ? found.expr : conditional(isThere, found.expr, nothing, span)
  if (name !== 'get') return exprValue(all)
  const value = valueHeld(l, of, all, { mayBeMissing: true })
  l.gotten.set(value, of)
  return exprValue(value)
}

/** Lowers the list or object that a Map has under a key. */
function heldOf(l: Lowering, of: Collection, kind: number, { number, isThere }: Key, node: AnyNode): Value {
  const found = called(l, of, 'getHeld', [exprValue(number), ...searching(l, of, node)], node)
  if (found.kind !== 'expr') return found
  const { span } = number
  const held = isThere === undefined ? found.expr : conditional(isThere, found.expr, literal(-1, span), span)
  return { kind: 'held', of: kind, number: l.temporary(held, 'value'), mayBeAbsent: true }
}

/** Emits what puts a key, or a key and a value, into a collection; false where it is refused. */
export function putIn(l: Lowering, of: Collection, [given, value]: readonly Value[], node: AnyNode): boolean {
  const expr = l.scalarOrNothing(given ?? REFUSED, node)
  if (value !== undefined && isHeldValue(l, of, value)) {
    const key = expr && keyPut(l, of, expr, node)
    return key !== undefined && putHeld(l, of, key, value, node)
  }
  const held = isMap(of) ? l.scalarOrNothing(value ?? REFUSED, node) : expr
  return expr !== undefined && held !== undefined && putKey(l, of, keyPut(l, of, expr, node), held, node)
}

/** Returns the number of a key that is put into a collection. */
export function keyPut(l: Lowering, of: Collection, expr: Expr, node: AnyNode): Expr {
  const span = l.span(node)
  if (l.isKeyed(of.site, 'text keys')) return l.stabilized(codeOfText(l, expr, span, { isName: isDictionary(of) }))
  const key = l.stabilized(expr)
  checkNumber(l, arrayOf(of, 'keys'), key, node, { keyed: { site: of.site, of: 'keys' } })
  return key
}

/** Whether a value that a Map is given is a list or an object. */
export function isHeldValue(l: Lowering, of: Collection, value: Value): boolean {
  return isMap(of) && (heldKind(l, of) !== undefined || isListOrObject(l, value))
}

/** Emits what puts a list or an object under the number of a key; false where it is refused. */
export function putHeld(l: Lowering, of: Collection, key: Expr, value: Value, node: AnyNode): boolean {
  const kind = heldKind(l, of)
  if (kind === undefined) {
    noteHeldValue(l, of, value)
    l.foundGrowing.push({ site: of.site, count: l.turnsInside(of.site.loops ?? 0) ?? Number.POSITIVE_INFINITY })
    return l.refuse('object-as-value', node).kind !== 'refused'
  }
  const isAbsent = absentLiteral(value) !== undefined || (value.kind === 'held' && value.mayBeAbsent === true)
  if (isAbsent) l.foundKeyed.push({ site: of.site, as: 'absent values' })
  const number = l.verbs.heldNumber(l, kind, value, { node, mayBeAbsent: holdsAbsent(l, of) })
  return number !== undefined && putKey(l, of, key, number, node)
}

/** Emits what puts a value under the number of a key into a Map, or the key into a Set. */
export function putKey(l: Lowering, of: Collection, key: Expr, held: Expr, node: AnyNode): boolean {
  const span = l.span(node)
  const turns = l.turnsInside(of.site.loops ?? 0) ?? Number.POSITIVE_INFINITY
  l.foundGrowing.push({ site: of.site, count: turns })
  const kept = isMap(of) ? numberHeld(l, of, held, node) : l.stabilized(binary('+', key, literal(0, span), span)) // the values of a Set are its keys
  const room = roomOf(l, of.site)
  const message = `${of.owner.name} is given more than ${room.toLocaleString('en')} keys. Put what it holds into an array that is long enough, as new Uint8Array(n).`
  const args = [
    exprValue(key),
    ...searching(l, of, node),
    exprValue(kept),
    exprValue(literal(room, span)),
    exprValue(literal(message, span)),
    libraryFunction(l, (hasSlotsByCode(l, of.site) ? enoughSlots : moreSlots) as AnyFunction, 'grow', node),
  ]
  return called(l, of, 'set', args, node).kind !== 'refused'
}

/** Returns the number that a Map holds for a value. */
function numberHeld(l: Lowering, of: Collection, value: Expr, node: AnyNode): Expr {
  const span = l.span(node)
  if (heldKind(l, of) !== undefined) return l.stabilized(value)
  if (l.isKeyed(of.site, 'text values')) return l.stabilized(codeOfText(l, value, span))
  const kept = l.stabilized(value)
  const areTruths = l.isKeyed(of.site, 'truth values')
  if (!areTruths) checkNumber(l, arrayOf(of, 'values'), kept, node, { keyed: { site: of.site, of: 'values' } })
  else if (!isBoolean(kept))
    l.checks.push({
      expr: kept,
      holds: (kinds) => kinds?.every((kind) => kind === 'bool') === true,
      refusal: refusalOf('local-array-truth', span, of.owner.name),
    })
  return areTruths ? conditional(kept, literal(1, span), literal(0, span), span) : kept
}

/** Returns the value for which a Map holds a number; with `mayBeMissing` the number is undefined where there is none. */
function valueHeld(l: Lowering, of: Collection, number: Expr, { mayBeMissing = false } = {}): Expr {
  const { span } = number
  const absent = literal(undefined, span)
  if (l.isKeyed(of.site, 'text values'))
    return textOfCode(l, mayBeMissing ? logical('??', number, literal(NONE, span), span) : number, span)
  if (!isMap(of) || !l.isKeyed(of.site, 'truth values')) return number
  const isTrue = binary('===', number, literal(1, span), span)
  return mayBeMissing ? conditional(binary('==', number, literal(null, span), span), absent, isTrue, span) : isTrue
}

/** Returns the value of an entry by what the array of values has. */
function valueAt(l: Lowering, of: Collection, number: Expr): Value {
  const kind = heldKind(l, of)
  if (kind === undefined) return exprValue(valueHeld(l, of, number))
  return { kind: 'held', of: kind, number, ...(holdsAbsent(l, of) ? { mayBeAbsent: true } : {}) }
}

/** Returns the key for which a collection holds a number. */
function keyHeld(l: Lowering, of: Collection, number: Expr): Expr {
  return l.isKeyed(of.site, 'text keys') ? textOfCode(l, number, number.span) : number
}

interface Key {
  readonly number: Expr
  /** Whether there may be such a key at all. */
  readonly isThere?: Expr
}

/** Returns a key as a number, with the test that it is one, where an element of a captured list may be undefined: no such key is there. */
function keyOf(l: Lowering, of: Collection, given: Value, node: AnyNode): Key | undefined {
  const [span, expr] = [l.span(node), l.scalarOrNothing(given, node)]
  if (expr === undefined) return undefined
  if (l.isKeyed(of.site, 'text keys')) return { number: l.stabilized(codeOfText(l, expr, span, { isName: isDictionary(of) })) }
  const key = l.stabilized(expr)
  if (isLookedUp(l, key) && !(key.kind === 'Lookup' && l.textsOf(key) !== undefined))
    return { number: l.temporary(unary('+', key, span), 'key'), isThere: binary('!=', key, literal(null, span), span) }
  const holds = (kinds: readonly string[] | undefined): boolean => kinds?.every((kind) => NUMBERS.has(kind)) === true
  l.checks.push({ expr: key, holds, refusal: refusalOf('collection-key', span, of.owner.name), keyed: { site: of.site, of: 'keys' } })
  return { number: key }
}

function searching(l: Lowering, { site }: Collection, node: AnyNode): readonly Value[] {
  const found = hasSlotsByCode(l, site) ? slotOfCode : place
  const by = l.textShapes.length > 0 && l.isKeyed(site, 'text keys') ? hashOfBuilt : hash
  return [libraryFunction(l, found as AnyFunction, 'place', node), libraryFunction(l, by as AnyFunction, 'hash', node)]
}

function called(l: Lowering, of: Collection, name: string, args: readonly Value[], node: AnyNode): Value {
  const value = l.verbs.inline(l, libraryFunction(l, METHODS[name] as AnyFunction, name, node), [of, ...args], node) // one that is there
  return value.kind === 'expr' ? exprValue(l.stabilized(value.expr)) : value
}

function arrayOf(of: Collection, part: string): string {
  const storage = storedPart(of, part)
  return storage?.kind === 'fixed' && storage.value.kind === 'view' ? storage.value.array : ''
}

/** Returns what iterating over an expression gives, as a list: of a Set, or of a Map's keys or values, from which nothing is removed. */
export function iterableOf(l: Lowering, node: Expression): Value {
  const call = node.type === 'CallExpression' && node.arguments.length === 0 && !node.optional ? node.callee : undefined
  const name = call?.type === 'MemberExpression' && !call.computed && call.property.type === 'Identifier' ? call.property.name : ''
  const isPart = name === 'keys' || name === 'values' || name === 'entries'
  const before = l.out.length
  const inner = isPart && call?.type === 'MemberExpression' && call.object.type !== 'Super' ? call.object : undefined
  const whole = (): Value => (node.type === 'CallExpression' ? spreadGenerator(l, node) : l.verbs.value(l, node))
  const of = inner === undefined ? whole() : inner.type === 'Identifier' ? l.verbs.value(l, inner) : REFUSED
  if (isCollection(of) && isMap(of) && (inner === undefined || name === 'entries'))
    return l.verbs.inline(l, libraryFunction(l, pairsOf as AnyFunction, 'entries', node), [of], node)
  if (isCollection(of) && (isPart || !isMap(of)) && name !== 'entries') {
    return listOf(l, of, isMap(of) && name === 'values' ? 'values' : 'keys', node)
  }
  if (inner === undefined) return of
  l.out.length = before
  return l.verbs.value(l, node)
}

/** Returns the keys or the values of a collection where they lie, from which nothing is removed. */
export function listOf(l: Lowering, of: Collection, part: 'keys' | 'values', node: AnyNode): Value {
  if (l.isAmong(l.shifted, of.site)) return l.refuse('collection-iterated', node, of.owner.name)
  const kind = part === 'values' ? heldKind(l, of) : undefined
  const absent = holdsAbsent(l, of) ? ({ mayBeAbsent: true } as const) : {}
  const areOther = part === 'keys' ? ['text keys' as const] : ['text values' as const, 'truth values' as const]
  if (areOther.some((as) => l.isKeyed(of.site, as))) return l.refuse('collection-texts', node, of.owner.name)
  const [used, array] = [storedPart(of, 'used'), arrayOf(of, part)]
  if (used?.kind === 'scalar') l.sizes.set(array, { end: used.local, room: MOST_ENTRIES, most: MOST_ENTRIES, name: of.owner.name })
  if (kind !== undefined)
    return {
      kind: 'records',
      list: { ...ELEMENTS, name: of.owner.name, site: of.site, arrays: [array], parts: { kind: 'leaf', number: 0, list: kind, ...absent } },
    }
  return { kind: 'view', array, prefix: [], rank: 1 }
}

const ELEMENTS = { isMoved: false, hasShared: false, hasCopies: false, isChanged: false }

/** Returns the number of entries in the order in which they were put in, dead ones included. */
export function entriesPut(of: Collection, span: Span): Expr {
  const used = storedPart(of, 'used')
  return { kind: 'Local', name: used?.kind === 'scalar' ? used.local : '', span }
}

/**
 * Returns the entries of a collection, those included that are put in while a loop goes through them: pairs of a Map, or its keys or values.
 * What gives an entry goes on with the next one where it was removed.
 */
export function entriesOf(l: Lowering, of: Collection, node: AnyNode, part: 'keys' | 'values' | 'entries' = 'entries'): ByIndex {
  const span = l.span(node)
  const read = (array: string, at: Expr): Expr => ({ kind: 'Read', array: arrayOf(of, array), subscripts: [at], span })
  return {
    length: entriesPut(of, span),
    item: (at) => {
      const isDead = binary('===', read('alive', at), literal(0, span), span)
      if (l.isAmong(l.shifted, of.site)) l.emit(...makeIf(isDead, [{ kind: 'Continue', span }], [], span))
      const key = exprValue(keyHeld(l, of, l.temporary(read('keys', at), 'key')))
      const value = isMap(of) ? valueAt(l, of, l.temporary(read('values', at), 'value')) : key
      if (part !== 'entries') return part === 'keys' ? key : value
      return isMap(of) ? { kind: 'tuple', items: [key, value] } : key
    },
  }
}
