/**
 * The affine forms of expressions: what a subscript, a bound or a side of a test comes to, as multiples of variables.
 *
 * Values read from arrays have a form only where `assume.distinct` speaks of them; all others are whole numbers.
 */
import type { BinaryOperator, Expr, Primitive } from '../../../core/ir/functionIr.ts'
import { constantForm, type Form, LARGEST_SIZE, sum } from './affine.ts'
import { bitwise, divided, remainder, truncated } from './quotients.ts'

/** The facts known where an expression stands. */
export interface Scope {
  /** Returns the loop index of an axis; undefined where the space has no such axis. */
  keyOf(axis: number): Form | undefined
  /** Forms of the locals that have one. */
  readonly locals: ReadonlyMap<string, Form>
  readonly parameters: ReadonlyMap<string, Primitive>
  extentOf(array: string, axis: number): Form | undefined
  /** Returns the form of a read; undefined where it has none. */
  readOf(array: string, subscripts: readonly Expr[]): Form | undefined
  /** Returns the form of `Math.min`, `Math.max`, `Math.abs` and `?:`; undefined where a part has none. */
  choiceOf(expr: Choice): Form | undefined
}

export type Choice = Extract<Expr, { kind: 'Conditional' | 'Call' }>

/** Returns the affine form of an expression; undefined where it has none. */
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
      if (expr.operator === '~') return bitwise('^', rounded(expr.operand, 'zero', scope), constantForm(-1))
      const operand = formOf(expr.operand, scope)
      if (operand === undefined || expr.operator === '+') return operand
      return expr.operator === '-' ? sum(constantForm(0), operand, -1) : undefined
    }
    case 'Binary':
      return combined(expr.operator, expr.left, expr.right, scope)
    case 'Call': {
      const [argument] = expr.args
      if (argument === undefined || expr.args.length > 1) return scope.choiceOf(expr)
      switch (expr.callee) {
        case 'Math.floor':
          return rounded(argument, 'floor', scope)
        case 'Math.trunc':
          return rounded(argument, 'zero', scope)
        case 'Math.ceil':
          return rounded(argument, 'ceil', scope)
        case 'Math.round':
          // Rounding a whole number gives the number.
          return wholeForm(argument, scope)
        default:
          return scope.choiceOf(expr)
      }
    }
    case 'Conditional':
      return scope.choiceOf(expr)
    case 'Read':
      return scope.readOf(expr.array, expr.subscripts)
    case 'Input':
    case 'Field':
    case 'Logical':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Has':
    case 'Lookup':
    case 'LookupLength':
    case 'Find':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return undefined
  }
}

/** Returns the form of an expression whose value is surely a whole number; undefined for values read from arrays, which need not be. */
export function wholeForm(expr: Expr, scope: Scope): Form | undefined {
  const form = formOf(expr, scope)
  return form?.terms.some(({ variable }) => variable.kind === 'distinct') === true ? undefined : form
}

function combined(operator: BinaryOperator, left: Expr, right: Expr, scope: Scope): Form | undefined {
  switch (operator) {
    case '+':
    case '-':
    case '*': {
      const [a, b] = [formOf(left, scope), formOf(right, scope)]
      return a === undefined || b === undefined ? undefined : arithmetic(operator, a, b)
    }
    case '/': {
      const [a, b] = [wholeForm(left, scope), wholeForm(right, scope)]
      return a === undefined || b?.terms.length !== 0 ? undefined : wholeQuotient(a, b.offset)
    }
    case '%': {
      const [a, b] = [wholeForm(left, scope), wholeForm(right, scope)]
      return a === undefined || b?.terms.length !== 0 ? undefined : remainder(a, b.offset)
    }
    case '&':
    case '|':
    case '^':
    case '<<':
    case '>>':
    case '>>>': {
      // These operators drop the fraction of what they are given.
      const [a, b] = [rounded(left, 'zero', scope), rounded(right, 'zero', scope)]
      return b?.terms.length === 0 || operator === '<<' || operator === '>>' || operator === '>>>'
        ? bitwise(operator, a, b)
        : bitwise(operator, b, a)
    }
    case '**':
    case '==':
    case '!=':
    case '===':
    case '!==':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return undefined
  }
}

function arithmetic(operator: '+' | '-' | '*', left: Form, right: Form): Form | undefined {
  switch (operator) {
    case '+':
      return sum(left, right, 1)
    case '-':
      return sum(left, right, -1)
    case '*':
      if (left.terms.length === 0) return sum(constantForm(0), right, left.offset)
      return right.terms.length === 0 ? sum(constantForm(0), left, right.offset) : undefined
  }
}

/** Returns form / by; undefined where a term is no multiple of `by`. */
function wholeQuotient({ terms, offset }: Form, by: number): Form | undefined {
  if (by === 0 || [offset, ...terms.map((term) => term.factor)].some((factor) => factor % by !== 0)) return undefined
  return { terms: terms.map(({ variable, factor }) => ({ variable, factor: factor / by })), offset: offset / by + 0 }
}

/** Returns the form of a whole number, or of a rounded quotient of two; undefined for any other expression. */
function rounded(expr: Expr, toward: 'floor' | 'zero' | 'ceil', scope: Scope): Form | undefined {
  const whole = wholeForm(expr, scope)
  if (whole !== undefined || expr.kind !== 'Binary' || expr.operator !== '/') return whole
  const [of, by] = [wholeForm(expr.left, scope), wholeForm(expr.right, scope)]
  if (of === undefined || by?.terms.length !== 0) return undefined
  return toward === 'zero' ? truncated(of, by.offset) : divided(of, by.offset, toward)
}

function wholeConstant(value: Primitive): Form | undefined {
  // Adding 0 turns -0 into 0.
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= LARGEST_SIZE ? constantForm(value + 0) : undefined
}
