/**
 * Operations on whole numbers that random subscripts and tests hold besides sums and multiples: quotients, remainders, bits.
 *
 * Each is an expression of JavaScript and, for loops that must stay inside their arrays, what it lies between.
 */
import type { BinaryOperator, Builtin } from '../../src/core/ir/functionIr.ts'

export const WHOLE_OPERATIONS = ['%', '>>', '&', '|', '^', 'floor', 'trunc', 'ceil', 'abs', 'product'] as const
export type WholeOperation = (typeof WHOLE_OPERATIONS)[number]

/** How an operation on `x` and a literal `by` is written. */
export type Written =
  | { readonly kind: 'binary'; readonly operator: BinaryOperator }
  | { readonly kind: 'rounded'; readonly callee: Builtin }
  | { readonly kind: 'call'; readonly callee: Builtin }
  | { readonly kind: 'product' }

export function writtenAs(operation: WholeOperation): Written {
  switch (operation) {
    case '%':
    case '>>':
    case '&':
    case '|':
    case '^':
      return { kind: 'binary', operator: operation }
    case 'floor':
    case 'trunc':
    case 'ceil':
      return { kind: 'rounded', callee: `Math.${operation}` }
    case 'abs':
      return { kind: 'call', callee: 'Math.abs' }
    case 'product':
      return { kind: 'product' }
  }
}

/** What the operation lies between, for x from `least` to `greatest` and `by` from 1 on. */
export function boundsOf(operation: Exclude<WholeOperation, 'product'>, least: number, greatest: number, by: number): [number, number] {
  switch (operation) {
    case '%':
      return [least < 0 ? 1 - by : 0, greatest > 0 ? by - 1 : 0]
    case '>>':
      return [least >> by, greatest >> by]
    case '&':
      return [0, by]
    case '|':
      return [least, greatest + by]
    case '^':
      return [least - by, greatest + by]
    case 'floor':
    case 'trunc':
    case 'ceil':
      return [Math[operation](least / by), Math[operation](greatest / by)]
    case 'abs':
      return [least > 0 ? least : 0, Math.max(Math.abs(least), Math.abs(greatest))]
  }
}
