/**
 * The law of the front end: what the IR means is what the function does, for functions written at random.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LowerContext } from '../../src/planner/function/context.ts'
import { lowerFunction } from '../../src/planner/function/userFunction.ts'
import { CAPTURED_NAMES, functionSource } from './functionSource.ts'
import { interpretIr } from './interpretIr.ts'

const CONTEXT: LowerContext = {
  kind: 'row',
  method: 'map',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'a', type: { kind: 'f64' }, nullable: false },
        { name: 'b', type: { kind: 'i32' }, nullable: false },
        { name: 'n', type: { kind: 'f64' }, nullable: true },
        { name: 's', type: { kind: 'utf8' }, nullable: true },
        { name: 't', type: { kind: 'bool' }, nullable: false },
      ],
    },
  ],
  key: { argument: 1, rank: 2 },
}

const numbers = fc.oneof(fc.integer({ min: -3, max: 5 }), fc.constantFrom(Number.NaN, -0, 0.5, Infinity, -Infinity, 5e-324, 2 ** 53, 1e308))
const row = fc.record({ a: numbers, b: fc.integer({ min: -2, max: 3 }), n: fc.option(numbers), s: fc.option(fc.constantFrom('', 'x', 'Ümlaut')), t: fc.boolean() })

type AnyFunction = (row: unknown, key: readonly number[]) => unknown

/** The function, closed over the names that the source may capture; undefined where one label stands inside itself. */
export function closureOf(source: string): AnyFunction | undefined {
  const half = (v: number): number => v / 2
  const clamp = (v: number, w: number): number => {
    if (v < 0) return 0
    return v > w ? w : v
  }
  const captured = [3, 'word', [5, 2, 2, 9], { rate: 0.25, deep: { k: 4 } }, half, clamp]
  try {
    return new Function(...CAPTURED_NAMES, `return ${source}`)(...captured) as AnyFunction
  } catch (error) {
    if (/has already been declared/.test(String(error))) return undefined
    throw error
  }
}

/** What a call gives or throws. */
export function outcome(call: () => unknown): unknown {
  try {
    return { returned: call() }
  } catch (error) {
    return { threw: error instanceof Error ? error.constructor.name : error, message: error instanceof RangeError ? error.message : undefined }
  }
}

const RUNS = Number(process.env.LAWS_RUNS ?? (process.env.LAWS === 'long' ? 10_000 : 1_000))

test('the IR of a function means what the function does', () => {
  let lowered = 0
  let refused = 0
  fc.assert(
    fc.property(functionSource, fc.array(row, { minLength: 3, maxLength: 3 }), (source, rows) => {
      const f = closureOf(source)
      fc.pre(f !== undefined)
      if (f === undefined) return
      const { fn } = lowerFunction(f as never, CONTEXT)
      if (fn.ir === undefined) {
        refused++
        if (process.env.SHOW) console.log(fn.refusals.map((r) => `${r.code}: ${r.span?.text}`).join(' | '))
        return
      }
      lowered++
      for (const [i, one] of rows.entries()) {
        const key = [i, 2 - i]
        const { ir } = fn
        expect(outcome(() => interpretIr(ir, { inputs: [one], key }))).toEqual(outcome(() => f({ ...one }, key)))
      }
    }),
    { numRuns: RUNS },
  )
  // the law says nothing about functions that are refused
  expect(lowered / (lowered + refused)).toBeGreaterThan(0.6)
})
