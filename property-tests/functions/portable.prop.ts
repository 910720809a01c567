/**
 * A printed function does what the function does: its source and captures, cloned as for another thread.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { portableOf } from '../../src/planner/function/portable.ts'
import { unitOf } from '../../src/planner/function/unit.ts'
import { lawRuns } from '../lawRuns.ts'
import { type AnyFunction, closureOf, outcome } from './closures.ts'
import { functionSource } from './functionSource.ts'
import { row } from './lawContext.ts'

test('a printed function does what the function does', () => {
  let printed = 0
  let refused = 0
  fc.assert(
    fc.property(functionSource, row, (source, one) => {
      const f = closureOf(source)
      fc.pre(f !== undefined)
      if (f === undefined) return
      const unit = unitOf(f as never)
      const portable = typeof unit === 'string' ? undefined : portableOf(unit)
      if (portable === undefined || !('source' in portable)) {
        refused++
        return
      }
      printed++
      const there = new Function('captures', portable.source)(structuredClone(portable.captures)) as AnyFunction
      expect(outcome(() => there({ ...one }, [1, 2]))).toEqual(outcome(() => f({ ...one }, [1, 2])))
    }),
    { numRuns: lawRuns() },
  )
  expect(printed).toBeGreaterThan(9 * refused)
})
