/**
 * Function composition: two row lambdas, one after the other, as one.
 *
 * A value that crosses from one function to the next goes through a column, and a column changes it: `undefined` comes
 * out as null, a string without its lone surrogates, a bigint only if it fits. Composition keeps that: columns passed
 * through are read directly, computed numbers and booleans become locals with `?? null`, anything else is not composed.
 */

import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../core/ir/functionIr.ts'
import { fresh, renamedApart } from '../../core/ir/irNames.ts'
import { rewriteStmts, UNCHANGED } from '../../core/ir/irRewrite.ts'
import { valueClassOf } from '../../core/plan/elements.ts'
import type { Span } from '../../core/span.ts'
import { columnOf } from '../lambdaFacts.ts'
import { isColumn } from './irRewrite.ts'

/** Returns the parts of a body that runs straight to one return at its end; undefined for any other body, as one with a loop. */
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
  /** The function that runs first, on elements of type `input`; it returns elements of type `between`. */
  readonly first: FunctionIr
  readonly input: ElementType
  readonly between: ElementType
  readonly second: FunctionIr
  /** Whether `first` only adds columns, as in `withColumns`: those it does not return are the input's. */
  readonly adds: boolean
}

/** Returns `second` of what `first` returns; undefined where a value would not cross as it does through a column. */
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

/** Replaces reads of the element between two functions by what the first one computes; `blocked` where that is not possible. */
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

  /** Returns the expression behind a column of the first function's result; undefined where it is not told. */
  #valueOf(name: string, span: Span): Expr | undefined {
    const { between, adds } = this.#context
    const returned = this.#returned
    if (between.kind === 'scalar') return returned
    if (returned.kind === 'ObjectLiteral') {
      const value = returned.fields.findLast((field) => field.name === name)?.value
      if (value !== undefined || !adds) return value
      return { kind: 'Field', of: { kind: 'Input', argument: 0, span }, name, optional: false, span }
    }
    // the element itself, returned as it is
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

/** Whether an expression never gives undefined: arithmetic and comparisons give numbers and booleans. */
function cannotBeUndefined(expr: Expr): boolean {
  return expr.kind === 'Unary' || expr.kind === 'Binary' || (expr.kind === 'Call' && expr.callee !== 'BigInt')
}

/** Returns a value as it comes out of a column: undefined, alone or in a field, is null. */
export function asStored(value: unknown): unknown {
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, field === undefined ? null : field]))
}
