/** Prints normalized trees as text. */

import type { AnyNode, Identifier, Property } from 'acorn'
import { GENERATOR, generate, type State } from 'astring'
import type { Unit } from '../unit.ts'

const LONGEST_TEXT = 120

/** Prints a tree as JavaScript. */
export function printNode(node: AnyNode): string {
  // acorn's nodes are ESTree's; astring names the types of another package
  return generate(node as unknown as Parameters<typeof generate>[0])
}

/** Prints a function on one line, shortened, for plans and messages. */
export function textOfUnit(unit: Unit): string {
  const { nameOf } = unit.source
  const generator = {
    ...GENERATOR,
    Identifier: (node: Identifier, state: State) => state.write(nameOf(node)),
    Property(node: Property, state: State) {
      const { key, value } = node
      const isShort = !node.computed && key.type === 'Identifier' && value.type === 'Identifier' && nameOf(value) === key.name
      GENERATOR.Property.call(this, (isShort ? { ...node, shorthand: true } : node) as never, state)
    },
  }
  const text = generate(unit.node as unknown as Parameters<typeof generate>[0], { generator } as never)
    .replace(/\s+/g, ' ')
    .replace(/;\s*\}/g, ' }')
    .replace(/;$/, '')
    .trim()
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text
}
