import { expect, test } from 'vitest'
import { tableOf } from '../../property-tests/plans.ts'
import { planOf } from '../core/arrays/distArray.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import { Invariants } from './invariants.ts'

const kept = planOf(
  tableOf<{ a: number; x: number; y: number }>('t', { a: 'f64', x: 'f64', y: 'f64' })
    .filter((r) => r.x > 0 && r.y > 0)
    .select('a'),
)

/** The plan over rows that turned out to be without some columns. */
function without(plan: LogicalPlan, ...names: readonly string[]): LogicalPlan {
  if (plan.kind === 'Project' || plan.kind === 'Filter') return { ...plan, input: without(plan.input, ...names) }
  if (plan.element.kind !== 'row') return plan
  return { ...plan, element: { ...plan.element, fields: plan.element.fields.filter((field) => !names.includes(field.name)) } }
}

test('a rule answers for each column that it takes away, and for none that was missing before', () => {
  const invariants = new Invariants()
  expect(invariants.broken(without(kept, 'x'), without(kept, 'x'))).toBeUndefined()
  expect(invariants.broken(without(kept, 'x'), without(kept, 'x', 'y'))).toBe(
    'made a plan that cannot run (column "y" is read and not there)',
  )
  expect(invariants.broken(kept, without(kept, 'y'))).toBe('made a plan that cannot run (column "y" is read and not there)')
})
