/**
 * Lowers lists that bodies make of others: copies, and the results of `map` and `filter`.
 *
 *     const sorted = [...x.row(i)]                     an array of the body's own, filled from the row
 *     x.row(i).filter((v) => v > 0)                    one with room for all, and how many there are
 */
import type { AnyNode, ArrayExpression, CallExpression, Expression, SpreadElement } from 'acorn'
import { type Expr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { partBetween } from '../captures/capturedLookups.ts'
import { asTest, binary, makeIf } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Site, type Value } from '../lower/value.ts'
import { emptyList, pushed } from './grownLists.ts'
import { isListOrObject } from './held/notes.ts'
import { iterableOf } from './keyed/collections.ts'
import { type ByIndex, constantOf, eachElement, elementsOf } from './listElements.ts'
import { checkNumber, eachIndex, type Made, type View } from './madeArrays.ts'
import { made } from './movedArrays.ts'
import { noteRecord } from './records.ts'

/** Lowers a copy of a list whose length is known before the run, each element mapped by `by`; undefined for other values. */
export function copied(l: Lowering, what: Made, over: Value, by?: (item: Value, index: Value) => Value): Value | undefined {
  const { node } = what
  const source = elementsOf(l, over, node)
  const length = source && constantOf(l, source.length)
  if (source === undefined || length === 0) return undefined
  if (length === undefined) return grownCopy(l, what, { source, by })
  const list = made(l, what, [length])
  if (list === undefined) return REFUSED
  copyInto(l, { list, first: 0 }, { source, length, by }, node)
  return list
}

/** Makes a list, or a typed array, of as many elements as only the run tells. */
function grownCopy(l: Lowering, what: Made, { source, by }: Pick<Copied, 'source' | 'by'>): Value {
  const { node } = what
  const list = emptyList(l, what, Number.POSITIVE_INFINITY)
  if (list === undefined) return REFUSED
  pushEach(l, list, { source, by }, node)
  return list
}

function pushEach(l: Lowering, list: View, { source, by }: Pick<Copied, 'source'> & Partial<Pick<Copied, 'by'>>, node: AnyNode): void {
  eachElement(l, source, node, (item, at) => {
    const value = mappedScalar(l, by === undefined ? item : by(item, exprValue(at)), node)
    if (value !== undefined) pushed(l, list, value, node)
  })
}

/** Returns an element of a copy as a scalar; of an object it is noted that the next try makes a list of objects. */
function mappedScalar(l: Lowering, value: Value, node: AnyNode): Expr | undefined {
  if (isListOrObject(l, value)) noteRecord(l, { unit: l.unit, start: node.type === 'ArrayExpression' ? node.start : -node.end }, value)
  return l.scalarOrNothing(value, node)
}

interface Copied {
  readonly source: ByIndex
  readonly length: number
  readonly by?: ((item: Value, index: Value) => Value) | undefined
}

function copyInto(l: Lowering, { list, first }: { readonly list: View; readonly first: number }, from: Copied, node: AnyNode): void {
  const span = l.span(node)
  eachIndex(l, from.length, node, (at) => {
    const item = from.source.item(at)
    const value = mappedScalar(l, from.by === undefined ? item : from.by(item, exprValue(at)), node)
    if (value === undefined) return
    checkNumber(l, list.array, value, node)
    const place =
      first === 0 ? at : ({ kind: 'Binary', operator: '+', left: at, right: { kind: 'Literal', value: first, span }, span } as const)
    l.emit({ kind: 'Write', array: list.array, subscripts: [...list.prefix, place], value, span })
  })
}

/** Lowers `[...row, 1, 2]`; undefined where no list of known length is spread. */
export function spreadLiteral(l: Lowering, name: string, node: ArrayExpression): Value | undefined {
  if (l.context.kind !== 'loop' || !node.elements.some((one) => one?.type === 'SpreadElement')) return undefined
  const nodes = node.elements as (Expression | SpreadElement)[] // holes were refused
  const before = l.out.length
  const ends: number[] = []
  const work = nodes.map((one) => () => {
    const value = one.type === 'SpreadElement' ? iterableOf(l, one.argument) : l.verbs.value(l, one)
    ends.push(l.out.length)
    return value
  })
  const values = l.inOrder(work)
  const isChangedLater = values.some((value, i) => nodes[i]?.type === 'SpreadElement' && mayChange(l, value, l.out.slice(ends[i])))
  if (isChangedLater) {
    l.out.length = before
    return listInTurn(l, name, node)
  }
  const parts = values.map((value, i) => {
    if (nodes[i]?.type !== 'SpreadElement') return value.kind === 'expr' ? { value, length: 1 } : undefined
    const source = elementsOf(l, value, node)
    return source && { source, length: constantOf(l, source.length) }
  })
  const total = parts.reduce<number>((sum, part) => sum + (part?.length ?? Number.NaN), 0)
  const isGrown = parts.every((part) => part !== undefined) && Number.isNaN(total)
  if (!(total > 0 || isGrown)) {
    l.out.length = before // the spread value is lowered again with the items
    return undefined
  }
  const what: Made = { name, dtype: 'f64', node, isList: true }
  const list = isGrown ? emptyList(l, what, Number.POSITIVE_INFINITY) : made(l, what, [total])
  if (list === undefined) return REFUSED
  const span = l.span(node)
  let first = 0
  for (const part of parts) {
    if (part === undefined) continue
    if (part.source !== undefined && isGrown) pushEach(l, list, part, node)
    else if (part.source !== undefined) copyInto(l, { list, first }, { source: part.source, length: part.length ?? 0 }, node)
    else {
      const value = l.scalarOrNothing(part.value, node)
      if (value === undefined) return REFUSED
      checkNumber(l, list.array, value, node)
      if (isGrown) pushed(l, list, value, node)
      else l.emit({ kind: 'Write', array: list.array, subscripts: [...list.prefix, { kind: 'Literal', value: first, span }], value, span })
    }
    first += part.length ?? 0
  }
  return list
}

