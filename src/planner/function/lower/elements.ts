/** Lowers lists of expressions, as in array literals and arguments, with spread elements. */
import type { Expression, SpreadElement } from 'acorn'
import { partsOf } from '../lists/stored.ts'
import { rankOf } from './context.ts'
import type { Lowering } from './lowering.ts'
import { keyComponent } from './members.ts'
import type { Value } from './value.ts'

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
  return value.kind === 'stored' ? partsOf(value, l.span(node)) : value
}
