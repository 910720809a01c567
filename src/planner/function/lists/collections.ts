/**
 * Sets and Maps of numbers that a loop's body makes for itself: hash tables in arrays of its own.
 *
 *     const seen = new Set()                  keys, values, alive, slots: arrays; used, size, mask: locals
 *     if (!seen.has(v)) seen.add(v)           what `collectionMethods.ts` has, written out
 *     for (const [v, count] of counts) …      a loop over the entries in the order in which they were put in
 *
 * Keys are compared as JavaScript compares them (SameValueZero): NaN equals itself, and -0 is 0. A table has room for as many entries as
 * the loops around what adds them have iterations; where only the run tells, for a fixed number, and one more is an error of the run.
 */
import type { AnyNode, CallExpression, Expression, NewExpression } from 'acorn'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import { binary, conditional, literal, makeIf, unary } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { isLookedUp } from '../surelyNumbers.ts'
import type { AnyFunction } from '../unit.ts'
import { hash, METHODS, place } from './collectionMethods.ts'
import { type Collection, isCollection, isMap } from './collectionValue.ts'
import { elements } from './elements.ts'
import { type ByIndex, eachElement, elementsOf } from './listElements.ts'
import { arrayOfBody, checkNumber, eachIndex, fill, type Made, NUMBERS, type View } from './madeArrays.ts'
import { platformValue } from './places.ts'
import { storedLiteral, storedPart } from './stored.ts'

/** Most entries of a table for which no loop says how many there may be. */
const MOST_ENTRIES = 2 ** 15
const FIRST_SLOTS = 16

/** Lowers `new Set()`, `new Set(list)`, `new Map([[k, v]])`; undefined for other constructors. */
export function newCollection(l: Lowering, node: NewExpression): Value | undefined {
  const made = l.context.kind === 'loop' ? platformValue(l, node.callee) : undefined
  const [given, another] = node.arguments
  if ((made !== Set && made !== Map) || another !== undefined || given?.type === 'SpreadElement') return undefined
  const name = l.takeName('collection')
  const from = given === undefined ? undefined : iterableOf(l, given)
  if (from?.kind === 'refused') return REFUSED
  const [span, site] = [l.span(node), { unit: l.unit, start: node.start, loops: l.loops.length }]
  const room = Math.min(Math.max(1, l.capacityOf(site) ?? 1), MOST_ENTRIES)
  const slotCount = Math.max(FIRST_SLOTS, 4 * 2 ** Math.ceil(Math.log2(room)))
  const array = (part: string, dtype: DType, length: number): View | undefined => {
    const what: Made = { name: `${name}_${part}`, dtype, node, text: span.text, ...(dtype === 'f64' ? { isList: true } : {}) }
    const one = arrayOfBody(l, what, [length])
    return one === undefined ? undefined : { kind: 'view', array: one, prefix: [], rank: 1 }
  }
  const arrays = {
    keys: array('keys', 'f64', room),
    alive: array('alive', 'u8', room),
    slots: array('slots', 'i32', Math.min(slotCount, 2 * MOST_ENTRIES)),
  }
  const counters = { used: 0, size: 0, mask: FIRST_SLOTS - 1 }
  const { keys } = arrays
  const parts = { ...arrays, values: made === Map ? array('values', 'f64', room) : keys }
  const fields = [
    ...Object.entries(parts).map(([part, value]) => ({ name: part, value: value ?? REFUSED })),
    ...Object.entries(counters).map(([part, value]) => ({ name: part, value: exprValue(literal(value, span)) })),
  ]
  if (arrays.slots === undefined || fields.some(({ value }) => value.kind === 'refused')) return REFUSED
  fill(l, arrays.slots, FIRST_SLOTS, literal(0, span), node)
  const collection = storedLiteral(l, name, { kind: 'record', fields, prototype: (made as typeof Set).prototype, site }, node)
  if (!isCollection(collection) || from === undefined) return collection
  return putAll(l, collection, from, node)
}

/** Emits what puts the elements of a list, or pairs of keys and values, into a new collection. */
function putAll(l: Lowering, collection: Collection, from: Value, node: AnyNode): Value {
  const put = (item: Value): boolean => {
    if (!isMap(collection)) return putIn(l, collection, [item], node)
    return item.kind === 'tuple' && item.items.length === 2 && putIn(l, collection, item.items, node)
  }
  if (from.kind === 'tuple') return from.items.every(put) ? collection : l.refuse('collection-of', node)
  const source = elementsOf(l, from, node)
  if (source === undefined || isMap(collection)) return l.refuse('collection-of', node)
  eachElement(l, source, node, (item) => void put(item))
  return collection
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
  if (name === 'clear') return called(l, of, 'clear', [], node)
  const key = keyOf(l, of, args[0] ?? REFUSED, node)
  if (key === undefined) return REFUSED
  const found = called(l, of, name, [exprValue(key.number), ...searching(l, node)], node)
  if (key.isThere === undefined || found.kind !== 'expr') return found
  const { isThere } = key
  const span = l.span(node)
  const nothing = literal(name === 'get' ? undefined : false, span)
  return exprValue(conditional(isThere, found.expr, nothing, span))
}

