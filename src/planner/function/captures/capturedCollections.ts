/** Lowers what a loop's body asks of captured Maps and Sets of numbers, to tables by the places of keys (`capturedLookups.ts`). */
import type { AnyNode, CallExpression, Expression } from 'acorn'
import type { Expr, Primitive } from '../../../core/ir/functionIr.ts'
import { noteShapes } from '../lists/keyed/builtTexts.ts'
import { binary, conditional, literal, logical, negated, unary } from '../lower/build.ts'
import { rangeOf } from '../lower/indexRanges.ts'
import type { Lowering } from '../lower/lowering.ts'
import { codeOfText } from '../lower/textLocals.ts'
import { type Data, exprValue, REFUSED, type Value } from '../lower/value.ts'
import { byTexts, isExactly, keyedByRow } from './capturedKeys.ts'
import { isList, isPlainRecord, MOST_ELEMENTS, type Row, raggedRow, recordRow, tableFor } from './capturedLookups.ts'
import { libraryFunction } from './libraryFunctions.ts'
import { numbersOf } from './numbersOf.ts'
import { codeOf } from './textCodes.ts'

/** Most places that a table may have for each key. */
const PLACES_A_KEY = 8
const FEW_PLACES = 1_024

/** Lowers `map.get(k)`, `map.has(k)`, `set.has(k)`; undefined for other data and methods. */
export function keyedMethod(l: Lowering, data: Data, name: string, node: CallExpression): Value | undefined {
  const { value } = data
  const [argument, another] = node.arguments
  if (l.context.kind === 'row') return keyedByRow(l, data, name, node)
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const isMap = isExactly(value, Map)
  if ((!isMap && !isExactly(value, Set)) || (name !== 'has' && !(isMap && name === 'get'))) return undefined
  const keys: readonly unknown[] = [...value.keys()]
  const values: readonly unknown[] = [...value.values()]
  const areNumbers = keys.every((key) => typeof key === 'number' && !Number.isNaN(key)) && keys.length <= MOST_ELEMENTS
  const before = l.out.length
  const key = l.scalarOrNothing(l.verbs.value(l, argument as Expression), argument)
  if (key === undefined) return REFUSED
  const span = l.span(node)
  if (keys.length === 0) return exprValue(literal(name === 'has' ? false : undefined, span))
  const ofBuilt = keys.every((one) => typeof one === 'string') ? byBuiltTexts(l, data, key, name, node) : undefined
  if (ofBuilt !== undefined) return ofBuilt
  const ofTexts = byTexts(
    l,
    data,
    key,
    { name, answer: (text) => (name === 'has' ? value.has(text) : (value as Map<unknown, unknown>).get(text)) },
    node,
  )
  if (ofTexts !== undefined) return ofTexts
  const places = areNumbers
    ? (directPlaces(l, data, keys as number[], key, node) ?? sortedPlaces(l, data, keys as number[], key, node))
    : undefined
  if (places !== undefined && name === 'has') return exprValue(places.isThere)
  const found = places && valueAt(l, data, places, values, node)
  if (found === undefined) l.out.length = before // the body runs as it stands
  return found
}

/**
 * Lowers what is asked for a text that the body makes of numbers, as `walls.has(`${x},${y}`)`: texts are found by their codes. Undefined in
 * bodies that make none, of which the first try notes the shapes.
 */
function byBuiltTexts(l: Lowering, data: Data, key: Expr, name: string, node: CallExpression): Value | undefined {
  noteShapes(l, key, new Map())
  if (l.textShapes.length === 0) return undefined
  const span = l.span(node)
  const coded = codedCollection(l, data)
  const code = l.stabilized(codeOfText(l, key, span), 'code')
  const keys = [...(coded.value as Map<number, unknown>).keys()]
  const places = sortedPlaces(l, coded, keys, code, node)
  if (places === undefined || name === 'has') return places && exprValue(places.isThere)
  return valueAt(l, coded, places, [...(coded.value as Map<number, unknown>).values()], node)
}

/** The Maps of codes that were made of captured collections of texts, by lowering. */
const CODED: WeakMap<Lowering, Map<object, ReadonlyMap<number, unknown>>> = new WeakMap()

