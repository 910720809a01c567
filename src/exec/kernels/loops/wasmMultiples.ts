/**
 * Exact quotients: integers that a test has found to be multiples are divided by integer instructions, and stay integers.
 *
 *     while (n % d === 0) { n /= d; count++ }                  i32.div_u: n was found to be a multiple of d
 *     const digit = n % 10; n = (n - digit) / 10               what is left without its remainder is a multiple
 *     n & 1 ? 3 * n + 1 : n / 2
 *
 * Statement: the quotient of an integer and a divisor of it is an integer, which doubles hold as exactly as the dividend. It is not -0, as
 * long as the divisor is above 0. A divisor is not 0: a remainder by 0 is NaN. That a name is a multiple is a fact (`wasmFacts.ts`), whose own
 * name holds the names that it is about, so that it ends where one of them is assigned.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Facts, NO_FACTS, type Value } from '../expressions/types.ts'
import { wholeQuotient } from '../math/wholeNumbers.ts'
import type { KernelWriter } from './wasmWriter.ts'

type Binary = Extract<Expr, { readonly kind: 'Binary' }>

const ZERO = { low: 0, high: 0 }

/** The name of a key in facts; no local has such a name. */
export function keyName(axis: number): string {
  return `key ${axis}`
}

/** Whether a fact is about one of the names. */
export function isAbout(fact: string, names: { has(name: string): boolean }): boolean {
  return names.has(fact) || (fact.includes(' % ') && fact.split(/ [%-] /).some((name) => names.has(name)))
}

/** The facts that follow where `test`, which is no comparison of bounds, has this outcome: `n % d === 0`, `n & 1` is false. */
export function multiplesWhen(test: Binary, truth: boolean): Facts {
  const isEqual = /^===?$/.test(test.operator) ? truth : /^!==?$/.test(test.operator) ? !truth : undefined
  if (isEqual === undefined) return truth ? NO_FACTS : fact(multipleOf(test))
  return isEqual && test.right.kind === 'Literal' && test.right.value === 0 ? fact(multipleOf(test.left)) : NO_FACTS
}

/** The fact that follows from `const digit = n % 10`: `n - digit` is a multiple. */
export function multipleWithout(local: string, value: Expr): Facts {
  if (value.kind !== 'Binary' || value.operator !== '%') return NO_FACTS
  const [of, by] = [nameOf(value.left), nameOf(value.right)]
  return of === undefined || by === undefined || of === local || by === local ? NO_FACTS : fact(`${of} - ${local} % ${by}`)
}

/** The quotient of an integer that is known to be a multiple; undefined for other expressions. */
export function exactQuotient(w: KernelWriter, expr: Expr): Value | undefined {
  if (expr.kind !== 'Binary' || expr.operator !== '/' || !isMultiple(w.facts, expr)) return undefined
  const declare = w.declare.bind(w)
  return wholeQuotient(declare, 'bits', w.expr(expr.left), w.expr(expr.right))
}

function isMultiple(facts: Facts, { left, right }: Binary): boolean {
  const by = nameOf(right)
  if (by === undefined) return false
  const name = nameOf(left)
  if (name !== undefined) return facts.has(`${name} % ${by}`)
  if (left.kind !== 'Binary' || left.operator !== '-') return false
  const [of, less] = [nameOf(left.left), left.right]
  if (of === undefined) return false
  if (less.kind === 'Binary') return less.operator === '%' && nameOf(less.left) === of && nameOf(less.right) === by
  return less.kind === 'Local' && facts.has(`${of} - ${less.name} % ${by}`)
}

/** The name of the fact that a remainder is 0; undefined for other expressions. */
function multipleOf(expr: Expr): string | undefined {
  if (expr.kind !== 'Binary') return undefined
  const of = nameOf(expr.left)
  if (of === undefined) return undefined
  if (expr.operator === '%') {
    const by = nameOf(expr.right)
    return by === undefined ? undefined : `${of} % ${by}`
  }
  // no bit below a power of two
  const mask = expr.operator === '&' && expr.right.kind === 'Literal' ? expr.right.value : undefined
  return typeof mask === 'number' && mask > 0 && mask < 2 ** 31 && Number.isInteger(Math.log2(mask + 1)) ? `${of} % ${mask + 1}` : undefined
}

function nameOf(expr: Expr): string | undefined {
  if (expr.kind === 'Local') return expr.name
  if (expr.kind === 'Key') return keyName(expr.axis)
  return expr.kind === 'Literal' && typeof expr.value === 'number' ? String(expr.value) : undefined
}

function fact(name: string | undefined): Facts {
  return name === undefined ? NO_FACTS : new Map([[name, ZERO]])
}
