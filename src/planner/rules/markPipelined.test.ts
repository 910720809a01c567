import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { mean } from '../../core/plan/aggregates.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { mapInputs, planText, withFunctions } from '../../core/plan/tree.ts'
import { optimize } from '../optimize.ts'
import { markPipelined } from './markPipelined.ts'

const orders = tableOf<{ id: number; shop: string; price: number }>('orders', { id: 'f64', shop: 'utf8', price: 'f64' })

test('what one node gives to the next element by element is streamed; a sort stores its input', () => {
  const chain = orders
    .filter((r) => r.price > 0)
    .sortBy((r) => r.price)
    .map((r) => ({ shop: r.shop, cents: r.price * 100 }))
    .groupBy((r) => r.shop)
    .agg({ average: mean((r) => r.cents) })
  expect(optimizedText(chain, [markPipelined])).toMatchInlineSnapshot(`
    "GroupBy r => r.shop: average = mean(r => r.cents)
      Map r => ({ shop: r.shop, cents: r.price * 100 })  (pipelined)
        Sort r => r.price
          Filter r => r.price > 0
            Scan orders [id, shop, price]"
  `)
})

test('types that only running a function tells are those of all elements, but for who wants the first', () => {
  const opaque = orders.map((r) => JSON.parse(r.shop) as number)
  expect(
    optimizedText(
      opaque.filter((x) => x > 1).filter((x) => JSON.stringify(x) !== ''),
      [markPipelined],
    ),
  ).toMatchInlineSnapshot(`
    "Filter x => JSON.stringify(x) !== ""
      Filter x => x > 1  (pipelined)
        Map r => JSON.parse(r.shop)  (pipelined for who wants the first)
          Scan orders [id, shop, price]"
  `)
  expect(optimizedText(opaque.limit(3), [markPipelined])).toMatchInlineSnapshot(`
    "Limit 3
      Map r => JSON.parse(r.shop)  (pipelined)
        Scan orders [id, shop, price]"
  `)
})

test('an array that two nodes read may be streamed to one and stored for the other', () => {
  const cheap = orders.filter((r) => r.price < 1)
  expect(optimizedText(cheap.union(cheap.sortBy((r) => r.price)), [markPipelined])).toMatchInlineSnapshot(`
    "Union
      Filter r => r.price < 1  (pipelined)
        Scan orders [id, shop, price]
      Sort r => r.price
        Filter r => r.price < 1
          Scan orders [id, shop, price]"
  `)
})

test('functions that share variables do not take turns', () => {
  let calls = 0
  const counted = planOf(orders.filter(() => calls++ < 9).map((r) => r.price + calls++))
  const sharing = (plan: LogicalPlan): LogicalPlan => withFunctions(mapInputs(plan, sharing), (f) => ({ ...f, sharesState: true }))
  expect(planText(optimize(sharing(counted), [markPipelined]).plan)).toMatchInlineSnapshot(`
    "Map r => r.price + calls++
      Filter () => calls++ < 9
        Scan orders [id, shop, price]"
  `)
})

test('a mark that no longer holds goes', () => {
  const { plan } = optimize(planOf(orders.filter((r) => r.price > 0).map((r) => r.price)), [markPipelined])
  if (plan.kind !== 'Map') throw new Error('not a map')
  const sorted: LogicalPlan = { ...planOf(orders.sortBy((r) => r.price)), input: plan.input } as LogicalPlan // a sort of the same rows
  expect(planText(optimize(sorted, [markPipelined]).plan)).toMatchInlineSnapshot(`
    "Sort r => r.price
      Filter r => r.price > 0
        Scan orders [id, shop, price]"
  `)
})
