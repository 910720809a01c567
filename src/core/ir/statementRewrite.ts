/** Rewrites the expressions of a body, and optionally its statements, each to any number of statements. */
import type { Expr, Stmt } from './functionIr.ts'

export interface StatementRewrite {
  /** Returns the replacement of a top-level expression of the statement. */
  expr(expr: Expr, of: Stmt): Expr
  /** Returns the replacements of a statement whose parts have been rewritten; without it, statements stay. */
  stmt?(rewritten: Stmt, original: Stmt): readonly Stmt[]
}

export function rewrittenStatements(stmts: readonly Stmt[], by: StatementRewrite): readonly Stmt[] {
  return stmts.flatMap((stmt) => {
    const parts = withParts(stmt, by)
    return by.stmt === undefined ? [parts] : by.stmt(parts, stmt)
  })
}

function withParts(stmt: Stmt, by: StatementRewrite): Stmt {
  const expr = (one: Expr): Expr => by.expr(one, stmt)
  const block = (stmts: readonly Stmt[]): readonly Stmt[] => rewrittenStatements(stmts, by)
  switch (stmt.kind) {
    case 'Let':
      return stmt.init === undefined ? stmt : { ...stmt, init: expr(stmt.init) }
    case 'Assign':
    case 'Accumulate':
    case 'Evaluate':
      return { ...stmt, value: expr(stmt.value) }
    case 'Write':
    case 'Add':
      return { ...stmt, subscripts: stmt.subscripts.map(expr), value: expr(stmt.value) }
    case 'If':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return { ...stmt, test: expr(stmt.test), then: block(stmt.then), else: block(stmt.else) }
    case 'For': {
      const { counted, test } = stmt
      const bounds = counted && { ...counted, from: expr(counted.from), to: expr(counted.to) }
      const head = { ...(test === undefined ? {} : { test: expr(test) }), ...(bounds === undefined ? {} : { counted: bounds }) }
      return { ...stmt, init: block(stmt.init), update: block(stmt.update), body: block(stmt.body), ...head }
    }
    case 'Labeled':
      return { ...stmt, body: block(stmt.body) }
    case 'Return':
      return stmt.value === undefined ? stmt : { ...stmt, value: expr(stmt.value) }
    case 'Throw':
      return stmt.message === undefined ? stmt : { ...stmt, message: expr(stmt.message) }
    case 'Break':
    case 'Continue':
      return stmt
  }
}
