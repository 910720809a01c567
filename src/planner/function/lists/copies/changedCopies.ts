/**
 * Lowers methods that change a copy of a list, in which only some of the elements differ.
 *
 *     row.with(2, v)                 a copy of the row, whose element 2 is v
 *     row.toSpliced(1, 2, a, b)      what lies before element 1, then a and b, then what lies behind the two that are left out
 *
 * Arguments are evaluated before the copy is made, as JavaScript does.
 */
import type { CallExpression } from 'acorn'
import { libraryFunction } from '../../captures/libraryFunctions.ts'
import { binary, literal } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../../lower/value.ts'
import type { AnyFunction } from '../../unit.ts'
import { elements } from '../elements.ts'
import { emptyList, pushed } from '../grownLists.ts'
import { type ByIndex, constantOf, eachElement, elementsOf } from '../listElements.ts'
import { spliceBegin, spliceCount, withList, withTyped } from '../listMethods.ts'

/** Lowers `list.with(index, value)`, given how the list is copied; undefined for other values and methods. */
export function withElement(l: Lowering, of: Value, name: string, node: CallExpression, copy: () => Value): Value | undefined {
  if (name !== 'with' || l.context.kind !== 'loop' || !isList(l, of)) return undefined
  const [index, value] = elements(l, node.arguments)?.map((one) => l.stabilizedValue(one)) ?? []
  if (index === undefined || value === undefined) return l.refuse('method-arity', node, name)
  const list = copy()
  if (list.kind === 'refused') return REFUSED
  if (list.kind !== 'view') return l.refuse('list-method', node, l.span(node.callee).text)
  const isTyped = l.locals.has(list.array) && !l.lists.has(list.array)
  const f = (isTyped ? withTyped : withList) as AnyFunction
  const done = l.verbs.inline(l, libraryFunction(l, f, name, node), [list, index, value], node)
  return done.kind === 'refused' ? REFUSED : list
}

/** Lowers `list.toSpliced(first, count, …)` of lists of numbers; undefined for other values and methods. */
export function splicedCopy(l: Lowering, of: Value, name: string, node: CallExpression): Value | undefined {
  if (name !== 'toSpliced' || l.context.kind !== 'loop' || of.kind !== 'view' || !l.lists.has(of.array)) return undefined
  const given = elements(l, node.arguments)?.map((one) => l.stabilizedValue(one))
  const source = elementsOf(l, of, node)
  if (given === undefined || source === undefined) return REFUSED
  const [from = exprValue(literal(0, l.span(node))), count, ...items] = given
  const call = (f: AnyFunction, args: readonly Value[]): Value =>
    l.stabilizedValue(l.verbs.inline(l, libraryFunction(l, f, name, node), [of, ...args], node))
  const first = given.length === 0 ? exprValue(literal(0, l.span(node))) : call(spliceBegin as AnyFunction, [from])
  const all = exprValue(literal(given.length === 0 ? 0 : Number.POSITIVE_INFINITY, l.span(node)))
  const out = call(spliceCount as AnyFunction, [first, count ?? all])
  if (first.kind !== 'expr' || out.kind !== 'expr') return REFUSED
  const room = (constantOf(l, source.length) ?? Number.POSITIVE_INFINITY) + items.length
  const list = emptyList(l, { name: l.takeName('list'), dtype: 'f64', node, isList: true }, room)
  if (list === undefined) return REFUSED
  const put = (value: Value): void => {
    const expr = l.scalarOrNothing(value, node)
    if (expr !== undefined) pushed(l, list, expr, node)
  }
  const span = l.span(node)
  const behind = l.stabilized(binary('+', first.expr, out.expr, span), 'behind')
  const part = (length: ByIndex['length'], begin?: ByIndex['length']): void =>
    eachElement(l, { length, item: (at) => source.item(begin === undefined ? at : binary('+', begin, at, span)) }, node, put)
  part(first.expr)
  for (const item of items) put(item)
  part(l.stabilized(binary('-', source.length, behind, span), 'rest'), behind)
  return list
}

/** Whether a value is a list or a typed array, which has the method in JavaScript: a row of an array in `env` has not. */
function isList(l: Lowering, of: Value): boolean {
  if (of.kind === 'view') return l.locals.has(of.array)
  if (of.kind === 'tuple') return true
  if (of.kind === 'stored') return of.storage.kind === 'items'
  return of.kind === 'data' && (Array.isArray(of.value) || ArrayBuffer.isView(of.value))
}
