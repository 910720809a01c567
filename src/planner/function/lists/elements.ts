/** Lowers lists of expressions, as in array literals and arguments, with spread elements, and calls of methods that are written out. */
import type { CallExpression, Expression, SpreadElement } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import { rankOf } from '../lower/context.ts'
import type { Lowering } from '../lower/lowering.ts'
import { keyComponent } from '../lower/members.ts'
import { REFUSED, type Site, type Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { partsNow } from './records.ts'
import { partsOf } from './stored.ts'

/** Returns the values of a list in which tuples and keys may be spread; undefined where one is refused. */
export function elements(l: Lowering, nodes: readonly (Expression | SpreadElement)[]): Value[] | undefined {
  const values = l.inOrder(nodes.map((one) => () => (one.type === 'SpreadElement' ? spreadValue(l, one) : l.verbs.value(l, one))))
  const result: Value[] = []
  for (const [i, value] of values.entries()) {
    const node = nodes[i]
    if (value.kind === 'refused' || node === undefined) return undefined
    if (node.type !== 'SpreadElement') result.push(value)
    else if (value.kind === 'tuple') result.push(...value.items)
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
