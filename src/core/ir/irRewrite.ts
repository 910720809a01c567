/** Rewriting of the IR's expressions and statements, bottom-up. */
import type { CountedLoop, Expr, Stmt } from './functionIr.ts'

export interface Rewriter {
  /** The replacement of an expression whose operands were rewritten; itself where there is none. */
  expr(expr: Expr): Expr
  local(name: string): string
  label(name: string): string
}

/** The expression with every part rewritten, operands first. */
export function rewriteExpr(expr: Expr, by: Rewriter): Expr {
  // a field of the element is a column, and is rewritten as a whole
  if (expr.kind === 'Field' && expr.of.kind === 'Input') return by.expr(expr)
  return by.expr(withOperands(named(expr, by), (one) => rewriteExpr(one, by)))
}

function named(expr: Expr, by: Rewriter): Expr {
  if (expr.kind === 'Local') return { ...expr, name: by.local(expr.name) }
  if (expr.kind !== 'OfList' || expr.each === undefined) return expr
  const { item, index, sofar } = expr.each
  const each = { ...expr.each, item: by.local(item), index: by.local(index), ...(sofar === undefined ? {} : { sofar: by.local(sofar) }) }
  return { ...expr, each }
}

/** The expression with each operand replaced by the result of `go`, which is called in their order. */
export function withOperands(expr: Expr, go: (operand: Expr) => Expr): Expr {
  switch (expr.kind) {
    case 'Literal':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
    case 'Local':
      return expr
    case 'Field':
    case 'Matches':
      return { ...expr, of: go(expr.of) }
    case 'Unary':
      return { ...expr, operand: go(expr.operand) }
    case 'Binary':
    case 'Logical':
      return { ...expr, left: go(expr.left), right: go(expr.right) }
    case 'Conditional':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return { ...expr, test: go(expr.test), then: go(expr.then), else: go(expr.else) }
    case 'Call':
    case 'Draw':
      return { ...expr, args: expr.args.map(go) }
    case 'MethodCall':
      return { ...expr, object: go(expr.object), args: expr.args.map(go) }
    case 'OfList': {
      const { list, args, each } = expr
      return { ...expr, list: go(list), args: args.map(go), ...(each === undefined ? {} : { each: { ...each, value: go(each.value) } }) }
    }
    case 'Read':
    case 'Has':
      return { ...expr, subscripts: expr.subscripts.map(go) }
    case 'Lookup':
      return { ...expr, index: go(expr.index) }
    case 'Find':
      return { ...expr, key: go(expr.key) }
    case 'ArrayLiteral':
      return { ...expr, items: expr.items.map(go) }
    case 'ObjectLiteral':
      return { ...expr, fields: expr.fields.map((field) => ({ name: field.name, value: go(field.value) })) }
  }
}

export function rewriteStmts(stmts: readonly Stmt[], by: Rewriter): readonly Stmt[] {
  return stmts.map((stmt) => rewriteStmt(stmt, by))
}

function rewriteStmt(stmt: Stmt, by: Rewriter): Stmt {
  const expr = (one: Expr): Expr => rewriteExpr(one, by)
  const block = (stmts: readonly Stmt[]): readonly Stmt[] => rewriteStmts(stmts, by)
  const label = (name: string | undefined): { readonly label?: string } => (name === undefined ? {} : { label: by.label(name) })
  switch (stmt.kind) {
    case 'Let':
      return { ...stmt, local: by.local(stmt.local), ...(stmt.init === undefined ? {} : { init: expr(stmt.init) }) }
    case 'Assign':
      return { ...stmt, local: by.local(stmt.local), value: expr(stmt.value) }
    case 'Write':
    case 'Add':
      return { ...stmt, subscripts: stmt.subscripts.map(expr), value: expr(stmt.value) }
    case 'Accumulate':
    case 'Evaluate':
      return { ...stmt, value: expr(stmt.value) }
    case 'If':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return { ...stmt, test: expr(stmt.test), then: block(stmt.then), else: block(stmt.else) }
    case 'For': {
      const { counted } = stmt
      return {
        ...stmt,
        ...label(stmt.label),
        init: block(stmt.init),
        ...(stmt.test === undefined ? {} : { test: expr(stmt.test) }),
        update: block(stmt.update),
        body: block(stmt.body),
        ...(counted === undefined ? {} : { counted: rewriteCounted(counted, by) }),
      }
    }
    case 'Labeled':
      return { ...stmt, label: by.label(stmt.label), body: block(stmt.body) }
    case 'Break':
    case 'Continue':
      return { ...stmt, ...label(stmt.label) }
    case 'Return':
      return { ...stmt, ...(stmt.value === undefined ? {} : { value: expr(stmt.value) }) }
    case 'Throw':
      return { ...stmt, ...(stmt.message === undefined ? {} : { message: expr(stmt.message) }) }
  }
}

function rewriteCounted(counted: CountedLoop, by: Rewriter): CountedLoop {
  return { ...counted, local: by.local(counted.local), from: rewriteExpr(counted.from, by), to: rewriteExpr(counted.to, by) }
}

/** The rewriter that changes nothing, to be spread into one that changes a part. */
export const UNCHANGED: Rewriter = { expr: (expr) => expr, local: (name) => name, label: (name) => name }
