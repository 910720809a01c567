import { expect, test } from 'vitest'
import { tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { planText } from '../../core/plan/tree.ts'
import { optimize } from '../optimize.ts'
import { insertIndex } from './insertIndex.ts'

const matrix = planOf(tableOf<{ user: number; movie: number }>('ratings', { user: 'i32', movie: 'i32' }).index((r) => [r.user, r.movie]))

function lookup(input: LogicalPlan): LogicalPlan {
  return { kind: 'IndexLookup', input, selectors: [3, [0, 2]], element: input.element, keys: input.keys }
}

test('a query over an array without an index gets one', () => {
  expect(planText(optimize(lookup(matrix), [insertIndex]).plan)).toMatchInlineSnapshot(`
    "IndexLookup [3, 0:2]
      IndexBuild
        Index r => [r.user, r.movie]
          Scan ratings [user, movie]"
  `)
})

test('one index is enough', () => {
  const { plan } = optimize(lookup(matrix), [insertIndex])
  expect(optimize(plan, [insertIndex]).plan).toBe(plan)
})

test('a stored array is sorted by its keys already', () => {
  const stored: LogicalPlan = {
    kind: 'Stored',
    name: 'ratings',
    storage: { kind: 'sparse', shape: [4, 4], element: matrix.element, length: 0, keys: [], columns: [] },
    element: matrix.element,
    keys: matrix.keys,
  }
  const plan = lookup(stored)
  expect(optimize(plan, [insertIndex]).plan).toBe(plan)
})
