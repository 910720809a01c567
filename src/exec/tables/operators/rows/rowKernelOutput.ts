/**
 * The output columns of a row kernel.
 *
 * A *shape* says which columns a returned value has, read off the function's return statements: an object literal is
 * a column per field, `[a, b]` of a tuple a column per item, anything else one column. Declared f64 and bool columns
 * are written straight into typed arrays; all others go through builders.
 */
import type { Column } from '../../../../core/data/column.ts'
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import type { ColumnBuilder } from '../../../../core/data/leafBuilders.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { valueText } from '../../../../core/data/valueKinds.ts'
import { PlanError } from '../../../../core/errors.ts'
import { type Expr, type FunctionIr, type Stmt, visitStmts } from '../../../../core/ir/functionIr.ts'

/** One output column: bindings for the generated code, the code that stores `value` at `$i`, and the finished column. */
export interface Output {
  readonly bindings: Readonly<Record<string, unknown>>
  store(value: string): string
  finish(length: number): Column
}

/** An output named by `id` in the generated code; `capacity` rows at most. */
export function createOutput(id: number, type: ColumnType | undefined, capacity: number, name: string): Output {
  if (type?.kind === 'f64') return new NumberOutput(id, capacity, name, type)
  if (type?.kind === 'bool') return new BooleanOutput(id, capacity, name)
  return new BuilderOutput(id, createBuilder(type, name))
}

class BuilderOutput implements Output {
  readonly bindings: Readonly<Record<string, unknown>>
  private readonly id: number
  private readonly builder: ColumnBuilder
  constructor(id: number, builder: ColumnBuilder) {
    this.id = id
    this.builder = builder
    this.bindings = { [`$b${id}`]: builder }
  }
  store(value: string): string {
    return `$b${this.id}.append(${value});`
  }
  finish(): Column {
    return this.builder.finish()
  }
}

/** The slow path of typed outputs: notes nulls, and throws PlanError for a value of another type. */
class Exceptions {
  private nulls: Uint8Array | undefined
  private readonly capacity: number
  private readonly name: string
  private readonly type: string
  constructor(capacity: number, name: string, type: string) {
    this.capacity = capacity
    this.name = name
    this.type = type
  }
  readonly store = (index: number, value: unknown): void => {
    if (value !== null && value !== undefined) {
      throw new PlanError(`Column "${this.name}" is ${this.type}, and the value ${valueText(value)} at row ${index} does not fit it.`)
    }
    this.nulls ??= new Uint8Array((this.capacity + 7) >> 3)
    this.nulls[index >> 3] = (this.nulls[index >> 3] ?? 0) | (1 << (index & 7))
  }
  finish(): { readonly validity?: Uint8Array } {
    return this.nulls === undefined ? {} : { validity: this.nulls.map((bits) => ~bits) }
  }
}

class NumberOutput implements Output {
  readonly bindings: Readonly<Record<string, unknown>>
  private readonly values: Float64Array
  private readonly exceptions: Exceptions
  private readonly id: number
  private readonly type: ColumnType
  constructor(id: number, capacity: number, name: string, type: ColumnType) {
    this.id = id
    this.type = type
    this.values = new Float64Array(capacity)
    this.exceptions = new Exceptions(capacity, name, 'f64')
    this.bindings = { [`$o${id}`]: this.values, [`$x${id}`]: this.exceptions.store }
  }
  store(value: string): string {
    const { id } = this
    return `{ const $t = ${value}; if (typeof $t === 'number') $o${id}[$i] = $t; else $x${id}($i, $t); }`
  }
  finish(length: number): Column {
    return { type: this.type, length, values: this.values, ...this.exceptions.finish() }
  }
}

class BooleanOutput implements Output {
  readonly bindings: Readonly<Record<string, unknown>>
  private readonly values: Uint8Array
  private readonly exceptions: Exceptions
  private readonly id: number
  constructor(id: number, capacity: number, name: string) {
    this.id = id
    this.values = new Uint8Array(capacity)
    this.exceptions = new Exceptions(capacity, name, 'bool')
    this.bindings = { [`$o${id}`]: this.values, [`$x${id}`]: this.exceptions.store }
  }
  store(value: string): string {
    const { id } = this
    return `{ const $t = ${value}; if ($t === true) $o${id}[$i] = 1; else if ($t !== false) $x${id}($i, $t); }`
  }
  finish(length: number): Column {
    return { type: { kind: 'bool' }, length, values: this.values, ...this.exceptions.finish() }
  }
}

/** The shape of what a function returns, as far as its return statements tell. */
export type ReturnShape =
  | { readonly kind: 'object' | 'tuple'; readonly names: readonly string[] }
  /** The element itself, unchanged. */
  | { readonly kind: 'same' }
  | { readonly kind: 'value' }

export function returnShapeOf(ir: FunctionIr): ReturnShape {
  if (!endsInReturn(ir.body)) return { kind: 'value' }
  const shapes: ReturnShape[] = []
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return') shapes.push(...shapesOf(stmt.value))
  })
  const [first] = shapes
  if (first === undefined) return { kind: 'value' }
  return shapes.every((shape) => sameShape(shape, first)) ? first : { kind: 'value' }
}

function shapesOf(expr: Expr | undefined): readonly ReturnShape[] {
  switch (expr?.kind) {
    case 'Conditional':
      return [...shapesOf(expr.then), ...shapesOf(expr.else)]
    case 'ObjectLiteral':
      return [{ kind: 'object', names: [...new Set(expr.fields.map((field) => field.name))] }]
    case 'ArrayLiteral':
      return [{ kind: 'tuple', names: expr.items.map((_, i) => String(i)) }]
    case 'Input':
      return [{ kind: 'same' }]
    default:
      return [{ kind: 'value' }]
  }
}

function sameShape(a: ReturnShape, b: ReturnShape): boolean {
  if (a.kind !== b.kind) return false
  if ((a.kind !== 'object' && a.kind !== 'tuple') || (b.kind !== 'object' && b.kind !== 'tuple')) return true
  return a.names.length === b.names.length && a.names.every((name, i) => name === b.names[i])
}

function endsInReturn(stmts: readonly Stmt[]): boolean {
  const last = stmts.at(-1)
  switch (last?.kind) {
    case 'Return':
    case 'Throw':
      return true
    case 'If':
      return endsInReturn(last.then) && endsInReturn(last.else)
    default:
      return false
  }
}

/** The expression for each name in an object or array literal; a name given twice has its last one. Undefined for any other expression. */
export function partsOf(expr: Expr, names: readonly string[]): readonly Expr[] | undefined {
  if (expr.kind === 'ArrayLiteral') return expr.items
  if (expr.kind !== 'ObjectLiteral') return undefined
  return names.map((name) => expr.fields.findLast((field) => field.name === name)?.value ?? expr)
}
