/**
 * The law of scalar replacement: a function that makes objects and changes them means the same with a local for each of
 * their parts, or is refused; whether two names have one object, and which of its changes they see, is as in JavaScript.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lowerFunction } from '../../src/planner/function/userFunction.ts'
import { announcedRun } from '../lawRuns.ts'
import { closureOf, outcome } from './closures.ts'
import { interpretIr } from './interpretIr.ts'
import { CONTEXT, row } from './lawContext.ts'
import { objectSource } from './objectSource.ts'

const RUN = announcedRun('functions/objects.prop.ts')

test('objects taken apart are what they were as a whole', () => {
  let lowered = 0
  let refused = 0
  fc.assert(
    fc.property(objectSource, row, (source, one) => {
      const f = closureOf(source)
      fc.pre(f !== undefined)
      if (f === undefined) return
      const { fn } = lowerFunction(f as never, CONTEXT)
      const { ir } = fn
      if (ir === undefined) {
        refused++
        return
      }
      lowered++
      expect(outcome(() => interpretIr(ir, { inputs: [one], key: [0, 1] }))).toEqual(outcome(() => f({ ...one }, [0, 1])))
    }),
    RUN,
  )
  // The law says nothing about functions that are refused.
  expect(lowered / (lowered + refused)).toBeGreaterThan(0.15)
})
