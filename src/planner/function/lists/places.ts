/**
 * Lists that are made by their number of places, and by what a place gets of its index:
 *
 *     new Array(8).fill(false)     Array.from({ length: n }, (_, k) => k * k)     [...Array(n).keys()]
 *     Array(3).fill(null).map(() => new Array(4).fill(0))                         rows of one array of two axes
 *
 * No list is made in between: what is mapped is computed where the place is filled.
 */
import type { AnyNode, Expression } from 'acorn'
import type { DType } from '../../../core/data/schema.ts'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, conditional, literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Site, type Value } from '../lower/value.ts'
import { sizedArray } from './grownLists.ts'
import { isList, noteRows } from './held/notes.ts'
import { lengthOf } from './listElements.ts'
import { checkNumber, eachIndex, elementRead, fill, lengthIn, type Made, typeLike, type View } from './madeArrays.ts'
import { listOfRows, made } from './movedArrays.ts'
import { emptyRecords, noteRecord, pushedRecord } from './records.ts'
import { isObject, partsOf } from './stored.ts'

/** The written form of such a list. */
type Form =
  | { readonly kind: 'empty'; readonly length: Expression; readonly isArray: boolean }
  | { readonly kind: 'filled'; readonly of: Form; readonly value: Expression; readonly isArray: true }
  | { readonly kind: 'mapped'; readonly of: Form; readonly f: Expression; readonly isArray: true }
  | { readonly kind: 'keys'; readonly of: Form; readonly isArray: boolean }

export interface Places {
  readonly length: number | Expr
  readonly item: (at: Expr) => Value
  /** The value of all places, where they have one. */
  readonly same?: Expr
}

/** The elements of a typed array. */
export type NumberType = Pick<Made, 'dtype' | 'isClamped'>

type Typed = Pick<Made, 'dtype' | 'isList' | 'isBoolean' | 'isClamped'>

/** Returns the platform's function or class that a name stands for; undefined for the user's own. */
export function platformValue(l: Lowering, node: AnyNode): unknown {
  if (node.type !== 'Identifier' || l.unit.names.bindingOf.get(node) !== undefined) return undefined
  const free = l.unit.freeOf(node)
  return free.kind === 'global' ? free.value : undefined
}

/** Lowers a list of places, or the typed array of a type; undefined for anything else. */
export function listOfPlaces(
  l: Lowering,
  node: AnyNode,
  how: { readonly typed?: NumberType | undefined; readonly name?: string } = {},
): Value | undefined {
  const { dtype, ...isClamped } = how.typed ?? {}
  const form = l.context.kind === 'loop' ? formOf(l, node, dtype !== undefined) : undefined
  if (form?.isArray !== true) return undefined
  const name = how.name ?? l.takeName('local')
  const places = placesOf(l, form, node)
  if (places === undefined) return REFUSED
  const { length, same } = places
  const records = dtype === undefined ? recordsOfPlaces(l, name, places, node) : undefined
  if (records !== undefined) return records
  const typed = (item: Expr): Typed => (dtype === undefined ? { isList: true, ...typeLike(item) } : { dtype, ...isClamped })
  if (same === undefined) return eachPlace(l, { name, node, typed, isPlain: dtype === undefined }, places)
  const what = { name, node, ...typed(same) }
  const list = typeof length === 'number' ? made(l, what, [length]) : sizedArray(l, what, length)
  if (list === undefined) return REFUSED
  fill(l, list, typeof length === 'number' ? length : lengthIn(l, list, node), same, node)
  return list
}

/** Returns what a list of places gets, for one that is held; undefined for anything else. */
export function listPlaces(l: Lowering, node: AnyNode): Places | 'refused' | undefined {
  const form = formOf(l, node)
  return form?.isArray === true ? (placesOf(l, form, node) ?? 'refused') : undefined
}

