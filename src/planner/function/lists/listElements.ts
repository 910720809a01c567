/** Access by index to elements that are all of one kind: of captured arrays of primitives, row views, the body's own arrays. */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { elementBelow, nestedRow, rowThatIsThere } from '../captures/capturedLookups.ts'
import { iteratedCharacters } from '../captures/characters.ts'
import { tableOf } from '../captures/outside.ts'
import { literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { memberValue } from '../lower/members.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { checkFilled } from './grownLists.ts'
import { heldElement, heldLength, presentHeld } from './held/heldLists.ts'
import { eachIndex, elementRead, lengthIn, MOST_BYTES, placeIn } from './madeArrays.ts'
import { itemAt, leafOrItem, placeOfItem, recordsLength } from './records.ts'
import { windowRead } from './windows/windows.ts'

/** Elements that are read by their index. */
export interface ByIndex {
  readonly length: Expr
  readonly item: (index: Expr) => Value
}

/** Returns the elements of a value; undefined where it has none, or has elements of several kinds. */
export function elementsOf(l: Lowering, over: Value, node: AnyNode): ByIndex | undefined {
  const span = l.span(node)
  if (over.kind === 'data') {
    const table = Array.isArray(over.value) || ArrayBuffer.isView(over.value) ? tableOf(l, over) : undefined
    if (table === undefined) return l.context.kind === 'loop' ? rowElements(l, over, node) : undefined
    return { length: { kind: 'LookupLength', table, span }, item: (index) => exprValue({ kind: 'Lookup', table, index, span }) }
  }
  const text = over.kind === 'expr' ? iteratedCharacters(l, over.expr, node) : undefined
  if (over.kind === 'tableRow' || text !== undefined) {
    const row = rowThatIsThere(l, text ?? (over as Value & { readonly kind: 'tableRow' }), node)
    return { length: row.length, item: (index) => elementBelow(l, row, index, node) }
  }
  if (over.kind === 'records') {
    const item = (at: Expr): Value => leafOrItem(l, itemAt(over.list, placeOfItem(l, over.list, at)), span)
    return { length: recordsLength(l, over.list, node), item }
  }
  if (over.kind === 'held') {
    const list = presentHeld(l, over, span.text, node)
    return { length: heldLength(l, list, node), item: (at) => heldElement(l, list, at, node) }
  }
  if (over.kind === 'window') return { length: over.count, item: (index) => exprValue(windowRead(l, over, index, node)) }
  if (over.kind !== 'view') return undefined
  checkFilled(l, over, node)
  const isElement = !l.rowsOf.has(over.array) && (over.rank === undefined || over.rank === over.prefix.length + 1)
  // below the length every element exists
  const item = (index: Expr): Value =>
    isElement
      ? exprValue(elementRead(l, over.array, [...over.prefix, placeIn(l, over.array, index)], span))
      : memberValue(l, over, exprValue(index), node)
  return { length: lengthIn(l, over, node), item }
}

/** Emits a loop over the elements that a list has when the loop begins. */
export function eachElement(l: Lowering, { length, item }: ByIndex, node: AnyNode, turn: (item: Value, at: Expr) => void): void {
  eachIndex(l, constantOf(l, length) ?? length, node, (at) => turn(item(at), at))
}

/** Returns the rows of a captured list of lists, or of objects, that are alike; undefined for anything else. */
export function rowElements(l: Lowering, over: Value, node: AnyNode): ByIndex | undefined {
  if (over.kind !== 'data' || !Array.isArray(over.value) || over.value.length === 0) return undefined
  const before = l.out.length
  const first = nestedRow(l, over, literal(0, l.span(node)), node)
  l.out.length = before
  if (first === undefined || first.kind === 'refused') return undefined
  return { length: literal(over.value.length, l.span(node)), item: (index) => nestedRow(l, over, index, node) ?? REFUSED }
}

/** Returns a positive whole number that is known before the run: written out, captured, or computed of such; undefined otherwise. */
export function lengthOf(l: Lowering, value: Value): number | undefined {
  const known = value.kind === 'expr' ? constantOf(l, value.expr) : undefined
  return known !== undefined && Number.isInteger(known) && known > 0 && known <= MOST_BYTES ? known : undefined
}

/** Returns the value of an expression that is a number before the run; undefined for others. */
export function constantOf(l: Lowering, expr: Expr): number | undefined {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number' ? expr.value : undefined
    case 'Parameter': {
      const value = l.parameters.find((one) => one.name === expr.name)?.value
      return typeof value === 'number' ? value : undefined
    }
    case 'LookupLength':
      return l.tables.find((one) => one.name === expr.table)?.value.length
    case 'Extent':
      return (l.locals.get(expr.array) ?? l.shapes.get(expr.array))?.[expr.axis]
    case 'Binary': {
      const [a, b] = [constantOf(l, expr.left), constantOf(l, expr.right)]
      if (a === undefined || b === undefined) return undefined
      return expr.operator === '+' ? a + b : expr.operator === '-' ? a - b : expr.operator === '*' ? a * b : undefined
    }
    default:
      return undefined
  }
}
