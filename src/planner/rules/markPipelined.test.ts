import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { mean } from '../../core/aggregates.ts'
import { planOf } from '../../core/distArray.ts'
import type { LogicalPlan } from '../../core/logicalPlan.ts'
import { planText } from '../../core/tree.ts'
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

test('who reads row numbers waits for the rows before', () => {
  const chain = orders.filter((r) => r.price > 0).map((r, [i]) => r.price * i)
  expect(optimizedText(chain, [markPipelined])).toMatchInlineSnapshot(`
    "Map (r, [i]) => r.price * i
      Filter r => r.price > 0
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
