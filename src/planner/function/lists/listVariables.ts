/**
 * Variables that are given one growing list after another: the elements are copied into the variable's own array.
 *
 *     let frontier = [start]                                        frontier, next: arrays
 *     while (frontier.length > 0) {
 *       const next = []; …                                 -->      frontier_length = 0; for (…) Write frontier [frontier_length] = next[k]; …
 *       frontier = next
 *     }
 *
 * Copying is exact where nobody can tell the copy from the list: the variable's array has no other name, and the list that it is given is
 * made where it is given, or has a name that is not used any more. Names are counted while the function is lowered, and looked at in the
 * end; a body in which one is missing is refused.
 */
import type { AnyNode, Expression, Identifier } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { emptied, pushed } from './grownLists.ts'
import { type ByIndex, eachElement, elementsOf } from './listElements.ts'
import type { View } from './madeArrays.ts'

/** Notes that a variable, or a part of an object, stands for a list. */
export function noteListName(l: Lowering, value: Value): void {
  if (value.kind === 'view' && value.prefix.length === 0) l.listNames.set(value.array, (l.listNames.get(value.array) ?? 0) + 1)
}

/** Emits what gives a variable the elements of another list; false for other variables and values. */
export function assignedList(l: Lowering, left: Identifier, value: Value, right: Expression, node: AnyNode): boolean {
  const binding = l.unit.names.bindingOf.get(left)
  const bound = binding === undefined ? undefined : l.bound.get(binding)
  if (binding === undefined || bound?.kind !== 'view') return false
  const { view } = bound
  const row = l.literalOfRow.get(view)
  if (row !== undefined && value.kind === 'view' && l.sizes.has(value.array))
    l.foundGrowing.push({ site: row, count: Number.POSITIVE_INFINITY })
  if (bound.rows.length > 0) return false
  if (value.kind === 'view' && value.array === view.array && value.prefix.length === 0) return true
  const source = givenElements(l, value, right, node)
  if (source === undefined) return false
  if (!l.sizes.has(view.array)) return false
  if (
    value.kind === 'view' &&
    (l.dtypes.get(value.array) !== l.dtypes.get(view.array) ||
      l.booleans.has(value.array) !== l.booleans.has(view.array) ||
      l.clamped.has(value.array) !== l.clamped.has(view.array))
  )
    return false
  const made = l.madeIn.get(view.array)
  if (made !== undefined) l.foundGrowing.push({ site: made, count: Number.POSITIVE_INFINITY })
  else if (l.sizes.get(view.array)?.room !== Number.POSITIVE_INFINITY) return false
  const isOwnFunction = binding.owner.start === l.frame.node.start
  if (!isOwnFunction || l.iterated.includes(view.array)) return false
  const span = l.span(node)
  l.listsGiven.push({ array: view.array, names: 1, refusal: refusalOf('aliased-list', span, binding.name) })
  if (value.kind === 'view') {
    const names = right.type === 'Identifier' ? 1 : 0
    l.listsGiven.push({ array: value.array, names, refusal: refusalOf('aliased-list', span, l.span(right).text) })
  }
  emptied(l, view.array, node)
  source(view)
  return true
}

/** Returns what puts the elements of a value into an empty list; undefined where the value may be told from a copy. */
function givenElements(l: Lowering, value: Value, right: Expression, node: AnyNode): ((to: View) => void) | undefined {
  if (value.kind === 'tuple' && value.isNamed !== true && right.type === 'ArrayExpression') {
    const items = value.items.map((item) => (item.kind === 'expr' ? l.stabilized(item.expr) : undefined))
    if (items.includes(undefined)) return undefined
    return (to) => {
      for (const item of items) pushed(l, to, item ?? literal(0, l.span(node)), node)
    }
  }
  if (value.kind !== 'view' || value.prefix.length > 0 || !isDead(l, value, right)) return undefined
  const elements = elementsOf(l, value, node)
  return elements && ((to) => pushEach(l, to, elements, node))
}

/** Whether nothing reads a list after it is given to a variable. */
function isDead(l: Lowering, { array }: View, right: Expression): boolean {
  const loops = l.madeInLoops.get(array)
  const isMadeHere = loops !== undefined && loops.length === l.loops.length && loops.every((loop, i) => loop === l.loops[i])
  if (!isMadeHere) return false
  if (right.type !== 'Identifier')
    return right.type === 'CallExpression' || right.type === 'ArrayExpression' || right.type === 'NewExpression'
  const binding = l.unit.names.bindingOf.get(right)
  return binding !== undefined && binding.owner.start === l.frame.node.start && binding.uses.every(({ at }) => at <= right.start)
}

function pushEach(l: Lowering, to: View, elements: ByIndex, node: AnyNode): void {
  eachElement(l, elements, node, (item) => {
    const value: Expr | undefined = l.scalarOrNothing(item, node)
    if (value !== undefined) pushed(l, to, value, node)
  })
}
