/** Facts about expressions and statements that do not depend on what runs them. */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from './functionIr.ts'

/** Whether `is` holds for the expression or any expression below it. */
export function someExpr(expr: Expr, is: (expr: Expr) => boolean): boolean {
  let found = false
  visitExpr(expr, (one) => {
    found ||= is(one)
  })
  return found
}

/** Whether a loop is among the statements, or in their branches. */
export function hasLoop(stmts: readonly Stmt[]): boolean {
  return stmts.some((stmt) => {
    if (stmt.kind === 'If') return hasLoop(stmt.then) || hasLoop(stmt.else)
    return stmt.kind === 'For' || (stmt.kind === 'Labeled' && hasLoop(stmt.body))
  })
}

/** The names of locals that the statements declare or assign. */
export function changedIn(stmts: readonly Stmt[]): Set<string> {
  const names = new Set<string>()
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') names.add(stmt.local)
  })
  return names
}

/** Whether the statements read the local, or assign it. */
export function usesLocal(stmts: readonly Stmt[], local: string): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    const isRead = (expr: Expr): boolean => someExpr(expr, (one) => one.kind === 'Local' && one.name === local)
    found ||= (stmt.kind === 'Assign' && stmt.local === local) || expressionsOf(stmt).some(isRead)
  })
  return found
}

/** The locals that an expression reads. */
export function localsIn(expr: Expr): string[] {
  const names: string[] = []
  visitExpr(expr, (node) => {
    if (node.kind === 'Local') names.push(node.name)
  })
  return names
}

/** Every local that statements read, nested ones included. */
export function localsRead(stmts: readonly Stmt[]): Set<string> {
  const names = new Set<string>()
  visitStmts(stmts, (stmt) => {
    for (const expr of expressionsOf(stmt)) for (const name of localsIn(expr)) names.add(name)
  })
  return names
}

/** The names of arrays and buffers whose elements the statements read. */
export function readIn(stmts: readonly Stmt[]): ReadonlySet<string> {
  const names = new Set<string>()
  const see = (expr: Expr): void => visitExpr(expr, (one) => void ((one.kind === 'Read' || one.kind === 'Has') && names.add(one.array)))
  visitStmts(stmts, (stmt) => expressionsOf(stmt).forEach(see))
  return names
}

/** A text that is equal for two expressions if and only if they are the same but for their spans. */
export function exprId(expr: Expr | readonly Expr[]): string {
  return JSON.stringify(expr, (name, value: unknown) => (name === 'span' ? undefined : written(value)))
}

/** Wraps the primitives that JSON cannot tell apart: bigints, -0, NaN and the infinities. */
function written(value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: String(value) }
  const isOfItsOwn = typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))
  return isOfItsOwn ? { number: Object.is(value, -0) ? '-0' : String(value) } : value
}

/** The locals that are declared once, with a value, and never assigned. */
export function constantLets({ body }: Pick<FunctionIr, 'body'>): ReadonlyMap<string, Expr> {
  const lets = new Map<string, Expr>()
  const others = new Set<string>()
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'For') for (const name of changedIn([stmt])) others.add(name)
    if (stmt.kind === 'Assign') others.add(stmt.local)
    if (stmt.kind !== 'Let') return
    if (stmt.init === undefined || lets.has(stmt.local)) others.add(stmt.local)
    else lets.set(stmt.local, stmt.init)
  })
  return new Map([...lets].filter(([name]) => !others.has(name)))
}