/** Returns the form of a list, or of something that is iterated over; undefined for other expressions. */
function formOf(l: Lowering, node: AnyNode, isFrom = false): Form | undefined {
  if (node.type === 'ParenthesizedExpression') return formOf(l, node.expression)
  if (node.type === 'ArrayExpression') {
    const [only, another] = node.elements
    const of = only?.type === 'SpreadElement' && another === undefined ? formOf(l, only.argument) : undefined
    return of && { ...of, isArray: true }
  }
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return undefined
  const { callee } = node
  const [first, second, third] = node.arguments
  if (first?.type === 'SpreadElement' || second?.type === 'SpreadElement' || third !== undefined) return undefined
  if (platformValue(l, callee) === Array)
    return first !== undefined && second === undefined ? { kind: 'empty', length: first, isArray: false } : undefined
  if (callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier') return undefined
  if (callee.object.type === 'Super' || node.type === 'NewExpression' || node.optional || callee.optional) return undefined
  const { name } = callee.property
  if (name === 'from' && (isFrom || platformValue(l, callee.object) === Array)) {
    const of = first && (lengthOfLike(first) ?? formOf(l, first))
    return of && (second === undefined ? { ...of, isArray: true } : { kind: 'mapped', of, f: second, isArray: true })
  }
  const of = second === undefined && /^(fill|map|keys)$/.test(name) ? formOf(l, callee.object) : undefined
  if (of === undefined || (first === undefined) !== (name === 'keys')) return undefined
  if (first === undefined) return { kind: 'keys', of, isArray: false }
  if (name === 'fill') return { kind: 'filled', of, value: first, isArray: true }
  return of.isArray ? { kind: 'mapped', of, f: first, isArray: true } : undefined // holes are not mapped
}

/** Returns the form of `{ length: n }`. */
function lengthOfLike(like: AnyNode): Form | undefined {
  const [property, another] = like.type === 'ObjectExpression' ? like.properties : []
  if (property?.type !== 'Property' || property.computed || another !== undefined) return undefined
  if (property.key.type !== 'Identifier' || property.key.name !== 'length') return undefined
  return { kind: 'empty', length: property.value as Expression, isArray: true } // of an object that is no pattern
}

/** Lowers what a form evaluates once; undefined where it is refused. */
function placesOf(l: Lowering, form: Form, node: AnyNode): Places | undefined {
  const span = l.span(node)
  if (form.kind === 'empty') {
    const given = l.verbs.value(l, form.length)
    const length = lengthOf(l, given) ?? (given.kind === 'expr' ? runLength(l, given.expr, form.isArray, span) : undefined)
    if (length === undefined) l.refuse('local-array-length', form.length, span.text)
    return length === undefined ? undefined : { length, item: () => exprValue(literal(undefined, span)) }
  }
  const of = placesOf(l, form.of, node)
  if (of === undefined) return undefined
  if (form.kind === 'keys') return { length: of.length, item: exprValue }
  if (form.kind === 'filled') {
    const given = l.scalarOrNothing(l.verbs.value(l, form.value), form.value)
    const same = given && l.stabilized(given)
    return same && { length: of.length, item: () => exprValue(same), same }
  }
  const f = l.verbs.value(l, form.f)
  const seesList = f.kind === 'closure' && (f.node.params.length > 2 || f.node.params.some(({ type }) => type === 'RestElement'))
  if (f.kind === 'closure' && !seesList)
    return { length: of.length, item: (at) => l.verbs.inline(l, f, [of.item(at), exprValue(at)], node) }
  if (f.kind !== 'refused') l.refuse('unknown-method', form.f, `map(${l.span(form.f).text})`)
  return undefined
}

/** Returns a length that only the run tells; that of an object like a list is whole, and not below zero. */
function runLength(l: Lowering, given: Expr, isOfLike: boolean, span: Span): Expr {
  const count = l.stabilized(given, 'count')
  if (!isOfLike) return count
  const floor: Expr = { kind: 'Call', callee: 'Math.floor', args: [count], span }
  return l.temporary(conditional(binary('>=', count, literal(1, span), span), floor, literal(0, span), span), 'count')
}

/** Emits the loop that fills the places: with numbers or truth values, or with rows of a second axis. */
function eachPlace(
  l: Lowering,
  { name, node, typed, isPlain }: Pick<Made, 'name' | 'node'> & { readonly typed: (item: Expr) => Typed; readonly isPlain: boolean },
  { length, item }: Places,
): Value {
  const span = l.span(node)
  let list: View | undefined
  if (typeof length !== 'number') return eachSized(l, { name, node, typed, length, item })
  const write = (at: readonly Expr[], value: Expr): void => {
    if (list === undefined) return
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts: [...list.prefix, ...at], value, span })
  }
  eachIndex(l, length, node, (at) => {
    const before = new Set(l.locals.keys()) // an array that existed before would be every row
    const value = item(at)
    const row = isPlain && value.kind === 'view' && !before.has(value.array) ? rowIn(l, value) : undefined
    if (row !== undefined) {
      const { array, length: columns, ...type } = row
      list = made(l, { name, node, ...type }, [length, columns])
      eachIndex(l, columns, node, (k) => write([at, k], elementRead(l, array, [k], span)))
      return
    }
    const parts = value.kind === 'stored' ? partsOf(value, span) : value
    const isRow = isPlain && parts.kind === 'tuple'
    const items = isRow ? parts.items : [value]
    const exprs = items.map((one) => l.scalarOrNothing(one, node))
    const [first] = exprs
    if (isPlain && !isRow && isObject(value)) noteRecord(l, siteOf(l, node), value)
    // a row of one number is what grows, as in `Array.from({ length: n }, (_, i) => [i])` of edit distances
    if (items.length === 0 || (isRow && items.length === 1) || value.kind === 'held' || isList(l, value)) {
      noteRows(l, node, value)
      l.refuse('lists-of-lists', node, name)
    }
    if (first === undefined || exprs.includes(undefined)) return
    list = made(l, { name, node, ...typed(first) }, isRow ? [length, items.length] : [length])
    for (const [k, expr] of exprs.entries()) if (expr !== undefined) write(isRow ? [at, literal(k, span)] : [at], expr)
  })
  return (list && listOfRows(l, list, node)) ?? REFUSED
}

