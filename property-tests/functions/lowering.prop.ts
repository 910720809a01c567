/**
 * The law of the front end: what the IR means is what the function does, for functions written at random.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lowerFunction } from '../../src/planner/function/userFunction.ts'
import { lawRuns } from '../lawRuns.ts'
import { closureOf, outcome } from './closures.ts'
import { functionSource } from './functionSource.ts'
import { interpretIr } from './interpretIr.ts'
import { CONTEXT, row } from './lawContext.ts'

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
        return
      }
      lowered++
      for (const [i, one] of rows.entries()) {
        const key = [i, 2 - i]
        const { ir } = fn
        expect(outcome(() => interpretIr(ir, { inputs: [one], key }))).toEqual(outcome(() => f({ ...one }, key)))
      }
    }),
    { numRuns: lawRuns() },
  )
  // the law says nothing about functions that are refused
  expect(lowered / (lowered + refused)).toBeGreaterThan(0.6)
})
