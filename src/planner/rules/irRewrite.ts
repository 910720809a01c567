/**
 * Rewriting the IR of row lambdas: one function after another as one function.
 *
 * A value that crosses from one function to the next goes through a column, and a column changes it: `undefined` comes
 * out as null, a string without its lone surrogates, a bigint only if it fits. Composition keeps that: columns passed
 * through are read directly, computed numbers and booleans become locals with `?? null`, anything else is not composed.
 */

import { valueClassOf } from '../../core/elements.ts'
import type { CountedLoop, Expr, FunctionIr, Stmt, UserFunction } from '../../core/functionIr.ts'
import { expressionsOf, visitExpr, visitStmts } from '../../core/functionIr.ts'
import { type ElementType, fieldsOf } from '../../core/schema.ts'
import type { Span } from '../../core/span.ts'
import { columnOf } from '../lambdaFacts.ts'

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

const UNCHANGED: Rewriter = { expr: (expr) => expr, local: (name) => name, label: (name) => name }

/** The function with columns of argument 0 read under other names. */
export function renameColumns(ir: FunctionIr, nameOf: (column: string) => string): FunctionIr {
  const expr = (one: Expr): Expr => (isColumn(one) ? { ...one, name: nameOf(one.name) } : one)
  return { ...ir, body: rewriteStmts(ir.body, { ...UNCHANGED, expr }) }
}

function isColumn(expr: Expr): expr is Extract<Expr, { kind: 'Field' }> {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && expr.of.argument === 0
}

// ------------------------------------------------------------------ two functions of one element as one

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
function fresh(name: string, taken: Set<string>): string {
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

/** A body that runs straight to one return at its end, without loops. */
export function straight(ir: FunctionIr): { readonly before: readonly Stmt[]; readonly value: Expr } | undefined {
  const last = ir.body.at(-1)
  if (last?.kind !== 'Return' || last.value === undefined) return undefined
  const before = ir.body.slice(0, -1)
  let simple = true
  visitStmts(before, (stmt) => {
    simple &&= stmt.kind === 'Let' || stmt.kind === 'Assign' || stmt.kind === 'If'
  })
  return simple ? { before, value: last.value } : undefined
}

export interface Composition {
  /** The function that runs first, on elements of type `input`, giving elements of type `between`. */
  readonly first: FunctionIr
  readonly input: ElementType
  readonly between: ElementType
  readonly second: FunctionIr
  /** `first` only adds columns: those it does not give are the input's. */
  readonly adds: boolean
}

/** `second` of what `first` returns, or undefined when a value would not cross as it does through a column. */
export function compose({ first, input, between, second, adds }: Composition): FunctionIr | undefined {
  const inner = straight(first)
  if (inner === undefined) return undefined
  const { ir: outer, taken } = renamedApart(second, first)
  const crossing = new Crossing(inner.value, { input, between, adds, taken: taken.locals })
  const body = rewriteStmts(outer.body, { ...UNCHANGED, expr: (expr) => crossing.rewrite(expr) })
  if (crossing.blocked) return undefined
  return {
    ...outer,
    name: outer.name,
    keyRank: Math.max(first.keyRank, outer.keyRank),
    body: [...(crossing.readsFirst ? inner.before : []), ...crossing.lets, ...body],
    parameters: [...first.parameters, ...outer.parameters],
    tables: [...first.tables, ...outer.tables],
    uses: [...first.uses, ...outer.uses],
  }
}

/** Replaces reads of the element between two functions by what the first one computes. */
class Crossing {
  blocked = false
  readsFirst = false
  readonly lets: Stmt[] = []
  readonly #returned: Expr
  readonly #context: { readonly input: ElementType; readonly between: ElementType; readonly adds: boolean; readonly taken: Set<string> }
  readonly #known = new Map<string, Expr>()

  constructor(
    returned: Expr,
    context: { readonly input: ElementType; readonly between: ElementType; readonly adds: boolean; readonly taken: Set<string> },
  ) {
    this.#returned = returned
    this.#context = context
  }

  rewrite(expr: Expr): Expr {
    const { between } = this.#context
    if (isColumn(expr)) {
      if (between.kind === 'row') return this.#column(expr.name, expr.span)
      return this.#block(expr) // a field of a value: not seen through
    }
    if (expr.kind !== 'Input') return expr
    if (between.kind === 'scalar') return this.#column('value', expr.span)
    return this.#block(expr)
  }

  #block(expr: Expr): Expr {
    this.blocked = true
    return expr
  }

  #column(name: string, span: Span): Expr {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const field = fieldsOf(this.#context.between).find((one) => one.name === name)
    if (field === undefined) return { kind: 'Literal', value: undefined, span }
    const value = this.#valueOf(name, span)
    if (value === undefined) return this.#block({ kind: 'Literal', value: undefined, span })
    const crossed = this.#cross(name, value, valueClassOf(field.type))
    this.#known.set(name, crossed)
    return crossed
  }

  /** The expression behind a column of the first function's result. */
  #valueOf(name: string, span: Span): Expr | undefined {
    const { between, adds } = this.#context
    const returned = this.#returned
    if (between.kind === 'scalar') return returned
    if (returned.kind === 'ObjectLiteral') {
      const value = returned.fields.findLast((field) => field.name === name)?.value
      if (value !== undefined || !adds) return value
      return { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span }
    }
    // the element itself, handed on
    if (returned.kind === 'Input' && returned.argument === 0) return { kind: 'Field', of: returned, name, optional: false, span }
    return undefined
  }

  #cross(name: string, value: Expr, is: ReturnType<typeof valueClassOf>): Expr {
    const { input, taken } = this.#context
    if (columnOf(value, { inputs: [input] }) !== undefined) return value
    this.readsFirst = true
    if (value.kind === 'Literal' && crossesUnchanged(value.value)) return value
    if (is !== 'number' && is !== 'boolean') return this.#block(value)
    const local = fresh(name, taken)
    const init: Expr = cannotBeUndefined(value)
      ? value
      : { kind: 'Logical', operator: '??', left: value, right: { kind: 'Literal', value: null, span: value.span }, span: value.span }
    this.lets.push({ kind: 'Let', local, init, span: value.span })
    return { kind: 'Local', name: local, span: value.span }
  }
}

function crossesUnchanged(value: unknown): boolean {
  return (
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    value === null ||
    (typeof value === 'string' && !/\p{Surrogate}/u.test(value))
  )
}

/** Arithmetic and comparisons give numbers and booleans, never undefined. */
function cannotBeUndefined(expr: Expr): boolean {
  return expr.kind === 'Unary' || expr.kind === 'Binary' || (expr.kind === 'Call' && expr.callee !== 'BigInt')
}

// ------------------------------------------------------------------ closures

/** What a value is after it went through a column: undefined, alone or in a field, is null. */
export function asStored(value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, field === undefined ? null : field]))
}

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