/** Whether statements may change a list: write into it, or let it grow. */
function mayChange(l: Lowering, list: Value, stmts: readonly Stmt[]): boolean {
  if (list.kind !== 'view' && list.kind !== 'held' && list.kind !== 'records') return false
  const array = list.kind === 'view' ? list.array : list.kind === 'records' ? list.list.arrays[0] : undefined
  const size = array === undefined ? undefined : l.sizes.get(array)
  let found = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Write' || stmt.kind === 'Add') found ||= list.kind !== 'view' || stmt.array === list.array
    if (stmt.kind === 'Assign') found ||= size !== undefined && (stmt.local === size.end || stmt.local === size.first)
  })
  return found
}

/**
 * Lowers `[...list, list.pop()]`: the elements of a list are copied before what stands behind it is evaluated, which may change the list.
 * `site`: the place of a literal that grows later.
 */
export function listInTurn(l: Lowering, name: string, node: ArrayExpression, site?: Site): Value {
  const how = { isShifted: site !== undefined && l.isAmong(l.shifted, site) }
  const list = emptyList(l, { name, dtype: 'f64', node, isList: true }, Number.POSITIVE_INFINITY, how)
  if (list === undefined) return REFUSED
  if (site !== undefined) l.madeIn.set(list.array, site)
  for (const one of node.elements as (Expression | SpreadElement)[]) {
    const value = one.type === 'SpreadElement' ? iterableOf(l, one.argument) : l.verbs.value(l, one)
    const source = one.type === 'SpreadElement' ? elementsOf(l, value, node) : undefined
    const expr = one.type === 'SpreadElement' ? undefined : l.scalarOrNothing(value, node)
    if (source !== undefined) pushEach(l, list, { source }, node)
    else if (value.kind === 'tuple') for (const item of value.items) pushed(l, list, l.scalar(item, node), node)
    else if (expr !== undefined) pushed(l, list, expr, node)
    else return one.type === 'SpreadElement' ? l.refuse('spread', node) : REFUSED
  }
  return list
}

/** Lowers `list.slice()`, `list.map(f)`, `list.filter(f)`; undefined for other methods. */
export function copyingMethod(l: Lowering, over: Value, name: string, node: CallExpression): Value | undefined {
  const [given, another] = node.arguments
  if (name === 'slice' && given !== undefined) return sliced(l, over, node)
  if (l.context.kind !== 'loop' || another !== undefined || given?.type === 'SpreadElement') return undefined
  const what = madeOf(l, over, node)
  if (name === 'slice' && given === undefined) return copied(l, what, over)
  if ((name !== 'map' && name !== 'filter') || given === undefined || elementsOf(l, over, node) === undefined) return undefined
  const f = l.verbs.value(l, given)
  if (f.kind !== 'closure') return undefined
  const called = (item: Value, index: Value): Value => l.verbs.inline(l, f, [item, index, over], node)
  return name === 'map' ? copied(l, what, over, called) : filtered(l, what, over, called)
}

/** Lowers `list.slice(from, to)`. */
function sliced(l: Lowering, over: Value, node: CallExpression): Value | undefined {
  const what = madeOf(l, over, node)
  const args = node.arguments.flatMap((one) => (one.type === 'SpreadElement' ? [] : [one]))
  const source = elementsOf(l, over, node)
  if (source === undefined || args.length < node.arguments.length || args.length > 2) return undefined
  const part = partBetween(l, source.length, args, 'slice', node)
  const list = part && emptyList(l, what, constantOf(l, source.length) ?? Number.POSITIVE_INFINITY)
  if (part === undefined || list === undefined) return REFUSED
  const first = l.stabilized(part.first)
  pushEach(l, list, { source: { length: part.count, item: (at) => source.item(binary('+', first, at, at.span)) } }, node)
  return list
}

/** Returns the description of a copy: a typed array of a typed array, a list of any other. */
function madeOf(l: Lowering, over: Value, node: AnyNode): Made {
  const name = l.takeName('list')
  const isTyped = over.kind === 'view' && l.locals.has(over.array) && !l.lists.has(over.array)
  const isClamped = isTyped && l.clamped.has(over.array) ? { isClamped: true as const } : {}
  return isTyped
    ? { name, dtype: l.dtypes.get(over.array) as Made['dtype'], ...isClamped, node }
    : { name, dtype: 'f64', node, isList: true }
}

function filtered(l: Lowering, what: Made, over: Value, test: (item: Value, index: Value) => Value): Value | undefined {
  const { node } = what
  const source = elementsOf(l, over, node)
  if (source === undefined) return undefined
  const length = constantOf(l, source.length)
  const list = emptyList(l, what, length ?? Number.POSITIVE_INFINITY)
  if (list === undefined) return REFUSED
  eachIndex(l, length ?? source.length, node, (at) => {
    const item = l.stabilizedValue(source.item(at))
    const kept = l.scalarOrNothing(test(item, exprValue(at)), node)
    const value = mappedScalar(l, item, node)
    if (kept === undefined || value === undefined) return
    l.emit(
      ...makeIf(
        asTest(kept),
        l.collect(() => pushed(l, list, value, node)),
        [],
        l.span(node),
      ),
    )
  })
  return list
}
