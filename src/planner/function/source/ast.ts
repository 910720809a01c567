/** Walks acorn's trees: the children of any node, whatever its type. */
import type { AnyNode, ArrowFunctionExpression, FunctionDeclaration, FunctionExpression } from 'acorn'

export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration

export function isFunctionNode(node: AnyNode): node is FunctionNode {
  return node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression' || node.type === 'FunctionDeclaration'
}

/** Returns the nodes directly below a node, in source order. */
export function childNodes(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = []
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) children.push(item)
    } else if (isNode(value)) children.push(value)
  }
  return children
}

/** Whether `found` holds for the node or anything below it; `intoFunctions`: nested functions are looked into as well. */
export function someNode(node: AnyNode, found: (node: AnyNode) => boolean, options: { readonly intoFunctions: boolean }): boolean {
  if (found(node)) return true
  return childNodes(node).some((child) => (options.intoFunctions || !isFunctionNode(child)) && someNode(child, found, options))
}

/** Returns the node with every child passed through `change`; the node itself where none changed. */
export function mapChildren<N extends AnyNode>(node: N, change: (child: AnyNode) => AnyNode): N {
  let copy: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(node)) {
    let next: unknown = value
    if (Array.isArray(value)) {
      const items = value.map((item: unknown) => (isNode(item) ? change(item) : item))
      if (items.some((item, i) => item !== value[i])) next = items
    } else if (isNode(value)) next = change(value)
    if (next !== value) {
      copy ??= { ...node }
      copy[name] = next
    }
  }
  // a copy of the node in which only child nodes were replaced
  return copy === undefined ? node : (copy as unknown as N)
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' && 'start' in value
}
