/**
 * Subscripts as affine forms: whole multiples of variables plus a constant, `2 * i - j + 1`, `n - 1 - k`, `3`.
 *
 * Variables are the axes of the iteration space, the indices of counted inner loops, values chosen between forms
 * (`Math.max(0, i - 1)`), and symbols: extents that are not known yet but are the same in every iteration. Whatever
 * does not fit (`i % 4`, `i * j`, a value read from an array) has no form; the analysis takes it for any integer.
 */
import type { BinaryOperator, Expr, Primitive } from '../../core/functionIr.ts'

export type Variable =
  /** A loop index: a component of the key. */
  | { readonly kind: 'key'; readonly axis: number; readonly size: number }
  /** The index of a counted loop inside the body, or its number of turns; `id` is unique in the body. */
  | { readonly kind: 'inner'; readonly id: number; readonly name: string; readonly size: number }
  /** One of several forms, as `means` says; `exact` where it says all. `id` is unique in the body. */
  | {
      readonly kind: 'choice'
      readonly id: number
      readonly name: string
      readonly means: readonly Constraint[]
      readonly exact: boolean
      readonly size: number
    }
  /** The extent of an axis of an array, where it is not known yet. */
  | { readonly kind: 'extent'; readonly array: number; readonly axis: number; readonly name: string; readonly size: number }
  /** A value read from an array whose values `assume.distinct` says differ, and where it was read; `id` is unique in the body. */
  | {
      readonly kind: 'distinct'
      readonly id: number
      readonly array: string
      readonly at: readonly (Form | undefined)[]
      readonly size: number
    }

export interface Term {
  readonly variable: Variable
  /** A whole number, not 0. */
  readonly factor: number
}

/** The sum of its terms and the offset. Each variable has one term, in the order of their ids. */
export interface Form {
  readonly terms: readonly Term[]
  readonly offset: number
}

/** What holds of the variables wherever an access happens. */
export type Constraint =
  /** form >= 0 */
  | { readonly kind: 'atLeast'; readonly form: Form }
  /** form = 0 */
  | { readonly kind: 'equal'; readonly form: Form }
  /** All constraints of at least one of the cases hold. */
  | { readonly kind: 'either'; readonly cases: readonly (readonly Constraint[])[] }

/** What is known where an expression stands. */
export interface Scope {
  /** The loop index of an axis, where the space has it. */
  keyOf(axis: number): Form | undefined
  /** Forms of the locals that have one. */
  readonly locals: ReadonlyMap<string, Form>
  readonly parameters: ReadonlyMap<string, Primitive>
  extentOf(array: string, axis: number): Form | undefined
  /** The form of a read, where it has one. */
  readOf(array: string, subscripts: readonly Expr[]): Form | undefined
  /** The form of `Math.min`, `Math.max` and `?:`, where their parts have forms. */
  choiceOf(expr: Choice): Form | undefined
}

export type Choice = Extract<Expr, { kind: 'Conditional' | 'Call' }>

/** Keys and extents are below this; see `checkShape`. */
export const LARGEST_KEY: number = 2 ** 31

/** Where a form could come to more than this it is none: a body computes in doubles, which are exact up to 2^53. */
const LARGEST_SIZE = 2 ** 51

/** Rounding a whole number gives the number. */
const ROUNDINGS: ReadonlySet<string> = new Set(['Math.floor', 'Math.ceil', 'Math.round', 'Math.trunc'])

