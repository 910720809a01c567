import { expect, test } from 'vitest'
import { tableOf } from '../../property-tests/plans.ts'
import { planOf } from '../core/arrays/distArray.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import { inputsOf } from '../core/plan/logicalPlan.ts'
import { optimize } from './optimize.ts'
import type { Rule } from './rule.ts'
import { removeRedundant } from './rules/removeRedundant.ts'

const orders = tableOf<{ id: number; total: number }>('orders', { id: 'f64', total: 'f64' })
const scan = planOf(orders)

function rule(name: string, rewrite: (plan: LogicalPlan) => LogicalPlan | undefined): Rule {
  return { name, rewrite }
}

test('a plan that no rule changes is the same object', () => {
  const plan = planOf(orders.distinct())
  expect(optimize(plan)).toEqual({ plan, applied: [] })
  expect(optimize(plan).plan).toBe(plan)
})

test('a rule that loses a column is named in the error', () => {
  const loseTotal = rule('loseTotal', (plan) =>
    plan.kind === 'Scan' && plan.columns.length > 1
      ? { ...plan, columns: ['id'], element: { kind: 'row', fields: [{ name: 'id', type: { kind: 'f64' }, nullable: false }] } }
      : undefined,
  )
  expect(() => optimize(scan, [loseTotal])).toThrowErrorMatchingInlineSnapshot(`
    [Bug: Rule loseTotal changed the columns from { id: f64, total: f64 } to { id: f64 } of
    Scan orders [id, total]
    by turning it into
    Scan orders [id]
    This is a fault in the library, not in your program. Please report it with the text above.]
  `)
})

test('a rule that loses an order is named in the error', () => {
  const loseOrder = rule('loseOrder', (plan) => (plan.kind === 'Sort' ? plan.input : undefined))
  expect(() => optimize(planOf(orders.sortBy((r) => r.total)), [loseOrder])).toThrowErrorMatchingInlineSnapshot(`
    [Bug: Rule loseOrder changed the order of the elements of
    Sort r => r.total
      Scan orders [id, total]
    by turning it into
    Scan orders [id, total]
    This is a fault in the library, not in your program. Please report it with the text above.]
  `)
})

test('a rule that takes away what a function reads is named in the error', () => {
  const narrowBelow = rule('narrowBelow', (plan) => {
    if (plan.kind !== 'Map' || plan.input.kind !== 'Scan' || plan.input.columns.length === 1) return undefined
    const element = { kind: 'row', fields: [{ name: 'id', type: { kind: 'f64' }, nullable: false }] } as const
    return { ...plan, input: { ...plan.input, columns: ['id'], element } }
  })
  expect(() => optimize(planOf(orders.map((r) => r.total)), [narrowBelow])).toThrowErrorMatchingInlineSnapshot(`
    [Bug: Rule narrowBelow made a plan that cannot run (column "total" is read and not there) of
    Map r => r.total
      Scan orders [id, total]
    by turning it into
    Map r => r.total
      Scan orders [id]
    This is a fault in the library, not in your program. Please report it with the text above.]
  `)
})

test('rules that undo each other are stopped', () => {
  const more = rule('more', (plan) => (plan.kind === 'Limit' && plan.count < 5 ? { ...plan, count: 6 } : undefined))
  const less = rule('less', (plan) => (plan.kind === 'Limit' && plan.count > 5 ? { ...plan, count: 4 } : undefined))
  expect(() => optimize(planOf(orders.limit(4)), [more, less])).toThrowErrorMatchingInlineSnapshot(`
    [Bug: The plan
    Limit 4
      Scan orders [id, total]
    is still changing after 50 passes of the rules more, less.
    This is a fault in the library, not in your program. Please report it with the text above.]
  `)
})

test('a plan that uses itself twice stays one plan: the work does not double with every use', () => {
  let chain = orders.map((r) => ({ id: r.id, total: r.total }))
  for (let i = 0; i < 40; i++) chain = chain.union(chain)
  const { plan } = optimize(planOf(chain), [rule('countScans', () => undefined)])
  expect(plan).toBe(planOf(chain))
  const [left, right] = inputsOf(plan)
  expect(left).toBe(right)
})

test('unions of unions come in one order, however they are nested and however many they are', () => {
  const filtered = orders.filter((r) => r.total > 1)
  let chain = orders.union(filtered)
  for (let i = 0; i < 7; i++) chain = chain.union(i % 2 === 0 ? chain : filtered, chain)
  const { plan } = optimize(planOf(chain), [removeRedundant])
  expect(optimize(plan, [removeRedundant]).plan).toBe(plan)
})