/** Emits what puts a key, or a key and a value, into a collection; false where it is refused. */
function putIn(l: Lowering, of: Collection, [given, value]: readonly Value[], node: AnyNode): boolean {
  const span = l.span(node)
  const turns = l.turnsInside(of.site.loops ?? 0) ?? Number.POSITIVE_INFINITY
  l.foundGrowing.push({ site: of.site, count: turns })
  const expr = l.scalarOrNothing(given ?? REFUSED, node)
  const held = isMap(of) ? l.scalarOrNothing(value ?? REFUSED, node) : expr
  if (expr === undefined || held === undefined) return false
  const key = l.stabilized(expr)
  const kept = l.stabilized(isMap(of) ? held : binary('+', key, literal(0, span), span)) // the values of a Set are its keys
  checkNumber(l, arrayOf(of, 'keys'), key, node)
  if (isMap(of)) checkNumber(l, arrayOf(of, 'values'), kept, node)
  const room = Math.min(Math.max(1, l.capacityOf(of.site) ?? 1), MOST_ENTRIES)
  const message = `${of.owner.name} is given more than ${room.toLocaleString('en')} keys. Put what it holds into an array that is long enough, as new Uint8Array(n).`
  const args = [exprValue(key), ...searching(l, node), exprValue(kept), exprValue(literal(room, span)), exprValue(literal(message, span))]
  return called(l, of, 'set', args, node).kind !== 'refused'
}

/** Returns a key as a number, with the test that it is one, where an element of a captured list may be undefined: no such key is there. */
function keyOf(l: Lowering, of: Collection, given: Value, node: AnyNode): { readonly number: Expr; readonly isThere?: Expr } | undefined {
  const [span, expr] = [l.span(node), l.scalarOrNothing(given, node)]
  if (expr === undefined) return undefined
  const key = l.stabilized(expr)
  if (isLookedUp(l, key))
    return { number: l.temporary(unary('+', key, span), 'key'), isThere: binary('!=', key, literal(null, span), span) }
  const holds = (kinds: readonly string[] | undefined): boolean => kinds?.every((kind) => NUMBERS.has(kind)) === true
  l.checks.push({ expr: key, holds, refusal: refusalOf('collection-key', span, of.owner.name) })
  return { number: key }
}

function searching(l: Lowering, node: AnyNode): readonly Value[] {
  return [libraryFunction(l, place as AnyFunction, 'place', node), libraryFunction(l, hash as AnyFunction, 'hash', node)]
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
  const isPart = name === 'keys' || name === 'values'
  const before = l.out.length
  const inner = isPart && call?.type === 'MemberExpression' && call.object.type !== 'Super' ? call.object : undefined
  const of = inner === undefined || inner.type === 'Identifier' ? l.verbs.value(l, inner ?? node) : REFUSED
  if (isCollection(of) && (isPart || !isMap(of))) {
    if (l.isShifted(of.site)) return l.refuse('collection-iterated', node, of.owner.name)
    const [used, array] = [storedPart(of, 'used'), arrayOf(of, isMap(of) && name === 'values' ? 'values' : 'keys')]
    if (used?.kind === 'scalar') l.sizes.set(array, { end: used.local, room: MOST_ENTRIES, most: MOST_ENTRIES, name: of.owner.name })
    return { kind: 'view', array, prefix: [], rank: 1 }
  }
  if (inner === undefined) return of
  l.out.length = before
  return l.verbs.value(l, node)
}

/**
 * Returns the entries of a collection, those included that are put in while a loop goes through them: pairs of a Map, or its keys or values.
 * What gives an entry goes on with the next one where it was removed.
 */
export function entriesOf(l: Lowering, of: Collection, node: AnyNode, part: 'keys' | 'values' | 'entries' = 'entries'): ByIndex {
  const span = l.span(node)
  const used = storedPart(of, 'used')
  const read = (array: string, at: Expr): Expr => ({ kind: 'Read', array: arrayOf(of, array), subscripts: [at], span })
  return {
    length: { kind: 'Local', name: used?.kind === 'scalar' ? used.local : '', span },
    item: (at) => {
      const isDead = binary('===', read('alive', at), literal(0, span), span)
      if (l.isShifted(of.site)) l.emit(...makeIf(isDead, [{ kind: 'Continue', span }], [], span))
      const key = exprValue(l.temporary(read('keys', at), 'key'))
      const value = isMap(of) ? exprValue(l.temporary(read('values', at), 'value')) : key
      if (part !== 'entries') return part === 'keys' ? key : value
      return isMap(of) ? { kind: 'tuple', items: [key, value] } : key
    },
  }
}