/** The affine form of an expression, or undefined where it has none. */
export function formOf(expr: Expr, scope: Scope): Form | undefined {
  switch (expr.kind) {
    case 'Literal':
      return wholeConstant(expr.value)
    case 'Parameter':
      return wholeConstant(scope.parameters.get(expr.name))
    case 'Local':
      return scope.locals.get(expr.name)
    case 'Key':
      return scope.keyOf(expr.axis)
    case 'Extent':
      return scope.extentOf(expr.array, expr.axis)
    case 'Unary': {
      const operand = formOf(expr.operand, scope)
      if (operand === undefined || expr.operator === '+') return operand
      return expr.operator === '-' ? sum(constantForm(0), operand, -1) : undefined
    }
    case 'Binary': {
      const left = formOf(expr.left, scope)
      const right = left === undefined ? undefined : formOf(expr.right, scope)
      return left === undefined || right === undefined ? undefined : combined(expr.operator, left, right)
    }
    case 'Call': {
      const [argument] = expr.args
      if (ROUNDINGS.has(expr.callee) && argument !== undefined && expr.args.length === 1) return formOf(argument, scope)
      return scope.choiceOf(expr)
    }
    case 'Conditional':
      return scope.choiceOf(expr)
    case 'Read':
      return scope.readOf(expr.array, expr.subscripts)
    case 'Input':
    case 'Field':
    case 'Logical':
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
  switch (operator) {
    case '+':
      return sum(left, right, 1)
    case '-':
      return sum(left, right, -1)
    case '*':
      if (left.terms.length === 0) return sum(constantForm(0), right, left.offset)
      return right.terms.length === 0 ? sum(constantForm(0), left, right.offset) : undefined
    default:
      return undefined
  }
}

export function constantForm(offset: number): Form {
  return { terms: [], offset }
}

/** The form that is a variable. */
export function variableForm(variable: Variable): Form {
  return { terms: [{ variable, factor: 1 }], offset: 0 }
}

function wholeConstant(value: Primitive): Form | undefined {
  // Adding 0 turns -0 into 0.
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LARGEST_SIZE ? constantForm(value + 0) : undefined
}

/** left + times * right; undefined where it could be too large. */
export function sum(left: Form, right: Form, times: number): Form | undefined {
  if (sizeOf(left) + Math.abs(times) * sizeOf(right) > LARGEST_SIZE) return undefined
  const factors = new Map(left.terms.map((term) => [variableId(term.variable), term]))
  for (const { variable, factor } of right.terms) {
    const id = variableId(variable)
    const total = (factors.get(id)?.factor ?? 0) + times * factor
    if (total === 0) factors.delete(id)
    else factors.set(id, { variable, factor: total })
  }
  const terms = [...factors].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, term]) => term)
  // A value that was read may be a fraction: multiples of it, or sums of several, would say too much.
  if (terms.some(({ variable, factor }) => variable.kind === 'distinct' && Math.abs(factor) !== 1)) return undefined
  if (terms.filter(({ variable }) => variable.kind === 'distinct').length > 1) return undefined
  return { terms, offset: left.offset + times * right.offset + 0 }
}

/** A bound of the absolute value of a form. */
export function sizeOf({ terms, offset }: Form): number {
  return terms.reduce((size, { variable, factor }) => size + Math.abs(factor) * variable.size, Math.abs(offset))
}

/** A text that is equal for equal variables. */
export function variableId(variable: Variable): string {
  switch (variable.kind) {
    case 'key':
      return `key ${variable.axis}`
    case 'inner':
    case 'choice':
    case 'distinct':
      return `${variable.kind} ${variable.id}`
    case 'extent':
      return `extent ${variable.array} ${variable.axis}`
  }
}

export function sameForm(a: Form | undefined, b: Form | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined || a.offset !== b.offset || a.terms.length !== b.terms.length) return false
  return a.terms.every(({ variable, factor }, i) => {
    const other = b.terms[i]
    return other !== undefined && other.factor === factor && variableId(other.variable) === variableId(variable)
  })
}

/** The variable of a form that is a variable plus a constant. */
export function singleVariable({ terms }: Form): Variable | undefined {
  const [term] = terms
  return terms.length === 1 && term?.factor === 1 ? term.variable : undefined
}

/** Whether the loop indices alone decide what a form comes to. */
export function isDecided({ terms }: Form): boolean {
  return terms.every(({ variable }) => variable.kind !== 'distinct' && (variable.kind !== 'choice' || variable.exact))
}
