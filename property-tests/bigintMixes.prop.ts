/**
 * Law: a row function that brings a bigint column and a number together is refused at the call exactly where nothing
 * useful can come of it: where it throws for all values, or where the answer is the same for all. The reference tries all
 * pairs of some values.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlanError } from '../src/core/errors.ts'
import { announcedRun } from './lawRuns.ts'
import { tableOf } from './plans.ts'

const RUN = announcedRun('bigintMixes.prop.ts')
/** Columns of numbers, of tables that have no others. */
const NUMBERS = { a: 'f64', n: 'i32?' } as const
const COLUMNS = { g: 'i64', h: 'i64?', u: 'u64', t: 'i64?', a: 'f64', n: 'i32?' } as const

/** Sides of an operator, and values that they have. */
const SIDES: readonly { readonly text: string; readonly values: readonly (number | bigint | null)[] }[] = [
  { text: 'r.g', values: [-1n, 0n, 2n, 5n] },
  { text: 'r.h', values: [null, 2n, 5n] },
  { text: 'r.u', values: [0n, 2n, 5n] },
  { text: '(r.g + 1n)', values: [0n, 1n, 3n] },
  { text: '(r.h ?? r.t)', values: [null, 2n, 5n] },
  { text: '(r.a > 1 ? r.g : r.h)', values: [null, -1n, 2n] },
  { text: '5n', values: [5n] },
  { text: 'BigInt(r.n)', values: [0n, 7n] },
  { text: 'r.a', values: [-0.5, 0, 2, 5] },
  { text: 'r.n', values: [null, 2, 5] },
  { text: '5', values: [5] },
  { text: 'captured', values: [3] },
  { text: 'Number(r.g)', values: [-1, 2, 5] },
  { text: '(r.a * 2)', values: [-1, 4] },
  { text: 'null', values: [null] },
]
const OPERATORS = ['===', '!==', '==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '**', '&', '|', '^', '<<', '>>'] as const
/** Where the operator stands; `never` where no row comes. */
const PLACES: readonly { readonly around: (expr: string) => string; readonly never: boolean }[] = [
  { around: (expr) => expr, never: false },
  { around: (expr) => `r.a > 0 && (${expr})`, never: false },
  { around: (expr) => `{ y: r.n === null ? null : ${expr} }`, never: false },
  { around: (expr) => `(on ? r.a : ${expr})`, never: true },
  { around: (expr) => `!on && (${expr})`, never: true },
  { around: (expr) => `on || (${expr})`, never: true },
]

const captured = 3
const on = true

/** Whether nothing can come of it: it throws for whatever is there, or one answer is all. */
function isUseless(operator: string, left: (typeof SIDES)[number], right: (typeof SIDES)[number]): boolean {
  const kinds = [left, right].map(({ values }) =>
    [...new Set(values.filter((value) => value !== null).map((value) => typeof value))].join(),
  )
  if (kinds.toSorted().join() !== 'bigint,number') return false
  const compute = new Function('a', 'b', `return a ${operator} b`) as (a: unknown, b: unknown) => unknown
  const outcomes = left.values.flatMap((a) =>
    right.values.map((b) => ({ present: a !== null && b !== null, outcome: outcomeOf(() => compute(a, b)) })),
  )
  const answers = new Set(outcomes.map(({ outcome }) => outcome))
  if (operator === '===' || operator === '!==') return answers.size === 1
  return outcomes.every(({ present, outcome }) => !present || outcome === 'throws')
}

function outcomeOf(compute: () => unknown): unknown {
  try {
    return compute()
  } catch (error) {
    return /BigInt/.test((error as Error).message) ? 'throws' : error
  }
}

test('a bigint and a number are refused where nothing comes of them, and nowhere else', () => {
  const found = { refused: 0, kept: 0 }
  fc.assert(
    fc.property(
      fc.constantFrom(...SIDES),
      fc.constantFrom(...OPERATORS),
      fc.constantFrom(...SIDES),
      fc.constantFrom(...PLACES),
      (left, operator, right, place) => {
        const isOfNumbers = ![left, right].some(({ text }) => /r\.[ghut]/.test(text))
        const expr = `${left.text} ${operator} ${right.text}`
        const body = place.around(expr)
        const f = new Function('captured', 'on', `return (r) => (${body})`)(captured, on) as (row: unknown) => unknown
        const useless = !place.never && isUseless(operator, left, right)
        found[useless ? 'refused' : 'kept']++
        const call = (): unknown => tableOf<unknown>('rows', isOfNumbers ? NUMBERS : COLUMNS).map(f)
        if (useless) {
          expect(call, body).toThrow(PlanError)
          expect(call, body).toThrow('a bigint and a number')
        } else expect(call, body).not.toThrow()
      },
    ),
    RUN,
  )
  expect(Math.min(found.refused, found.kept)).toBeGreaterThan(RUN.numRuns / 50)
})
