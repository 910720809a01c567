/**
 * Compiles expressions of the function IR to the kernel IR, for any emitter: the order of evaluation, and the facts that tests give.
 *
 *     a > 0 && b[i] > a      the right side is compiled with the fact that a > 0
 *     Math.floor(i / 8)      one quotient of integers
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { calledOf } from './calls.ts'
import type { Emitter, Rounding } from './emitter.ts'
import { binary, INT32, isBigint, unary } from './operators.ts'

export function compiled<V>(e: Emitter<V>, expr: Expr): V {
  const whole = e.whole?.(expr)
  if (whole !== undefined) return whole
  switch (expr.kind) {
    case 'Unary': {
      const { operator, operand, span } = expr
      if (operator === '!') return e.truths('not', condition(e, operand))
      if (operator === 'typeof') throw e.declined('it asks for a type', span)
      const bits = operator === '~' ? roundedQuotient(e, 'bits', operand)?.value : undefined
      return unary(e, operator, bits ?? compiled(e, operand), span)
    }
    case 'Binary': {
      const left = BITS.has(expr.operator) ? bitsOf(e, expr.left) : compiled(e, expr.left)
      const right = BITWISE.has(expr.operator) ? bitsOf(e, expr.right) : compiled(e, expr.right)
      return binary(e, expr.operator, left, right, expr.span)
    }
    case 'Logical': {
      const { operator, left, right, span } = expr
      const compileRight = (): V => compiled(e, right)
      return e.logical(
        operator,
        compiled(e, left),
        operator === '??' ? compileRight : () => where(e, left, operator === '&&', compileRight),
        span,
      )
    }
    case 'Conditional':
      return chosen(e, expr, (side) => compiled(e, side))
    case 'Call':
      return call(e, expr)
    default:
      return e.leaf(expr)
  }
}

/** Compiles the truth of an expression, whose parts may be of different kinds. */
export function condition<V>(e: Emitter<V>, expr: Expr): V {
  const whole = e.whole?.(expr)
  if (whole !== undefined) return e.truth(whole)
  if (expr.kind === 'Literal') return e.constant(Boolean(expr.value))
  if (expr.kind === 'Unary' && expr.operator === '!') return e.truths('not', condition(e, expr.operand))
  if (expr.kind === 'Conditional') return chosen(e, expr, (side) => condition(e, side))
  if (expr.kind !== 'Logical' || expr.operator === '??') return e.truth(compiled(e, expr))
  const { operator, left, right } = expr
  return e.logicalTruth(operator, condition(e, left), () => where(e, left, operator === '&&', () => condition(e, right)))
}

function where<V>(e: Emitter<V>, test: Expr, outcome: boolean, work: () => V): V {
  return e.where === undefined ? work() : e.where(test, outcome, work)
}

function chosen<V>(e: Emitter<V>, { test, span, ...sides }: Extract<Expr, { kind: 'Conditional' }>, of: (side: Expr) => V): V {
  const side = (outcome: boolean) => (): V => where(e, test, outcome, () => of(outcome ? sides.then : sides.else))
  return e.chosen(() => condition(e, test), side(true), side(false), span)
}

function call<V>(e: Emitter<V>, { callee, args, span }: Extract<Expr, { kind: 'Call' }>): V {
  const [first] = args
  if (callee === 'Boolean') return first === undefined ? e.constant(false) : condition(e, first)
  const rounding = callee === 'Math.floor' ? 'floor' : callee === 'Math.trunc' ? 'trunc' : undefined
  const quotient = rounding && roundedQuotient(e, rounding, first)
  if (quotient?.isWhole === true) return quotient.value
  const values = args.map((arg, i) => (i === 0 ? quotient?.value : undefined) ?? compiled(e, arg))
  return calledOf(e, callee, values, span)
}

const BITS: ReadonlySet<string> = new Set(['&', '|', '^', '<<', '>>', '>>>'])

/** Those that take the bits of both operands: shifts may know a count that is a literal. */
const BITWISE: ReadonlySet<string> = new Set(['&', '|', '^'])

/**
 * Compiles an operand of which the lowest 32 bits count. What is negated stays an integer, as in `x & -x`: -0 has the bits of 0, and the bits
 * of -x are those of x, times -1, for every number x.
 */
function bitsOf<V>(e: Emitter<V>, expr: Expr): V {
  if (expr.kind !== 'Unary' || expr.operator !== '-') return roundedQuotient(e, 'bits', expr)?.value ?? compiled(e, expr)
  const operand = compiled(e, expr.operand)
  if (isBigint(e, operand) || e.literalOf(operand) !== undefined) return unary(e, '-', operand, expr.span)
  return e.bits('*', INT32, e.toInt32(operand), e.constant(-1))
}

/** Compiles a quotient, rounded by integers where possible, else unrounded, its operands once; undefined for another expression. */
function roundedQuotient<V>(
  e: Emitter<V>,
  rounding: Rounding,
  expr: Expr | undefined,
): { readonly value: V; readonly isWhole: boolean } | undefined {
  if (e.quotient === undefined || expr?.kind !== 'Binary' || expr.operator !== '/') return undefined
  const [left, right] = [compiled(e, expr.left), compiled(e, expr.right)]
  const areNumbers = !isBigint(e, left) && !isBigint(e, right)
  const whole = areNumbers ? e.quotient(rounding, e.toNumber(left), e.toNumber(right)) : undefined
  if (whole !== undefined) return { value: whole, isWhole: true }
  return { value: binary(e, '/', left, right, expr.span), isWhole: false }
}