/** The place of a call that makes a list. */
function siteOf(l: Lowering, node: AnyNode): Site {
  return { unit: l.unit, start: -node.end, loops: l.loops.length }
}

/** Makes a list of objects, where an earlier try has found that places get objects; undefined otherwise. */
function recordsOfPlaces(l: Lowering, name: string, { length, item }: Places, node: AnyNode): Value | undefined {
  const site = siteOf(l, node)
  const shape = l.recordsAt(site)
  if (shape === undefined) return undefined
  const room = typeof length === 'number' ? length + (l.capacityOf(site) ?? 0) : Number.POSITIVE_INFINITY
  const of = emptyRecords(l, { name, node, site }, shape, room)
  if (of === undefined) return REFUSED
  eachIndex(l, length, node, (at) => void pushedRecord(l, of.list, l.stabilizedValue(item(at)), node))
  return of
}

/** Fills a list of as many places as only the run tells, with numbers or truth values. */
function eachSized(
  l: Lowering,
  {
    name,
    node,
    typed,
    length,
    item,
  }: Pick<Made, 'name' | 'node'> & Pick<Places, 'item'> & { readonly typed: (item: Expr) => Typed; readonly length: Expr },
): Value {
  let first: Expr | undefined
  const [before, refused] = [l.out.length, l.refusals.length]
  eachIndex(l, length, node, (at) => {
    const value = item(at)
    first = value.kind === 'expr' ? value.expr : undefined
    if (value.kind === 'tuple' || value.kind === 'held' || isList(l, value)) noteRows(l, node, value)
    else if (isObject(value)) noteRecord(l, siteOf(l, node), value)
  })
  l.out.length = before // only its type was asked
  if (l.refusals.length > refused) return REFUSED
  if (first === undefined) return l.refuse('local-array-length', node, l.span(node).text)
  const list = sizedArray(l, { name, node, ...typed(first) }, length)
  if (list === undefined) return REFUSED
  eachIndex(l, lengthIn(l, list, node), node, (at) => {
    const value = l.scalarOrNothing(item(at), node)
    if (value === undefined) return
    checkNumber(l, list.array, value, node)
    l.emit({ kind: 'Write', array: list.array, subscripts: [at], value, span: l.span(node) })
  })
  return list
}

/** Returns an array of one axis that can be the next row of an array of two axes; undefined for other values. */
function rowIn(l: Lowering, item: Value): (Typed & { readonly array: string; readonly length: number }) | undefined {
  if (item.kind !== 'view' || item.prefix.length > 0 || l.sizes.has(item.array)) return undefined
  const { array } = item
  const [shape, dtype] = [l.locals.get(array), l.dtypes.get(array)]
  const [length] = shape ?? []
  if (length === undefined || shape?.length !== 1 || dtype === undefined) return undefined
  const isList = l.lists.has(array) ? { isList: true as const } : {}
  return {
    array,
    dtype: dtype as DType,
    length,
    ...isList,
    ...(l.booleans.has(array) ? { isBoolean: true as const } : {}),
    ...(l.clamped.has(array) ? { isClamped: true as const } : {}),
  }
}
