import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { countPlan } from '../../core/plan/transformations.ts'
import { planText } from '../../core/plan/tree.ts'
import { optimize } from '../optimize.ts'
import { pruneColumns } from './pruneColumns.ts'
import { removeRedundant } from './removeRedundant.ts'

const orders = tableOf<{ id: number; price: number }>('orders', { id: 'f64', price: 'f64' })

test('projections, limits, unions and casts that change nothing go', () => {
  const chain = orders.select('id', 'price').union(orders.union(orders)).limit(5).limit(3).distinct().distinct()
  expect(optimizedText(chain, [removeRedundant])).toMatchInlineSnapshot(`
    "Distinct
      Limit 3
        Union
          Scan orders [id, price]
          Scan orders [id, price]
          Scan orders [id, price]"
  `)
  expect(optimizedText(orders.map((r) => r.price).cast('f64'), [removeRedundant])).toMatchInlineSnapshot(`
    "Map r => r.price
      Scan orders [id, price]"
  `)
})

test('a projection in another order stays', () => {
  const chain = orders.select('price', 'id')
  expect(optimize(planOf(chain), [removeRedundant]).plan).toBe(planOf(chain))
})

test('counting needs neither order nor maps', () => {
  const plan = countPlan(planOf(orders.sortBy((r) => r.price).map((r) => ({ twice: r.price * 2 }))))
  expect(planText(optimize(plan, [removeRedundant]).plan)).toMatchInlineSnapshot(`
    "Project []
      Scan orders [id, price]"
  `)
})

test('counting runs functions that may fail or were refused', () => {
  const plan = countPlan(planOf(orders.map((r) => ({ text: r.price.toFixed(r.id) }))))
  expect(optimize(plan, [removeRedundant]).plan).toBe(plan)
})

test('a sort below a sort stays: equal keys keep its order', () => {
  const chain = orders.sortBy((r) => r.id).sortBy((r) => r.price)
  expect(optimize(planOf(chain), [removeRedundant]).plan).toBe(planOf(chain))
})

test('a repartition by a value stays below a count of elements with keys of their own, whose groups come in its order', () => {
  const matrix = orders.index((r) => [r.id]).repartition({ partitions: 2, by: (r) => r.price })
  expect(optimizedText(matrix.groupBy({ axis: 0 }).count(), [pruneColumns, removeRedundant])).toMatchInlineSnapshot(`
    "GroupBy axis 0: count = count()
      Repartition 2 by r => r.price
        Index r => [r.id]
          Scan orders [id, price]"
  `)
  expect(
    optimizedText(
      orders
        .repartition({ partitions: 2, by: (r) => r.price })
        .groupBy(() => 1)
        .count(),
      [pruneColumns, removeRedundant],
    ),
  ).toMatchInlineSnapshot(`
    "GroupBy () => 1: count = count()
      Repartition 2 by r => r.price
        Scan orders [price]"
  `)
})
