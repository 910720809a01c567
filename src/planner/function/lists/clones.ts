/**
 * Lowers `structuredClone` of lists of numbers that a body makes, and of lists of such lists.
 *
 *     structuredClone(grid)                 grid.map((row) => row.slice())
 *
 * Legal where no two places hold one list, which a clone would keep: lists whose places are given others stay with JavaScript.
 */
import type { AnyNode, CallExpression } from 'acorn'
import { libraryFunction } from '../captures/libraryFunctions.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { Value } from '../lower/value.ts'
import type { AnyFunction } from '../unit.ts'
import { elements } from './elements.ts'

const cloneList = (list: readonly unknown[]): unknown => list.slice()

const cloneRows = (rows: readonly { readonly slice: () => unknown }[]): unknown => rows.map((row) => row.slice())

/** Lowers the call; undefined for values that hold anything but numbers, or lists of numbers. */
export function cloned(l: Lowering, node: CallExpression): Value | undefined {
  if (l.context.kind !== 'loop' || node.arguments.length !== 1) return undefined
  const [value] = elements(l, node.arguments) ?? []
  if (value?.kind === 'tuple' && value.site !== undefined) l.foundIndexed.push(value.site) // the next try has it in memory
  const f = value?.kind === 'view' && l.locals.has(value.array) ? cloneOf(l, value) : undefined
  return f === undefined || value === undefined
    ? undefined
    : l.verbs.inline(l, libraryFunction(l, f as unknown as AnyFunction, 'structuredClone', node as AnyNode), [value], node)
}

function cloneOf(l: Lowering, { array, rank, prefix }: Value & { readonly kind: 'view' }): ((list: never) => unknown) | undefined {
  if (l.rowsOf.has(array)) return undefined
  const depth = (rank ?? prefix.length + 1) - prefix.length
  return depth === 1 ? cloneList : depth === 2 ? cloneRows : undefined
}
