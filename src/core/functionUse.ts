/**
 * What a row function needs from the place it runs in.
 */
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type UserFunction, visitStmts } from './functionIr.ts'

type RowFunction = Omit<UserFunction, 'original'>

/** The IR of a function that a row kernel can run: one that uses no arrays, accumulators or generators. */
export function rowIrOf(f: RowFunction): FunctionIr | undefined {
  return f.ir !== undefined && f.ir.uses.length === 0 ? f.ir : undefined
}

/** Whether the function can only run on the caller's thread, as the closure it is. */
export function needsCaller(f: RowFunction): boolean {
  return rowIrOf(f) === undefined && f.portable === undefined
}

/** Whether the function may look at the key. What was refused may. */
export function readsKey(f: RowFunction): boolean {
  const ir = rowIrOf(f)
  if (ir === undefined || ir.keyRank > 0) return true
  let found = false
  const search = (expr: Expr): void => {
    if (expr.kind === 'Key') found = true
    else childrenOf(expr).forEach(search)
  }
  visitStmts(ir.body, (stmt) => expressionsOf(stmt).forEach(search))
  return found
}
