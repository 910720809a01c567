/**
 * Whole quotients and remainders of affine forms, and the bits of them.
 *
 *     Math.floor(x / 4), x >> 2    q, where 0 <= x - 4 q <= 3
 *     x % 4, x & 3                 x - 4 q: the same q, so that both together say what x is
 *     x % 4 for x < 0              JavaScript's remainder has the sign of x: the quotient is rounded towards zero
 *     x & 4                        4 (q - 2 r): bit 2 is what x >> 2 is above twice x >> 3
 *     x ^ 4                        x + 4 - 2 (x & 4)
 *
 * The quotient of a form that is surely not negative is the same either way. Bits are those of 32-bit integers, so a form
 * that could leave them has none. Doubles divide exactly enough: numbers are far below 2^53, where a quotient that is no
 * whole number never rounds to one.
 */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import { constantForm, type Form, rangeOf, remainderForm, sum, type Variable, variableForm } from './affine.ts'

/** Returns of / by, rounded down or up; undefined where it has no form. */
export function divided(of: Form, by: number, toward: 'floor' | 'ceil'): Form | undefined {
  if (by === 0) return undefined
  if (by < 0) return divided(negated(of), -by, toward)
  if (toward === 'floor') return quotient(of, by, 'floor')
  // Rounding up is rounding the negated form down.
  const down = quotient(negated(of), by, 'floor')
  return down && negated(down)
}

/** Returns of / by without its fraction; undefined where it has no form. */
export function truncated(of: Form, by: number): Form | undefined {
  if (by === 0) return undefined
  if (by < 0) return truncated(negated(of), -by)
  const [low, high] = rangeOf(of)
  if (low >= 0) return quotient(of, by, 'floor')
  return high <= 0 ? divided(of, by, 'ceil') : quotient(of, by, 'zero')
}

/** Returns of % by, with the sign of `of`; undefined where it has no form. */
export function remainder(of: Form, by: number): Form | undefined {
  const whole = truncated(of, Math.abs(by))
  return whole && sum(of, whole, -Math.abs(by))
}

/** Returns the form of a bitwise operation on a form and a constant; undefined where it has none. */
export function bitwise(operator: BinaryOperator, form: Form | undefined, constant: Form | undefined): Form | undefined {
  if (form === undefined || constant === undefined || constant.terms.length > 0 || !isInt32(form) || !isInt32(constant)) return undefined
  const value = constant.offset
  switch (operator) {
    case '>>':
      return quotient(form, 2 ** (value & 31), 'floor')
    case '>>>':
      return rangeOf(form)[0] >= 0 ? quotient(form, 2 ** (value & 31), 'floor') : undefined
    case '<<': {
      const shifted = sum(constantForm(0), form, 2 ** (value & 31))
      return shifted !== undefined && isInt32(shifted) ? shifted : undefined
    }
    case '&':
      return masked(form, value)
    case '|': {
      const both = masked(form, value)
      const all = sum(form, constant, 1)
      return both && all && sum(all, both, -1)
    }
    case '^': {
      const both = masked(form, value)
      const all = sum(form, constant, 1)
      return both && all && sum(all, both, -2)
    }
    default:
      return undefined
  }
}

/** Returns form & mask: each run of ones in the mask, from bit `from` to before bit `to`, is a difference of two quotients. */
function masked(form: Form, mask: number): Form | undefined {
  if (mask < 0) {
    const others = masked(form, ~mask)
    return others && sum(form, others, -1)
  }
  let bits: Form | undefined = constantForm(0)
  for (let from = 0; 2 ** from <= mask && bits !== undefined; from++) {
    if ((mask & (2 ** from)) === 0) continue
    let to = from
    while (to < 31 && (mask & (2 ** to)) !== 0) to++
    const [low, above] = [quotient(form, 2 ** from, 'floor'), quotient(form, 2 ** to, 'floor')]
    const run: Form | undefined = low && above && sum(low, above, -(2 ** (to - from)))
    bits = run && sum(bits, run, 2 ** from)
    from = to
  }
  return bits
}

/** Returns of / by as a whole number, for a positive `by`; undefined where numbers could be too large. */
export function quotient(of: Form, by: number, toward: 'floor' | 'zero'): Form | undefined {
  if (by === 1) return of
  const [low, high] = rangeOf(of).map((end) => (toward === 'floor' ? Math.floor(end / by) : Math.trunc(end / by)) + 0)
  if (low === undefined || high === undefined) return undefined
  if (low === high) return constantForm(low)
  const variable: Extract<Variable, { kind: 'quotient' }> = { kind: 'quotient', of, by, toward, low, high }
  // The meaning of the variable is stated with its remainder, which must be a form too.
  return remainderForm(variable) === undefined ? undefined : variableForm(variable)
}

function negated({ terms, offset }: Form): Form {
  return { terms: terms.map(({ variable, factor }) => ({ variable, factor: -factor })), offset: -offset + 0 }
}

function isInt32(form: Form): boolean {
  const [low, high] = rangeOf(form)
  return low >= -(2 ** 31) && high < 2 ** 31
}
