/**
 * Arrays of numbers that a loop's body makes for itself, and whose elements it chooses by what it computes.
 *
 *     const bins = new Int32Array(16)            bins: an array that each worker has a copy of, zeroed where it stands
 *     bins[Math.floor(16 * v)]++                 Write bins [Math.floor(16 * v)] = Read bins [Math.floor(16 * v)] + 1
 *
 * To all that comes after, such an array is one of the arrays that a loop works with: subscripts are checked, loops over it have
 * lanes, and it is private to an iteration by the way it was made. Who has another name for it has the same array. What is
 * evaluated again begins anew, and nobody can have kept what it was before: no variable is given one array after another.
 * A subscript outside of it is an error of the run, as outside of any array, where JavaScript would give undefined.
 */
import type { AnyNode, CallExpression, Expression, NewExpression, SpreadElement } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { REFUSED, type Value } from '../lower/value.ts'
import { elements, isSplice } from './elements.ts'
import { listToFill, placesOfList, sizedArray } from './grownLists.ts'
import { noteGrowing } from './held/notes.ts'
import { iterableOf } from './keyed/collections.ts'
import { copied } from './listCopies.ts'
import { lengthOf } from './listElements.ts'
import { fill, lengthIn, type Made, put, typeLike, type View } from './madeArrays.ts'
import { listOfArrays, listOfRows, made } from './movedArrays.ts'
import { listOfPlaces, type NumberType, platformValue } from './places.ts'
import { partsOf } from './stored.ts'

const TYPES: ReadonlyMap<unknown, NumberType> = new Map<unknown, NumberType>([
  [Float64Array, { dtype: 'f64' }],
  [Float32Array, { dtype: 'f32' }],
  [Int32Array, { dtype: 'i32' }],
  [Uint32Array, { dtype: 'u32' }],
  [Int16Array, { dtype: 'i16' }],
  [Uint16Array, { dtype: 'u16' }],
  [Int8Array, { dtype: 'i8' }],
  [Uint8Array, { dtype: 'u8' }],
  [Uint8ClampedArray, { dtype: 'u8', isClamped: true }],
])

