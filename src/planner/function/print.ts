/**
 * Normalized trees as text.
 */

import type { AnyNode } from 'acorn'
import { generate } from 'astring'
import type { Unit } from './unit.ts'

const LONGEST_TEXT = 120

/** JavaScript for a tree. */
export function printNode(node: AnyNode): string {
  // acorn's nodes are ESTree's; astring names the types of another package
  return generate(node as unknown as Parameters<typeof generate>[0])
}

/** A function on one line, shortened, for plans and messages. */
export function textOfUnit(unit: Unit): string {
  const text = printNode(unit.node)
    .replace(/\s+/g, ' ')
    .replace(/;\s*\}/g, ' }')
    .replace(/;$/, '')
    .trim()
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT - 1)}…` : text
}
