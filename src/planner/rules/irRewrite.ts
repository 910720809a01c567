/**
 * Rewriting the IR of row lambdas: a function with its parts replaced, under names that another one does not use, and
 * the functions that rules made.
 */
import type { CountedLoop, Expr, FunctionIr, Stmt, UserFunction } from '../../core/functionIr.ts'
import { expressionsOf, visitExpr, visitStmts } from '../../core/functionIr.ts'
import type { Span } from '../../core/span.ts'

// ------------------------------------------------------------------ rewriting

export interface Rewriter {
  /** What an expression becomes, after its operands; itself when nothing. */
  expr(expr: Expr): Expr
  local(name: string): string
  label(name: string): string
}

/** The expression with every part rewritten, operands first. */
export function rewriteExpr(expr: Expr, by: Rewriter): Expr {
  const go = (one: Expr): Expr => rewriteExpr(one, by)
  switch (expr.kind) {
    case 'Literal':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return by.expr(expr)
    case 'Local':
      return by.expr({ ...expr, name: by.local(expr.name) })
    case 'Field':
      // a field of the element is one thing: the column
      return by.expr(expr.of.kind === 'Input' ? expr : { ...expr, of: go(expr.of) })
    case 'Unary':
      return by.expr({ ...expr, operand: go(expr.operand) })
    case 'Binary':
    case 'Logical':
      return by.expr({ ...expr, left: go(expr.left), right: go(expr.right) })
    case 'Conditional':
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return by.expr({ ...expr, test: go(expr.test), then: go(expr.then), else: go(expr.else) })
    case 'Call':
    case 'Draw':
      return by.expr({ ...expr, args: expr.args.map(go) })
    case 'MethodCall':
      return by.expr({ ...expr, object: go(expr.object), args: expr.args.map(go) })
    case 'Read':
    case 'Has':
      return by.expr({ ...expr, subscripts: expr.subscripts.map(go) })
    case 'Lookup':
      return by.expr({ ...expr, index: go(expr.index) })
    case 'ArrayLiteral':
      return by.expr({ ...expr, items: expr.items.map(go) })
    case 'ObjectLiteral':
      return by.expr({ ...expr, fields: expr.fields.map((field) => ({ name: field.name, value: go(field.value) })) })
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

/** Changes nothing; for rewriting one thing. */
export const UNCHANGED: Rewriter = { expr: (expr) => expr, local: (name) => name, label: (name) => name }

/** The function with columns of argument 0 read under other names. */
export function renameColumns(ir: FunctionIr, nameOf: (column: string) => string): FunctionIr {
  const expr = (one: Expr): Expr => (isColumn(one) ? { ...one, name: nameOf(one.name) } : one)
  return { ...ir, body: rewriteStmts(ir.body, { ...UNCHANGED, expr }) }
}

/** Whether an expression is a column of argument 0. */
export function isColumn(expr: Expr): expr is Extract<Expr, { kind: 'Field' }> {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0
}

// ------------------------------------------------------------------ names

/** Names that a function uses for itself. */
export interface Names {
  readonly locals: Set<string>
  readonly labels: Set<string>
  readonly constants: Set<string>
}

function namesOf(ir: FunctionIr): Names {
  const locals = new Set<string>()
  const labels = new Set<string>()
  const see = (expr: Expr): void => visitExpr(expr, (one) => void (one.kind === 'Local' && locals.add(one.name)))
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') locals.add(stmt.local)
    if ((stmt.kind === 'For' || stmt.kind === 'Labeled' || stmt.kind === 'Break' || stmt.kind === 'Continue') && stmt.label !== undefined) {
      labels.add(stmt.label)
    }
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach(see)
    expressionsOf(stmt).forEach(see)
  })
  return { locals, labels, constants: new Set([...ir.parameters, ...ir.tables].map((one) => one.name)) }
}

/** `name`, or `name$2`, `name$3`, … if it is taken; takes it. */
export function fresh(name: string, taken: Set<string>): string {
  let free = name
  for (let n = 2; taken.has(free); n++) free = `${name}$${n}`
  taken.add(free)
  return free
}

/** The function under names that `other` does not have, and all names of both. */
export function renamedApart(ir: FunctionIr, other: FunctionIr): { readonly ir: FunctionIr; readonly taken: Names } {
  const taken = namesOf(other)
  const own = namesOf(ir)
  const table = (names: ReadonlySet<string>, used: Set<string>): ReadonlyMap<string, string> =>
    new Map([...names].map((name) => [name, fresh(name, used)]))
  const locals = table(own.locals, taken.locals)
  const labels = table(own.labels, taken.labels)
  const constants = table(own.constants, taken.constants)
  const constant = (name: string): string => constants.get(name) ?? name
  const body = rewriteStmts(ir.body, {
    local: (name) => locals.get(name) ?? name,
    label: (name) => labels.get(name) ?? name,
    expr: (expr) => {
      if (expr.kind === 'Parameter') return { ...expr, name: constant(expr.name) }
      if (expr.kind === 'Lookup' || expr.kind === 'LookupLength') return { ...expr, table: constant(expr.table) }
      return expr
    },
  })
  const renamed: FunctionIr = {
    ...ir,
    body,
    parameters: ir.parameters.map((one) => ({ ...one, name: constant(one.name) })),
    tables: ir.tables.map((one) => ({ ...one, name: constant(one.name) })),
  }
  return { ir: renamed, taken }
}

// ------------------------------------------------------------------ closures

export type RowClosure = (value: unknown, key: unknown) => unknown

/** The closure of a row lambda, for composing closures. */
export function closureOf(f: UserFunction): RowClosure {
  return f.original as unknown as RowClosure // rules hand it the elements and keys it was written for
}

/** A function made of others by a rule. It was lowered, so it needs no portable form. */
export function composedFunction(
  ir: FunctionIr,
  { text, span, original }: { readonly text: string; readonly span: Span; readonly original: RowClosure },
): UserFunction {
  return { ir, text, span, original: original as unknown as UserFunction['original'], refusals: [] }
}
