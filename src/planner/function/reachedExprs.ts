/**
 * What of a function can run: the walk of those checks that speak of what a literal or a captured value may have ruled out.
 */

import { childrenOf, type Expr, type FunctionIr, type Stmt } from '../../core/ir/functionIr.ts'

/** Returns the expressions of a function in their order, without those behind a test that a literal or a captured value decides. */
export function reachedExprs(ir: FunctionIr): readonly Expr[] {
  const found: Expr[] = []
  const known = (expr: Expr): { readonly value: unknown } | undefined => {
    if (expr.kind === 'Literal') return { value: expr.value }
    if (expr.kind === 'Parameter') return ir.parameters.find((one) => one.name === expr.name)
    const operand = expr.kind === 'Unary' && expr.operator === '!' ? known(expr.operand) : undefined
    return operand === undefined ? undefined : { value: !operand.value }
  }
  const exprs = (expr: Expr): void => {
    found.push(expr)
    if (expr.kind === 'Conditional') {
      exprs(expr.test)
      const test = known(expr.test)
      if (test === undefined || test.value) exprs(expr.then)
      if (test === undefined || !test.value) exprs(expr.else)
    } else if (expr.kind === 'Logical') {
      exprs(expr.left)
      const left = expr.operator === '??' ? undefined : known(expr.left)
      if (left === undefined || Boolean(left.value) === (expr.operator === '&&')) exprs(expr.right)
    } else for (const child of childrenOf(expr)) exprs(child)
  }
  const stmts = (list: readonly Stmt[]): void => list.forEach(stmt)
  const stmt = (one: Stmt): void => {
    switch (one.kind) {
      case 'Let':
        if (one.init !== undefined) exprs(one.init)
        return
      case 'Assign':
      case 'Accumulate':
      case 'Evaluate':
        exprs(one.value)
        return
      case 'Write':
      case 'Add':
        one.subscripts.forEach(exprs)
        exprs(one.value)
        return
      case 'If': {
        exprs(one.test)
        const test = known(one.test)
        if (test === undefined || test.value) stmts(one.then)
        if (test === undefined || !test.value) stmts(one.else)
        return
      }
      case 'For':
        stmts(one.init)
        if (one.test !== undefined) exprs(one.test)
        stmts(one.body)
        stmts(one.update)
        return
      case 'Labeled':
        stmts(one.body)
        return
      case 'Return':
        if (one.value !== undefined) exprs(one.value)
        return
      case 'Throw':
        if (one.message !== undefined) exprs(one.message)
        return
      case 'Break':
      case 'Continue':
    }
  }
  stmts(ir.body)
  return found
}
