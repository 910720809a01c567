/**
 * Parts of rows and of the body's own typed arrays, which `subarray` gives and `fill` fills.
 *
 *     const tail = x.row(i).subarray(2, 6)      nothing: its elements lie where those of the row do (`windows.ts`)
 *     x.row(i).fill(1, 2)                -->    for (k = 2; k < length; k++) Write x [i, k] = 1
 *
 * Legal since a typed array and its part share their elements, and neither gets longer.
 */
import type { CallExpression } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { endOf, partBetween } from '../../captures/capturedLookups.ts'
import { isBuffer } from '../../captures/handleMethods.ts'
import { binary, literal, logical, makeIf, unary } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../../lower/value.ts'
import { type ByIndex, constantOf, eachElement, elementsOf } from '../listElements.ts'
import { noteListName } from '../listVariables.ts'
import { checkNumber, eachIndex, lengthIn, placeIn, type View } from '../madeArrays.ts'
import { isOfBank, keptView } from '../movedArrays.ts'
import { sum, type Window } from './windows.ts'

/** Lowers `subarray` and `fill` of a row, or of a part of one; undefined for other methods and values. */
export function takenWindow(l: Lowering, of: View | Window, name: string, node: CallExpression): Value | undefined {
  return partOfView(l, of, name, node) ?? filledPart(l, of, name, node) ?? givenElements(l, of, name, node)
}

/** Lowers `row.subarray(from, to)` and `part.subarray(from, to)`; undefined for lists, which have no such method. */
function partOfView(l: Lowering, of: View | Window, name: string, node: CallExpression): Value | undefined {
  const view = of.kind === 'view' ? of : of.view
  const isOne = l.context.kind === 'loop' && name === 'subarray' && isRow(l, view) && !l.lists.has(view.array)
  if (!isOne) return undefined
  if (isOfBank(l, view) || isBuffer(l, view.array)) return l.refuse('list-method', node, `${view.array}.${name}`)
  const kept = keptView(l, view)
  const whole = of.kind === 'view' ? lengthIn(l, kept, node) : of.count
  const part = between(l, whole, node.arguments, { name, node })
  if (part === undefined) return REFUSED
  noteListName(l, view)
  const first = of.kind === 'view' ? part.first : sum(of.first, part.first)
  const isEmpty = part.count.kind === 'Literal' && part.count.value === 0 // of which no array is made
  const count = isEmpty ? l.temporary(part.count, 'count') : l.stabilized(part.count, 'count')
  return { kind: 'window', view: kept, first: l.stabilized(first, 'first'), count }
}

/** Lowers `fill` of a row, of a part, and of a part of an array of the body; undefined for others. */
function filledPart(l: Lowering, of: View | Window, name: string, node: CallExpression): Value | undefined {
  const view = of.kind === 'view' ? of : of.view
  const [value, ...ends] = node.arguments
  if (l.context.kind !== 'loop' || name !== 'fill' || value === undefined || value.type === 'SpreadElement' || !isRow(l, view))
    return undefined
  const isOwn = l.locals.has(view.array)
  if ((isOwn && of.kind === 'view' && ends.length === 0) || isBuffer(l, view.array)) return undefined
  const kept = keptView(l, view)
  const given = l.scalarOrNothing(l.verbs.value(l, value), value)
  if (given === undefined) return REFUSED
  const filler = l.stabilized(given)
  checkNumber(l, view.array, filler, node)
  const part = between(l, of.kind === 'view' ? lengthIn(l, kept, node) : of.count, ends, { name, node })
  if (part === undefined) return REFUSED
  const first = of.kind === 'view' ? part.first : sum(of.first, part.first)
  const span = l.span(node)
  eachIndex(l, constantOf(l, part.count) ?? part.count, node, (at) => {
    const subscripts = [...kept.prefix, placeIn(l, view.array, sum(first, at))]
    l.emit({ kind: 'Write', array: view.array, subscripts, value: filler, span })
  })
  return of
}

