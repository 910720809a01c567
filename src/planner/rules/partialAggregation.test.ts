import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { count, max, sum } from '../../core/plan/aggregates.ts'
import { Session } from '../../session/session.ts'
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

test('rows of a table in memory are shared by the workers, unless a value other than a number is looked for', async () => {
  const session = await Session.start({ workers: 1, progress: false })
  const table = session.fromColumns({ shop: ['a', 'b', 'a'], price: [1, 2, 3] })
  const cheap = table.filter((r) => r.price < 3).groupBy((r) => r.shop)
  const numbers = cheap.agg({ n: count(), most: max((r) => r.price) })
  expect(optimize(planOf(numbers), [partialAggregation]).plan).toBe(planOf(numbers))
  expect(optimizedText(cheap.agg({ most: max((r) => r.shop) }), [partialAggregation])).toContain('per partition first')
  await session.stop()
})
