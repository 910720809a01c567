/** Lowers lists of expressions, as in array literals and arguments, with spread elements, and calls of methods that are written out. */
import type { AnyNode, CallExpression, Expression, SpreadElement } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import { literal } from '../lower/build.ts'
import { rankOf } from '../lower/context.ts'
import type { Lowering } from '../lower/lowering.ts'
import { keyComponent } from '../lower/members.ts'
import { exprValue, REFUSED, type Site, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { emptied } from './grownLists.ts'
import { emptiedHeld } from './held/heldLists.ts'
import { cutOut, insertAt, spliceBegin } from './listMethods.ts'
import { partsNow } from './records.ts'
import { partsOf, takenApart } from './stored.ts'

/** Returns the values of a list in which tuples and keys may be spread; undefined where one is refused. */
export function elements(l: Lowering, nodes: readonly (Expression | SpreadElement)[]): Value[] | undefined {
  const values = l.inOrder(nodes.map((one) => () => (one.type === 'SpreadElement' ? spreadValue(l, one) : l.verbs.value(l, one))))
  const result: Value[] = []
  for (const [i, value] of values.entries()) {
    const node = nodes[i]
    if (value.kind === 'refused' || node === undefined) return undefined
    if (node.type !== 'SpreadElement') result.push(value)
    else if (value.kind === 'tuple') result.push(...value.items)
    else if (value.kind === 'data' && Array.isArray(value.value) && value.value.length === 0) continue
    else if (value.kind === 'key' && rankOf(l.context) !== undefined) {
      for (let axis = 0; axis < (rankOf(l.context) ?? 0); axis++) result.push(keyComponent(l, axis, node))
    } else {
      l.refuse('spread', node)
      return undefined
    }
  }
  return result
}

/** Lowers a spread value to the parts that it holds at that time. */
export function spreadValue(l: Lowering, node: SpreadElement): Value {
  const value = l.verbs.value(l, node.argument)
  if (value.kind === 'item') return partsNow(l, value, l.span(node))
  if (value.kind === 'expr') return takenApart(l, value) // one of two lists that are written out
  return value.kind === 'stored' ? partsOf(value, l.span(node)) : value
}

/** Returns the most elements that a push adds to a list, whenever it runs in the loops around the list's literal. */
export function pushesOf(l: Lowering, { loops = 0 }: Site, { arguments: items }: CallExpression): number {
  const isSpread = items.some(({ type }) => type === 'SpreadElement')
  return isSpread ? Number.POSITIVE_INFINITY : (l.turnsInside(loops) ?? Number.POSITIVE_INFINITY) * items.length
}

/** Writes a method of the library out where it is called. */
export function written(
  l: Lowering,
  over: Value,
  { name, f }: { readonly name: string; readonly f: AnyFunction },
  node: CallExpression,
): Value {
  const args = elements(l, node.arguments)
  return args === undefined ? REFUSED : l.verbs.inline(l, libraryFunction(l, f, name, node), [over, ...args], node)
}

export function isSplice(name: string): boolean {
  return name === 'splice' || name === 'unshift'
}

/** Returns the most elements that such a call adds to a list. */
export function splicedIn(name: string, { arguments: args }: CallExpression): number {
  return name === 'splice' && args.length <= 2 ? 0 : Number.POSITIVE_INFINITY
}

/** Emits what `list.length = 0` does; false for values that are no lists in memory, which the next try makes of literals. */
export function emptiedList(l: Lowering, list: Value, node: AnyNode): boolean {
  if (list.kind === 'held') emptiedHeld(l, list, node)
  else if (list.kind === 'view' && l.sizes.has(list.array)) emptied(l, list.array, node)
  else if (list.kind === 'records') {
    l.foundItemsMoved.push(list.list.site)
    emptied(l, list.list.arrays[0] ?? '', node)
  } else {
    const site = list.kind === 'tuple' || list.kind === 'stored' ? list.site : list.kind === 'view' ? l.madeAt.get(list.array) : undefined
    if (site !== undefined) l.foundGrowing.push({ site, count: 0 })
    return false
  }
  return true
}

/** Lowers the call. The elements that `splice` takes out make no list. */
export function spliced(l: Lowering, list: Value, name: string, node: CallExpression): Value {
  if (name === 'splice' && l.unusedCall !== node) return l.refuse('splice-value', node)
  const given = elements(l, node.arguments)?.map((arg) => l.stabilizedValue(arg))
  if (given === undefined) return REFUSED
  const span = l.span(node)
  const call = (f: AnyFunction, args: readonly Value[]): Value =>
    l.verbs.inline(l, libraryFunction(l, f, name, node), [list, ...args], node)
  const [from, count] = name === 'splice' ? given : []
  if (name === 'splice' && from === undefined) return l.refuse('method-arity', node, name)
  const found = from === undefined ? exprValue(literal(0, span)) : call(spliceBegin as AnyFunction, [from])
  const first = l.stabilizedValue(found)
  if (name === 'splice') call(cutOut as AnyFunction, [first, count ?? exprValue(literal(Number.POSITIVE_INFINITY, span))])
  for (const value of given.slice(name === 'splice' ? 2 : 0).reverse()) call(insertAt as AnyFunction, [first, value])
  return name === 'unshift' ? l.verbs.member(l, list, 'length', node) : exprValue(literal(undefined, span))
}
