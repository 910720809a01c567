/**
 * What rules do to the IR of row lambdas: they rename columns, take conditions apart, and wrap what they made as functions.
 */
import type { ElementType } from '../../core/data/schema.ts'
import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { rewriteStmts, UNCHANGED } from '../../core/ir/irRewrite.ts'
import type { Span } from '../../core/span.ts'
import { cannotFail } from '../lambdaFacts.ts'

/** Returns the function with columns of argument 0 read under other names. */
export function renameColumns(ir: FunctionIr, nameOf: (column: string) => string): FunctionIr {
  const expr = (one: Expr): Expr => (isColumn(one) ? { ...one, name: nameOf(one.name) } : one)
  return { ...ir, body: rewriteStmts(ir.body, { ...UNCHANGED, expr }) }
}

/** Whether an expression is a column of argument 0. */
export function isColumn(expr: Expr): expr is Extract<Expr, { kind: 'Field' }> {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0
}

// ------------------------------------------------------------------ closures

export type RowClosure = (value: unknown, key: unknown) => unknown

/** Returns the closure of a row lambda, for composing closures. */
export function closureOf(f: UserFunction): RowClosure {
  return f.original as unknown as RowClosure // rules hand it the elements and keys it was written for
}

/** Returns a function that a rule made of others. It was lowered, so it needs no portable form. */
export function composedFunction(
  ir: FunctionIr,
  { text, span, original }: { readonly text: string; readonly span: Span; readonly original: RowClosure },
): UserFunction {
  return { ir, text, span, original: original as unknown as UserFunction['original'], refusals: [] }
}

/** The parts of a condition that must all hold, in the order in which they are asked. */
export function conjunctsOf(expr: Expr): readonly Expr[] {
  return expr.kind === 'Logical' && expr.operator === '&&' ? [...conjunctsOf(expr.left), ...conjunctsOf(expr.right)] : [expr]
}

/** Whether a part of a function's value cannot throw, when it is computed alone for such an element. */
export function isSafe(value: Expr, ir: FunctionIr, element: ElementType): boolean {
  const { span } = value
  return cannotFail({ ir: { ...ir, body: [{ kind: 'Return', value, span }] } }, [element])
}
