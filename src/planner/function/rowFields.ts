/**
 * The fields of its row that a function names, where it names all that it sees of it: what is not compiled needs no other columns either.
 *
 *     (r) => r.url.split('/')[2]             url
 *     ({ at, n }) => format(at) + n          at, n
 *     (r) => JSON.stringify(r)               any
 */
import type { AnyNode, MemberExpression, Pattern } from 'acorn'
import { childNodes } from './source/ast.ts'
import type { Binding } from './source/scope.ts'
import type { Unit } from './unit.ts'

/** Undefined where it may see more of its first argument than what it names. */
export function fieldsNamed({ source: { node }, names }: Unit): readonly string[] | undefined {
  for (const { name } of names.free) if (name === 'arguments' || name === 'eval') return undefined
  const [row] = node.params
  if (row?.type === 'ObjectPattern') return namesTaken(row)
  const binding = row?.type === 'Identifier' ? names.bindingOf.get(row) : undefined
  if (binding === undefined) return undefined
  const found = new Set<string>()
  const isWhole = (child: AnyNode): boolean => seesWhole(child, binding, { names, found })
  return [node.body, ...node.params.slice(1)].some(isWhole) ? undefined : [...found]
}

/** The fields that a pattern takes; undefined where it may take others. */
export function namesTaken({ properties }: Extract<Pattern, { type: 'ObjectPattern' }>): readonly string[] | undefined {
  const taken = properties.map((property) =>
    property.type === 'RestElement' || property.computed ? undefined : property.key.type === 'Identifier' ? property.key.name : undefined,
  )
  return taken.every((name) => name !== undefined) ? taken : undefined
}

/** Whether the variable stands anywhere but before the name of a field. What is called by such a name is given the row as `this`. */
function seesWhole(
  node: AnyNode,
  binding: Binding,
  { names, found }: { readonly names: Unit['names']; readonly found: Set<string> },
): boolean {
  const isRow = (one: AnyNode): boolean => one.type === 'Identifier' && names.bindingOf.get(one) === binding
  if (isRow(node)) return true
  const called = node.type === 'CallExpression' ? node.callee : node.type === 'TaggedTemplateExpression' ? node.tag : undefined
  if (called !== undefined && isOfRow(withoutChain(called), isRow)) return true
  if (isOfRow(node, isRow)) {
    const name = fieldName(node)
    if (name !== undefined) found.add(name)
    return name === undefined
  }
  return childNodes(node).some((child) => seesWhole(child, binding, { names, found }))
}

function isOfRow(node: AnyNode, isRow: (one: AnyNode) => boolean): node is MemberExpression {
  return node.type === 'MemberExpression' && isRow(node.object)
}

/** The expression without parentheses and the limits of optional chains. */
export function withoutChain(node: AnyNode): AnyNode {
  return node.type === 'ChainExpression' || node.type === 'ParenthesizedExpression' ? withoutChain(node.expression) : node
}

/** The name of the field; undefined where it is computed. */
export function fieldName({ computed, property }: MemberExpression): string | undefined {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined
  return property.type === 'Literal' && typeof property.value === 'string' ? property.value : undefined
}
