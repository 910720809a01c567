/** Nodes of the IR, for random bodies. */
import type { Expr, Primitive, Stmt } from '../../src/core/ir/functionIr.ts'
import type { Span } from '../../src/core/span.ts'

export const span: Span = { line: 1, column: 1, text: '' }
export const literal = (value: Primitive): Expr => ({ kind: 'Literal', value, span })
export const local = (name: string): Expr => ({ kind: 'Local', name, span })
export const key = (axis: number): Expr => ({ kind: 'Key', axis, span })
export const binary = (operator: Extract<Expr, { kind: 'Binary' }>['operator'], left: Expr, right: Expr): Expr => ({
  kind: 'Binary',
  operator,
  left,
  right,
  span,
})
// biome-ignore format: the suppression holds for one line
// biome-ignore lint/suspicious/noThenProperty: the IR's own word
export const choice = (test: Expr, yes: Expr, no: Expr): Expr => ({ kind: 'Conditional', test, then: yes, else: no, span })
// biome-ignore format: the suppression holds for one line
// biome-ignore lint/suspicious/noThenProperty: the IR's own word
export const branch = (test: Expr, yes: readonly Stmt[], no: readonly Stmt[]): Stmt => ({ kind: 'If', test, then: yes, else: no, span })
