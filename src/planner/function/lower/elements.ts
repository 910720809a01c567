/**
 * Lists of expressions, as those of array literals and of arguments, with what is spread among them.
 */
import type { Expression, SpreadElement } from 'acorn'
import { partsOf } from '../lists/stored.ts'
import { rankOf } from './context.ts'
import type { Lowering } from './lowering.ts'
import { keyComponent } from './members.ts'
import type { Value } from './value.ts'

/** Values of a list in which tuples and keys may be spread. */
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

/** What is spread is what it holds at that time. */
export function spreadValue(l: Lowering, node: SpreadElement): Value {
  const value = l.verbs.value(l, node.argument)
  return value.kind === 'stored' ? partsOf(value, l.span(node)) : value
}