/** Lowers `array.set(list, first)` of a typed array of the body; undefined for others. */
function givenElements(l: Lowering, of: View | Window, name: string, node: CallExpression): Value | undefined {
  const view = of.kind === 'view' ? of : of.view
  const [list, offset, another] = node.arguments
  if (l.context.kind !== 'loop' || name !== 'set' || !isRow(l, view) || !l.locals.has(view.array) || l.lists.has(view.array))
    return undefined
  if (list === undefined || list.type === 'SpreadElement' || offset?.type === 'SpreadElement' || another !== undefined) return undefined
  const kept = keptView(l, view)
  const from = l.verbs.value(l, list)
  if (from.kind === 'refused') return REFUSED
  const span = l.span(node)
  const items = from.kind === 'tuple' ? from.items : undefined
  const source: ByIndex | undefined = items === undefined ? elementsOf(l, from, node) : undefined
  const isSame = (from.kind === 'view' && from.array === view.array) || (from.kind === 'window' && from.view.array === view.array)
  if ((source === undefined && items === undefined) || isSame) return l.refuse('list-method', node, `${view.array}.${name}`)
  const kinds = items?.map((item) => l.scalarOrNothing(item, node)).map((item) => item && l.stabilized(item))
  const at = offset === undefined ? literal(0, span) : l.scalarOrNothing(l.verbs.value(l, offset), offset)
  if (at === undefined || kinds?.includes(undefined)) return REFUSED
  const begin = l.stabilized(at, 'first')
  const count = l.stabilized(source?.length ?? literal(items?.length ?? 0, span), 'count')
  const room = of.kind === 'view' ? lengthIn(l, kept, node) : of.count
  const known = [begin, count, room].map((one) => constantOf(l, one))
  const [first = -1, most = 0, all = 0] = known.map((one) => one ?? Number.NaN)
  if (!(Number.isInteger(first) && first >= 0 && first + most <= all)) {
    const isOutside = logical(
      '||',
      unary('!', binary('>=', begin, literal(0, span), span), span),
      binary('>', binary('+', begin, count, span), room, span),
      span,
    )
    const message = literal('offset is out of bounds', span)
    l.emit(...makeIf(isOutside, [{ kind: 'Throw', error: 'RangeError', message, span }], [], span))
  }
  const start = of.kind === 'view' ? begin : sum(of.first, begin)
  const write = (index: Expr, value: Expr): void =>
    l.emit({ kind: 'Write', array: view.array, subscripts: [...kept.prefix, placeIn(l, view.array, sum(start, index))], value, span })
  for (const [k, value] of (kinds ?? []).entries()) write(literal(k, span), value ?? literal(0, span))
  if (source !== undefined)
    eachElement(l, { ...source, length: count }, node, (item, index) => {
      const value = l.scalarOrNothing(item, node)
      if (value !== undefined) write(index, value)
    })
  return exprValue(literal(undefined, span))
}

/** Whether a view is a row of numbers, not one of rows. */
function isRow(l: Lowering, view: View): boolean {
  return !l.rowsOf.has(view.array) && (view.rank === undefined || view.rank === view.prefix.length + 1)
}

/** Returns the first index of a part and the number of its elements; undefined where an argument is refused. */
function between(
  l: Lowering,
  length: Expr,
  given: CallExpression['arguments'],
  { name, node }: { readonly name: string; readonly node: CallExpression },
): { readonly first: Expr; readonly count: Expr } | undefined {
  const ends = given.flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  if (ends.length < given.length || ends.length > 2) {
    l.refuse('unknown-method', node, name)
    return undefined
  }
  const span = l.span(node)
  if (ends.length === 0) return { first: literal(0, span), count: l.stabilized(length, 'count') }
  const before = l.out.length
  const total = constantOf(l, length)
  const known = ends.map((one) => {
    const value = l.verbs.value(l, one)
    return value.kind === 'expr' && value.expr.kind === 'Literal' ? value.expr.value : undefined
  })
  if (total !== undefined && known.every((one) => typeof one === 'number')) {
    const [from, to] = [endOf(known[0] as number, total, 0), endOf(known[1] as number | undefined, total, total)] // as just asked
    return { first: literal(from, span), count: literal(Math.max(0, to - from), span) }
  }
  l.out.length = before // the ends are lowered again
  return partBetween(l, length, ends, name, node)
}
