/**
 * Subscripts as affine forms: one variable plus a constant, `i - 1`, `k`, `3`.
 *
 * Variables are the axes of the iteration space, the indices of counted inner loops, and symbols: extents that are
 * not known yet but are the same in every iteration. Whatever does not fit (`2 * i`, `i + j`, a value read from an
 * array) has no form; the analysis takes it for any integer.
 */
import type { BinaryOperator, Expr, Primitive } from '../../core/functionIr.ts'

export type Variable =
  /** A loop index: a component of the key. */
  | { readonly kind: 'key'; readonly axis: number }
  /** The index of a counted loop inside the body; `loop` is unique in the body. */
  | { readonly kind: 'inner'; readonly loop: number; readonly name: string }
  /** The extent of an axis of an array, where it is not known yet. */
  | { readonly kind: 'extent'; readonly array: number; readonly axis: number; readonly name: string }
  /** A value read from an array whose values `assume.distinct` says differ, and where it was read; `read` is unique in the body. */
  | { readonly kind: 'distinct'; readonly read: number; readonly array: string; readonly at: readonly (Form | undefined)[] }

export interface Form {
  /** Absent for a constant. */
  readonly variable?: Variable
  readonly offset: number
}

/** What is known where an expression stands. */
export interface Scope {
  /** Axes of the iteration space. */
  readonly rank: number
  /** Forms of the locals that have one. */
  readonly locals: ReadonlyMap<string, Form>
  readonly parameters: ReadonlyMap<string, Primitive>
  extentOf(array: string, axis: number): Form | undefined
  /** The form of a read, where it has one. */
  readOf(array: string, subscripts: readonly Expr[]): Form | undefined
}

/** Offsets beyond this have no form, so that no sum of a handful of them leaves the exact integers. */
const LARGEST_OFFSET = 2 ** 33

/** Rounding a whole number gives the number. */
const ROUNDINGS: ReadonlySet<string> = new Set(['Math.floor', 'Math.ceil', 'Math.round', 'Math.trunc'])

/** The affine form of an expression, or undefined where it has none. */
export function formOf(expr: Expr, scope: Scope): Form | undefined {
  switch (expr.kind) {
    case 'Literal':
      return constantForm(expr.value)
    case 'Parameter':
      return constantForm(scope.parameters.get(expr.name))
    case 'Local':
      return scope.locals.get(expr.name)
    case 'Key':
      return expr.axis < scope.rank ? { variable: { kind: 'key', axis: expr.axis }, offset: 0 } : undefined
    case 'Extent':
      return scope.extentOf(expr.array, expr.axis)
    case 'Unary': {
      const operand = formOf(expr.operand, scope)
      if (operand === undefined) return undefined
      if (expr.operator === '+') return operand
      return expr.operator === '-' && operand.variable === undefined ? constantForm(-operand.offset) : undefined
    }
    case 'Binary': {
      const left = formOf(expr.left, scope)
      const right = left === undefined ? undefined : formOf(expr.right, scope)
      return left === undefined || right === undefined ? undefined : combined(expr.operator, left, right)
    }
    case 'Call': {
      const [argument] = expr.args
      return ROUNDINGS.has(expr.callee) && argument !== undefined && expr.args.length === 1 ? formOf(argument, scope) : undefined
    }
    case 'Read':
      return scope.readOf(expr.array, expr.subscripts)
    case 'Input':
    case 'Field':
    case 'Logical':
    case 'Conditional':
    case 'MethodCall':
    case 'Has':
    case 'Lookup':
    case 'LookupLength':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return undefined
  }
}

function combined(operator: BinaryOperator, left: Form, right: Form): Form | undefined {
  if (operator === '+') {
    if (left.variable !== undefined && right.variable !== undefined) return undefined
    return shifted(left.variable ?? right.variable, left.offset + right.offset)
  }
  if (operator === '-') {
    if (right.variable === undefined) return shifted(left.variable, left.offset - right.offset)
    return sameVariable(left.variable, right.variable) ? constantForm(left.offset - right.offset) : undefined
  }
  if (operator === '*') {
    if (left.variable === undefined && right.variable === undefined) return constantForm(left.offset * right.offset)
    const [factor, other] = left.variable === undefined ? [left, right] : [right, left]
    return factor.variable === undefined && factor.offset === 1 ? other : undefined
  }
  return undefined
}

function constantForm(value: Primitive): Form | undefined {
  return typeof value === 'number' && Number.isInteger(value) ? shifted(undefined, value) : undefined
}

function shifted(variable: Variable | undefined, offset: number): Form | undefined {
  if (Math.abs(offset) > LARGEST_OFFSET) return undefined
  // Adding 0 turns -0 into 0.
  return variable === undefined ? { offset: offset + 0 } : { variable, offset: offset + 0 }
}

/** A text that is equal for equal variables, and the empty text for none. */
export function variableId(variable: Variable | undefined): string {
  if (variable === undefined) return ''
  switch (variable.kind) {
    case 'key':
      return `key ${variable.axis}`
    case 'inner':
      return `inner ${variable.loop}`
    case 'extent':
      return `extent ${variable.array} ${variable.axis}`
    case 'distinct':
      return `distinct ${variable.read}`
  }
}

export function sameVariable(a: Variable | undefined, b: Variable | undefined): boolean {
  return variableId(a) === variableId(b)
}

export function sameForm(a: Form | undefined, b: Form | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.offset === b.offset && sameVariable(a.variable, b.variable))
}
