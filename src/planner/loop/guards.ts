/**
 * What a test says about the loop indices: `if (i > 0)` is a constraint, not noise.
 *
 * A test taken as true (or as false) becomes difference constraints that hold wherever its branch runs. What cannot be
 * said that way is dropped, which only makes the analysis more careful; `exact` tells whether anything was.
 */
import type { BinaryOperator, Expr } from '../../core/functionIr.ts'
import { type Form, formOf, type Scope, type Variable } from './affine.ts'

/** left - right <= bound, where an absent variable is 0. */
export interface Constraint {
  readonly left?: Variable
  readonly right?: Variable
  readonly bound: number
}

export interface Guard {
  readonly constraints: readonly Constraint[]
  /** Whether the constraints say all that the test says. */
  readonly exact: boolean
}

const UNKNOWN: Guard = { constraints: [], exact: false }
const ALWAYS: Guard = { constraints: [], exact: true }
/** 0 - 0 <= -1 */
const NEVER: Guard = { constraints: [{ bound: -1 }], exact: true }

const NEGATED: Partial<Record<BinaryOperator, BinaryOperator>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
}

/** What holds where `test` came out as `truth`. */
export function guardOf(test: Expr, truth: boolean, scope: Scope): Guard {
  if (test.kind === 'Unary' && test.operator === '!') return guardOf(test.operand, !truth, scope)
  if (test.kind === 'Logical') {
    // Both sides are known only for a true `&&` and a false `||`.
    if (test.operator !== (truth ? '&&' : '||')) return UNKNOWN
    const left = guardOf(test.left, truth, scope)
    const right = guardOf(test.right, truth, scope)
    return { constraints: [...left.constraints, ...right.constraints], exact: left.exact && right.exact }
  }
  const constant = constantOf(test, scope)
  if (constant !== undefined) return constant === truth ? ALWAYS : NEVER
  if (test.kind !== 'Binary') return UNKNOWN
  const operator = truth ? test.operator : NEGATED[test.operator]
  const left = wholeForm(test.left, scope)
  const right = wholeForm(test.right, scope)
  if (operator === undefined || left === undefined || right === undefined) return UNKNOWN
  switch (operator) {
    case '<':
      return { constraints: [below(left, right, 1)], exact: true }
    case '<=':
      return { constraints: [below(left, right, 0)], exact: true }
    case '>':
      return { constraints: [below(right, left, 1)], exact: true }
    case '>=':
      return { constraints: [below(right, left, 0)], exact: true }
    case '===':
    case '==':
      return { constraints: [below(left, right, 0), below(right, left, 0)], exact: true }
    case '!==':
    case '!=':
      return different(left, right)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '**':
    case '&':
    case '|':
    case '^':
    case '<<':
    case '>>':
    case '>>>':
      return UNKNOWN
  }
}

/** A captured flag, or a literal that a tool left behind. */
function constantOf(test: Expr, scope: Scope): boolean | undefined {
  if (test.kind === 'Literal') return Boolean(test.value)
  return test.kind === 'Parameter' && scope.parameters.has(test.name) ? Boolean(scope.parameters.get(test.name)) : undefined
}

/** The form of an expression whose value is surely a whole number; values read from arrays need not be. */
export function wholeForm(expr: Expr, scope: Scope): Form | undefined {
  const form = formOf(expr, scope)
  return form?.variable?.kind === 'distinct' ? undefined : form
}

/** a + gap <= b */
export function below(a: Form, b: Form, gap: 0 | 1): Constraint {
  return {
    ...(a.variable === undefined ? {} : { left: a.variable }),
    ...(b.variable === undefined ? {} : { right: b.variable }),
    bound: b.offset - a.offset - gap,
  }
}

/** `i !== 0` for a loop index says i >= 1, since indices start at 0. Other inequalities cut a hole, which no constraint says. */
function different(a: Form, b: Form): Guard {
  const [index, constant] = a.variable === undefined ? [b, a] : [a, b]
  if (index.variable?.kind !== 'key' || constant.variable !== undefined || constant.offset !== index.offset) return UNKNOWN
  return { constraints: [below(constant, index, 1)], exact: true }
}
