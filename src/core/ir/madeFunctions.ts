/**
 * Row functions that the library writes itself, for methods that are given names of columns: the IR of an expression over the row, and
 * the closure that computes the same.
 */

import type { Span } from '../span.ts'
import type { Expr, FunctionIr, Primitive, Stmt, UserFunction } from './functionIr.ts'

export type Row = Readonly<Record<string, unknown>>

/** The lowered functions of the closures that the library made. */
const made = new WeakMap<Callback, UserFunction>()
type Callback = (...args: never[]) => unknown

/** The lowered function of a closure that the library made; undefined for a program's own. */
export function madeOf(f: Callback): UserFunction | undefined {
  return made.get(f)
}

/** The user function `(row) => value`, with `checks` run before; `text` is printed in plans. */
export function madeFunction(value: Expr, text: string, original: (row: Row) => unknown, checks: readonly Stmt[] = []): UserFunction {
  const span = spanOf(text)
  const body: readonly Stmt[] = [...checks, { kind: 'Return', value, span }]
  const ir: FunctionIr = { name: text, span, keyRank: 0, body, parameters: [], tables: [], uses: [] }
  return remembered(original, { text, span, ir, refusals: [] })
}

function remembered(original: (row: Row) => unknown, parts: Omit<UserFunction, 'original'>): UserFunction {
  const f: UserFunction = { original: original as unknown as UserFunction['original'], ...parts } // it is called with rows alone
  made.set(f.original, f)
  return f
}

/** A column of the row. */
export function columnOf(name: string): Expr {
  const span = spanOf(memberText(name))
  return { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span }
}

export function literalOf(value: Primitive): Expr {
  return { kind: 'Literal', value, span: spanOf(String(value)) }
}

/** `new Date(milliseconds)`. */
export function dateOf(milliseconds: Expr): Expr {
  return { kind: 'Call', callee: 'new Date', args: [milliseconds], span: milliseconds.span }
}

export function objectOf(fields: readonly { readonly name: string; readonly value: Expr }[]): Expr {
  return { kind: 'ObjectLiteral', fields, span: spanOf('{ … }') }
}

export function listOf(items: readonly Expr[]): Expr {
  return { kind: 'ArrayLiteral', items, span: spanOf('[ … ]') }
}

/** `value ?? instead`. */
export function orElse(value: Expr, instead: Expr): Expr {
  return { kind: 'Logical', operator: '??', left: value, right: instead, span: value.span }
}

/** `a === b`. */
export function equals(left: Expr, right: Expr): Expr {
  return { kind: 'Binary', operator: '===', left, right, span: left.span }
}

/** `value !== value`, true for NaN alone. */
export function isNaNOf(value: Expr): Expr {
  return { kind: 'Binary', operator: '!==', left: value, right: value, span: value.span }
}

/** `value !== null && typeof value !== kind`. */
export function hasOtherKind(value: Expr, kind: string): Expr {
  const { span } = value
  const typeOf: Expr = { kind: 'Unary', operator: 'typeof', operand: value, span }
  const isThere: Expr = { kind: 'Binary', operator: '!==', left: value, right: literalOf(null), span }
  return {
    kind: 'Logical',
    operator: '&&',
    left: isThere,
    right: { kind: 'Binary', operator: '!==', left: typeOf, right: literalOf(kind), span },
    span,
  }
}

/** `if (test) throw new TypeError(message)`. */
export function thrownFor(test: Expr, message: string): Stmt {
  const { span } = test
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  return { kind: 'If', test, then: [{ kind: 'Throw', error: 'TypeError', message: literalOf(message), span }], else: [], span }
}

/** `test ? value : other`. */
export function chosen(test: Expr, value: Expr, other: Expr): Expr {
  // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
  return { kind: 'Conditional', test, then: value, else: other, span: test.span }
}

/** `row.price`, `row["unit price"]`. */
export function memberText(name: string): string {
  return isIdentifier(name) ? `row.${name}` : `row[${JSON.stringify(name)}]`
}

/** The name as the key of an object literal. */
export function keyText(name: string): string {
  return isIdentifier(name) ? name : JSON.stringify(name)
}

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

function spanOf(text: string): Span {
  return { line: 1, column: 1, text }
}