/** Lowers `new Float64Array(8)`, `new Int32Array([1, 2, 3])`, `new Array(n)`; undefined for other constructors. */
export function newTypedArray(l: Lowering, node: NewExpression): Value | undefined {
  const type = TYPES.get(platformValue(l, node.callee))
  if (l.context.kind !== 'loop') return undefined
  if (type === undefined) return newArray(l, node)
  const name = l.takeName('local')
  const [argument, another] = node.arguments
  if (argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const value = l.verbs.value(l, argument)
  if (value.kind === 'refused') return REFUSED
  if (value.kind === 'tuple') return holding(l, { name, ...type, node }, value.items)
  const copy = copied(l, { name, ...type, node }, value)
  if (copy !== undefined) return copy
  const length = lengthOf(l, value)
  if (length === undefined && value.kind === 'expr') return filled(l, { name, ...type, node }, value.expr, 0)
  return length === undefined ? l.refuse('local-array-length', argument, l.span(node).text) : filled(l, { name, ...type, node }, length, 0)
}

/** Lowers `new Array(n)`, whose places are assigned afterwards; undefined for other constructors. */
function newArray(l: Lowering, node: NewExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (platformValue(l, node.callee) !== Array || argument === undefined || another !== undefined || argument.type === 'SpreadElement')
    return undefined
  const name = l.takeName('list')
  const given = l.verbs.value(l, argument)
  const length = l.scalarOrNothing(given, argument)
  return length === undefined ? REFUSED : (listToFill(l, { name, dtype: 'f64', node, isList: true }, length, lengthOf(l, given)) ?? REFUSED)
}

/** Lowers `new Array(8).fill(0)`, `Float64Array.of(1, 2)`, `Array.from(row)`; undefined for other calls. */
export function calledArray(l: Lowering, node: CallExpression): Value | undefined {
  const { callee } = node
  if (l.context.kind !== 'loop' || callee.type !== 'MemberExpression' || callee.computed || callee.property.type !== 'Identifier')
    return undefined
  const { object, property } = callee
  const of = property.name === 'of' ? TYPES.get(platformValue(l, object)) : undefined
  if (of !== undefined) {
    const name = l.takeName('local')
    const items = elements(l, node.arguments)
    return items === undefined ? REFUSED : holding(l, { name, ...of, node }, items)
  }
  const isFrom = property.name === 'from'
  const typed = isFrom ? TYPES.get(platformValue(l, object)) : undefined
  const copies = typed !== undefined || (isFrom && platformValue(l, object) === Array)
  const as = typed ?? ({ dtype: 'f64', isList: true } as const)
  return listOfPlaces(l, node, { typed }) ?? (copies ? copyFrom(l, as, node) : undefined)
}

/** Lowers `Array.from(row)`, `Float64Array.from(row, (v) => …)`; undefined for other calls. */
function copyFrom(l: Lowering, as: Pick<Made, 'dtype' | 'isList' | 'isClamped'>, node: CallExpression): Value | undefined {
  const [of, by, another] = node.arguments
  if (of === undefined || of.type === 'SpreadElement' || by?.type === 'SpreadElement' || another !== undefined) return undefined
  if (of.type === 'ObjectExpression') return undefined
  const what = { name: l.takeName('local'), node, ...as }
  const over = iterableOf(l, of)
  const f = by === undefined ? undefined : l.verbs.value(l, by)
  if (over.kind === 'refused' || (f !== undefined && f.kind !== 'closure')) return REFUSED
  if (over.kind === 'tuple' && as.isList !== true && f === undefined && over.items.length > 0) return holding(l, what, over.items)
  const copy = copied(l, what, over, f && ((item, index) => l.verbs.inline(l, f, [item, index], node)))
  return copy ?? l.refuse('local-array-length', of, l.span(node).text)
}

/** Lowers an array literal of numbers, or of equally long rows of numbers, whose subscripts are computed; undefined for other literals. */
export function listLiteral(l: Lowering, name: string, given: readonly Value[], node: AnyNode): Value | undefined {
  if (l.context.kind !== 'loop' || given.length === 0) return undefined
  const items = given.map((item) => (item.kind === 'stored' ? partsOf(item, l.span(node)) : item))
  if (items.every((item) => item.kind === 'expr')) return listOf(l, items, node, name)
  const arrays = listOfArrays(l, name, given, node)
  if (arrays !== undefined) return arrays
  const rows = items.flatMap((item) => (item.kind === 'tuple' ? [item.items] : []))
  const [first] = rows
  const isTable =
    first !== undefined &&
    rows.length === items.length &&
    rows.every((row) => row.length === first.length && row.every((item) => item.kind === 'expr'))
  if (!isTable || first.length === 0) return undefined
  const list = made(l, { name, dtype: 'f64', node, isList: true }, [rows.length, first.length])
  if (list === undefined) return REFUSED
  const values = rows.flatMap((row, r) => row.map((item, c) => ({ item, at: [r, c] })))
  return put(l, list, values, node).kind === 'refused' ? REFUSED : (listOfRows(l, list, node) ?? REFUSED)
}

/** Makes a list of these numbers or truth values. */
export function listOf(l: Lowering, items: readonly Value[], node: AnyNode, name: string = l.takeName('list')): Value {
  const [first] = items
  return holding(l, { name, node, isList: true, ...(first?.kind === 'expr' ? typeLike(first.expr) : { dtype: 'f64' }) }, items)
}

function holding(l: Lowering, what: Made, items: readonly Value[]): Value {
  if (items.length === 0) return l.refuse('local-array-length', what.node, l.span(what.node).text)
  const list = made(l, what, [items.length])
  return list === undefined
    ? REFUSED
    : put(
        l,
        list,
        items.map((item, at) => ({ item, at: [at] })),
        what.node,
      )
}

function filled(l: Lowering, what: Made, length: number | Expr, value: Expr | 0): Value {
  const list = typeof length === 'number' ? made(l, what, [length]) : sizedArray(l, what, length)
  if (list === undefined) return REFUSED
  fill(
    l,
    list,
    typeof length === 'number' ? length : lengthIn(l, list, what.node),
    value === 0 ? literal(0, l.span(what.node)) : value,
    what.node,
  )
  return list
}

/** Lowers `t.fill(0)`; other methods are refused. */
export function localMethod(l: Lowering, view: View, name: string, node: CallExpression): Value {
  const shape = l.locals.get(view.array) ?? []
  const length = shape.length === view.prefix.length + 1 ? shape.at(-1) : undefined
  const [argument, another] = node.arguments as (Expression | SpreadElement | undefined)[]
  if (name === 'push' && l.lists.has(view.array)) noteGrowing(l, view)
  if (name === 'push' || isSplice(name)) return l.refuse('local-array-grows', node, view.array)
  if (
    name !== 'fill' ||
    (length === undefined && !l.sizes.has(view.array)) ||
    l.rowsOf.has(view.array) ||
    argument === undefined ||
    another !== undefined ||
    argument.type === 'SpreadElement'
  )
    return l.refuse('list-method', node, `${view.array}.${name}`)
  const value = l.scalarOrNothing(l.verbs.value(l, argument), argument)
  if (value === undefined) return REFUSED
  const [places, end] = [placesOfList(l, view, node), l.sizes.get(view.array)?.end]
  if (places !== undefined && end !== undefined) l.emit({ kind: 'Assign', local: end, value: places, span: l.span(node) })
  fill(l, view, l.sizes.has(view.array) ? lengthIn(l, view, node) : (length ?? 0), value, node)
  return view
}
