/**
 * Elements of parts of rows and of the body's own arrays, which are read and written where they lie (`takenWindows.ts`).
 *
 *     const tail = x.row(i).subarray(2, 6)      nothing
 *     tail[k] = 0                        -->    k >= 4 is an error; Write x [i, 2 + k] = 0
 *
 * A subscript outside of the part is an error of the run, as it is outside of the row: elements of the row lie around those of the part.
 */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { binary, literal, logical, makeIf } from '../../lower/build.ts'
import { isWithin } from '../../lower/indexRanges.ts'
import type { Lowering } from '../../lower/lowering.ts'
import type { Value } from '../../lower/value.ts'
import { elementRead, placeIn } from '../madeArrays.ts'

export type Window = Value & { readonly kind: 'window' }

/** Returns the read of an element that a part has. */
export function windowRead(l: Lowering, { view, first }: Window, index: Expr, node: AnyNode): Expr {
  return elementRead(l, view.array, [...view.prefix, placeIn(l, view.array, sum(first, index))], l.span(node))
}

/** Returns the subscripts of an element that is written. */
export function windowPlace(l: Lowering, of: Window, index: Expr, node: AnyNode): readonly Expr[] {
  const at = checkedInWindow(l, of, l.stabilized(index, 'at'), node)
  return [...of.view.prefix, placeIn(l, of.view.array, sum(of.first, at))]
}

/** Emits the check of a subscript, and returns it. */
export function checkedInWindow(l: Lowering, { view, count }: Window, index: Expr, node: AnyNode): Expr {
  const most = count.kind === 'Literal' ? Number(count.value) : undefined
  if (l.frame.isLibrary === true || (most !== undefined && isWithin(l, index, most))) return index
  const at = l.stabilized(index, 'at')
  const span = l.span(node)
  const test = logical('||', binary('<', at, literal(0, span), span), binary('>=', at, count, span), span)
  const message = literal(
    `A subscript of a part of ${view.array}, as subarray gives it, is not below its length. Ask first, as k < part.length.`,
    span,
  )
  l.emit(...makeIf(test, [{ kind: 'Throw', error: 'RangeError', message, span }], [], span))
  return at
}

/** Returns the place of an element by the first one of its part. */
export function sum(first: Expr, index: Expr): Expr {
  if (first.kind === 'Literal' && first.value === 0) return index
  if (index.kind === 'Literal' && index.value === 0) return first
  return first.kind === 'Literal' && index.kind === 'Literal'
    ? literal(Number(first.value) + Number(index.value), index.span)
    : binary('+', first, index, index.span)
}
