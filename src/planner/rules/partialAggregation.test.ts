import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { count, max, sum } from '../../core/aggregates.ts'
import { planOf } from '../../core/distArray.ts'
import { optimize } from '../optimize.ts'
import { partialAggregation } from './partialAggregation.ts'

const orders = tableOf<{ shop: string; price: number }>('orders', { shop: 'utf8', price: 'f64' })

test('counts and extremes are formed within each partition first', () => {
  const chain = orders.groupBy((r) => r.shop).agg({ n: count(), most: max((r) => r.price) })
  expect(optimizedText(chain, [partialAggregation])).toMatchInlineSnapshot(`
    "GroupBy r => r.shop: n = count(), most = max(r => r.price) per partition first
      Scan orders [shop, price]"
  `)
})

test('a sum follows the tree over the group, not over the partitions', () => {
  const chain = orders.groupBy((r) => r.shop).agg({ n: count(), total: sum((r) => r.price) })
  expect(optimize(planOf(chain), [partialAggregation]).plan).toBe(planOf(chain))
})
