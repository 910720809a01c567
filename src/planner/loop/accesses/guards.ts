/**
 * Turns tests into constraints on the loop indices, as `if (i > 0)`.
 *
 * A test taken as true (or as false) becomes constraints that hold wherever its branch runs. What cannot be said that
 * way is dropped, which only makes the analysis more careful; `exact` tells whether anything was.
 */
import type { BinaryOperator, Expr } from '../../../core/ir/functionIr.ts'
import { type Constraint, constantForm, type Form, isDecided, rangeOf, sum } from './affine.ts'
import { type Scope, wholeForm } from './formOf.ts'

export interface Guard {
  readonly constraints: readonly Constraint[]
  /** Whether the constraints say all that the test says. */
  readonly exact: boolean
}

const UNKNOWN: Guard = { constraints: [], exact: false }
const ALWAYS: Guard = { constraints: [], exact: true }
/** The guard that never holds: -1 >= 0. */
const NEVER: Guard = { constraints: [{ kind: 'atLeast', form: constantForm(-1) }], exact: true }

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

/** Returns the guard of the branch in which `test` came out as `truth`. */
export function guardOf(test: Expr, truth: boolean, scope: Scope): Guard {
  if (test.kind === 'Unary' && test.operator === '!') return guardOf(test.operand, !truth, scope)
  if (test.kind === 'Logical') {
    if (test.operator === '??') return UNKNOWN
    const left = guardOf(test.left, truth, scope)
    const right = guardOf(test.right, truth, scope)
    // A true `&&` and a false `||` tell that both hold, the others that one of the two does.
    return test.operator === (truth ? '&&' : '||') ? both(left, right) : oneOf([left, right])
  }
  const constant = constantOf(test, scope)
  if (constant !== undefined) return constant === truth ? ALWAYS : NEVER
  const number = wholeForm(test, scope)
  // A number as test is compared with 0.
  if (number !== undefined) return truth ? different(number, constantForm(0)) : guard(equal(number, constantForm(0)))
  if (test.kind !== 'Binary') return UNKNOWN
  const operator = truth ? test.operator : NEGATED[test.operator]
  const left = wholeForm(test.left, scope)
  const right = wholeForm(test.right, scope)
  if (operator === undefined || left === undefined || right === undefined) return UNKNOWN
  switch (operator) {
    case '<':
      return guard(below(left, right, 1))
    case '<=':
      return guard(below(left, right, 0))
    case '>':
      return guard(below(right, left, 1))
    case '>=':
      return guard(below(right, left, 0))
    case '===':
    case '==':
      return guard(equal(left, right))
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

function guard(constraints: readonly Constraint[]): Guard {
  return { constraints, exact: constraints.length > 0 && constraints.every((one) => one.kind !== 'either' && isDecided(one.form)) }
}

function both(left: Guard, right: Guard): Guard {
  return { constraints: [...left.constraints, ...right.constraints], exact: left.exact && right.exact }
}

/** Returns the guard that at least one of the guards holds. */
export function oneOf(guards: readonly Guard[]): Guard {
  const exact = guards.every((one) => one.exact)
  const cases = guards.map(({ constraints }) => constraints)
  // One case without constraints makes the whole say nothing.
  return cases.some((constraints) => constraints.length === 0)
    ? { constraints: [], exact }
    : { constraints: [{ kind: 'either', cases }], exact }
}

/** Returns the truth of a captured flag, or of a literal that a tool left behind; undefined for any other test. */
function constantOf(test: Expr, scope: Scope): boolean | undefined {
  if (test.kind === 'Literal') return Boolean(test.value)
  return test.kind === 'Parameter' && scope.parameters.has(test.name) ? Boolean(scope.parameters.get(test.name)) : undefined
}

/** Returns a + gap <= b; nothing where the numbers could be too large. */
export function below(a: Form, b: Form, gap: number): Constraint[] {
  const difference = sum(b, a, -1)
  return difference === undefined ? [] : [{ kind: 'atLeast', form: { ...difference, offset: difference.offset - gap } }]
}

/** Returns a = b; nothing where the numbers could be too large. */
export function equal(a: Form, b: Form): Constraint[] {
  const difference = sum(a, b, -1)
  return difference === undefined ? [] : [{ kind: 'equal', form: difference }]
}

/** Returns a !== b. Where one side is surely not below the other, `i !== 0` is i >= 1; otherwise either side may be below. */
function different(a: Form, b: Form): Guard {
  const difference = sum(a, b, -1)
  if (difference === undefined) return UNKNOWN
  const [low, high] = rangeOf(difference)
  if (low >= 0) return guard(below(b, a, 1))
  return high <= 0 ? guard(below(a, b, 1)) : oneOf([guard(below(a, b, 1)), guard(below(b, a, 1))])
}