function codedCollection(l: Lowering, { name, value }: Data): Data {
  const made = CODED.get(l) ?? new Map<object, ReadonlyMap<number, unknown>>()
  CODED.set(l, made)
  const entries: Iterable<readonly [string, unknown]> = value instanceof Map ? value : (value as Set<string>).entries() // of texts
  const coded = made.get(value) ?? new Map(Array.from(entries, ([text, one]) => [codeOf(l, text), one]))
  made.set(value, coded)
  return { kind: 'data', value: coded, name, origin: 'capture', made: true }
}

/** The place of a key in the tables of a Map or a Set, and whether the key exists. */
interface Places {
  readonly at: Expr
  readonly isThere: Expr
  /** The key of each place; undefined for a place without a key. */
  readonly keys: readonly (number | undefined)[]
}

/** Gives whole numbers that lie close together a place each, from the least on; undefined for other keys. */
function directPlaces(l: Lowering, data: Data, keys: readonly number[], key: Expr, node: AnyNode): Places | undefined {
  const least = keys.reduce((a, b) => Math.min(a, b))
  const count = keys.reduce((a, b) => Math.max(a, b)) - least + 1
  if (!keys.every(Number.isSafeInteger) || count > Math.max(FEW_PLACES, PLACES_A_KEY * keys.length) || count > MOST_ELEMENTS)
    return undefined
  const span = l.span(node)
  const wanted = l.stabilized(key, 'key')
  const at = l.stabilized(binary('-', wanted, literal(least, span), span), 'place')
  const present = new Uint8Array(count)
  for (const one of keys) present[one - least] = 1
  const isPresent = binary(
    '>',
    { kind: 'Lookup', table: tableFor(l, data, 'keys', () => present), index: at, span },
    literal(0, span),
    span,
  )
  // the difference of a key that is not whole may be rounded to a whole number, as of 1e-17 and -1
  const isKey = binary('===', binary('+', at, literal(least, span), span), wanted, span)
  const isThere = least >= 0 || rangeOf(l, wanted) !== undefined ? isPresent : logical('&&', isPresent, isKey, span)
  return { at, isThere, keys: Array.from(present, (is, place) => (is === 1 ? place + least : undefined)) }
}

/** Finds other numbers by binary search in a sorted table. */
function sortedPlaces(l: Lowering, data: Data, keys: readonly number[], key: Expr, node: AnyNode): Places | undefined {
  const span = l.span(node)
  const sorted = Float64Array.from(keys).sort()
  const wanted = l.stabilized(key, 'key')
  const table = tableFor(l, data, 'sorted', () => sorted)
  const held = l.tables.find((one) => one.name === table)
  const list: Value = { kind: 'data', value: (held?.of ?? sorted) as object, name: table, origin: 'capture' }
  const found = l.verbs.inline(l, libraryFunction(l, placeAmong as never, 'get', node), [list, exprValue(wanted)], node)
  const at = l.scalarOrNothing(found, node)
  if (at === undefined) return undefined
  const place = l.stabilized(at, 'place')
  const isThere = binary('===', unary('+', { kind: 'Lookup', table, index: place, span }, span), wanted, span)
  return { at: place, isThere, keys: [...sorted] }
}

/** Returns the index of the first of ascending numbers that is not below `key`, or of the last. */
function placeAmong(keys: ArrayLike<number>, key: number): number {
  let low = 0
  let high = keys.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keys[middle] as number) < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Lowers a Map's value at a place: a number, a list of primitives or an object; undefined for Maps of anything else. */
function valueAt(l: Lowering, data: Data, { at, isThere, keys }: Places, values: readonly unknown[], node: AnyNode): Value | undefined {
  const span = l.span(node)
  const map = data.value as Map<unknown, unknown> // only Maps have values at places
  if (values.every((one) => typeof one === 'number')) {
    const held = () => numbersOf(keys.map((key) => (key === undefined ? 0 : (map.get(key) as number))))
    const found = unary('+', { kind: 'Lookup', table: tableFor(l, data, 'values', held), index: at, span }, span)
    return exprValue(conditional(isThere, found, literal(undefined, span), span))
  }
  const [first] = values
  if (isPlainRecord(first)) {
    const objects = keys.map((key) => (key === undefined ? first : map.get(key)))
    return recordRow(l, data, objects, () => absentUnless(at, isThere))
  }
  if (!values.every(isList)) return undefined
  const rows = keys.map((key) => (key === undefined ? [] : (map.get(key) as readonly Primitive[])))
  return raggedRow(l, data, rows, absentUnless(at, isThere), node)
}

function absentUnless(at: Expr, isThere: Expr): Row {
  return { row: at, absent: negated(isThere, isThere.span) }
}
