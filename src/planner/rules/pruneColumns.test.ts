import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { sum } from '../../core/plan/aggregates.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../../core/plan/logicalPlan.ts'
import { countPlan } from '../../core/plan/transformations.ts'
import { planText } from '../../core/plan/tree.ts'
import { optimize } from '../optimize.ts'
import { pruneColumns } from './pruneColumns.ts'

interface Order {
  id: number
  shop: string
  price: number
  stars: number
}
const orders = tableOf<Order>('orders', { id: 'f64', shop: 'utf8', price: 'f64', stars: 'i32' })
const shops = tableOf<{ shop: string; price: number; city: string }>('shops', { shop: 'utf8', price: 'f64', city: 'utf8' })

test('a scan reads what the functions above it read', () => {
  const chain = orders.filter((r) => r.stars > 3).map((r) => r.price)
  expect(optimizedText(chain, [pruneColumns])).toMatchInlineSnapshot(`
    "Map r => r.price
      Filter r => r.stars > 3
        Scan orders [price, stars]"
  `)
})

test('what is computed and not read is not computed', () => {
  const chain = orders
    .map((r) => ({ id: r.id, twice: r.price * 2, shop: r.shop }))
    .withColumns((r) => ({ more: r.twice + 1, less: r.twice - 1 }))
    .groupBy((r) => r.shop)
    .agg({ total: sum((r) => r.more) })
  expect(optimizedText(chain, [pruneColumns])).toMatchInlineSnapshot(`
    "GroupBy r => r.shop: total = sum(r => r.more)
      WithColumns r => ({ more: r.twice + 1, less: r.twice - 1 }) [more]
        Map r => ({ id: r.id, twice: r.price * 2, shop: r.shop }) [twice, shop]
          Scan orders [shop, price]"
  `)
})

test('a function that may fail is computed, and one that was refused reads what it names', () => {
  const failing = orders
    .map((r) => {
      if (r.stars < 0) throw new Error('negative')
      return { price: r.price, id: r.id }
    })
    .map((r) => r.price)
  expect(optimizedText(failing, [pruneColumns])).toMatchInlineSnapshot(`
    "Map r => r.price
      Map r => { if (r.stars < 0) throw new Error("negative"); return { price: r.price, id: r.id } }
        Scan orders [id, price, stars]"
  `)
  const refused = orders.filter((r) => /a/g.test(r.shop)).map((r) => r.price)
  expect(optimizedText(refused, [pruneColumns])).toMatchInlineSnapshot(`
    "Map r => r.price
      Filter r => (/a/g).test(r.shop)
        Scan orders [shop, price]"
  `)
  const whole = orders.filter((r) => /a/g.test(JSON.stringify(r))).map((r) => r.price)
  expect(optimize(planOf(whole), [pruneColumns]).plan).toBe(planOf(whole))
})

test('through a join, each side keeps its own; a left column stays that gives a right one its suffix', () => {
  const joined = orders.join<{ shop: string; price: number; city: string }, Order & { price_right: number; city: string }>(shops, 'shop')
  expect(
    optimizedText(
      joined.map((r) => r.price_right),
      [pruneColumns],
    ),
  ).toMatchInlineSnapshot(`
    "Map r => r.price_right
      Join inner on "shop"
        Scan orders [shop, price]
        Scan shops [shop, price]"
  `)
  expect(
    optimizedText(
      joined.map((r) => r.city),
      [pruneColumns],
    ),
  ).toMatchInlineSnapshot(`
    "Map r => r.city
      Join inner on "shop"
        Scan orders [shop]
        Scan shops [shop, city]"
  `)
})

test('counting reads one cheap column', () => {
  const plan = countPlan(planOf(orders.sortBy((r) => r.price)))
  expect(planText(optimize(plan).plan)).toMatchInlineSnapshot(`
    "Project []
      Scan orders [stars]"
  `)
})

test('a stored table keeps its columns, and those that nobody reads are not handed on', () => {
  const { element, keys } = planOf(orders)
  const columns = fieldsOf(element).map(({ type }) => ({ type, length: 0 }))
  const stored: LogicalPlan = { kind: 'Stored', name: 'orders', storage: { kind: 'table', element, length: 0, columns }, element, keys }
  const chain = planOf(orders.filter((r) => r.stars > 3).map((r) => r.price))
  const over = (plan: LogicalPlan): LogicalPlan => (plan.kind === 'Scan' ? stored : withInputs(plan, inputsOf(plan).map(over)))
  expect(planText(optimize(over(chain), [pruneColumns]).plan)).toMatchInlineSnapshot(`
    "Map r => r.price
      Filter r => r.stars > 3
        Stored orders table [price, stars]"
  `)
  expect(planText(optimize(over(countPlan(planOf(orders))), [pruneColumns]).plan)).toMatchInlineSnapshot(`
    "Project []
      Stored orders table [stars]"
  `)
})
