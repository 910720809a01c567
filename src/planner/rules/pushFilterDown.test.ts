import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { count, sum } from '../../core/plan/aggregates.ts'
import { lag } from '../../core/plan/windows.ts'
import { optimize } from '../optimize.ts'
import { pushFilterDown } from './pushFilterDown.ts'

interface Order {
  id: number
  shop: string
  total: number
  note: string | null
}
const orders = tableOf<Order>('orders', { id: 'f64', shop: 'utf8', total: 'f64', note: 'utf8?' })
const shops = tableOf<{ shop: string; total: number; open: boolean }>('shops', { shop: 'utf8', total: 'f64', open: 'bool' })

test('below a map, where the predicate is about what the map computes', () => {
  const chain = orders.map((r) => ({ shop: r.shop, double: r.total * 2 })).filter((r) => r.double > 3 && r.shop !== '')
  expect(optimizedText(chain, [pushFilterDown])).toMatchInlineSnapshot(`
    "Map r => ({ shop: r.shop, double: r.total * 2 })
      Filter r => r.double > 3 && r.shop !== "" of r => ({ shop: r.shop, double: r.total * 2 })
        Scan orders [id, shop, total, note]"
  `)
})

test('what a map leaves undefined is null to the predicate, below the map too', () => {
  const chain = orders.map((r) => ({ some: r.total > 1 ? r.total : undefined })).filter((r) => r.some === null)
  const { plan } = optimize(planOf(chain), [pushFilterDown])
  const filter = plan.kind === 'Map' && plan.input.kind === 'Filter' ? plan.input : undefined
  const predicate = filter?.f.original as unknown as (row: Partial<Order>) => boolean
  expect([{ total: 0 }, { total: 5 }].map(predicate)).toEqual([true, false])
})

test('not below a map that reads row numbers, that may fail, or that was refused', () => {
  const numbered = orders.map((r, [i]) => ({ i, total: r.total })).filter((r) => r.total > 1)
  const failing = orders
    .map((r) => {
      if (r.total < 0) throw new Error('negative')
      return { total: r.total }
    })
    .filter((r) => r.total > 1)
  const refused = orders.map((r) => ({ total: /1/g.test(r.shop) ? 1 : r.total })).filter((r) => r.total > 1)
  for (const plan of [planOf(numbered), planOf(failing), planOf(refused)]) expect(optimize(plan, [pushFilterDown]).plan).toBe(plan)
})

test('not below a limit or a sample, which choose rows by their position', () => {
  for (const chain of [orders.limit(3).filter((r) => r.total > 1), orders.sample(0.5).filter((r) => r.total > 1)]) {
    expect(optimize(planOf(chain), [pushFilterDown]).plan).toBe(planOf(chain))
  }
})

test('to the side of a join whose columns it reads, under the names they have there', () => {
  const joined = orders.join<{ shop: string; total: number; open: boolean }, Order & { total_right: number; open: boolean }>(shops, 'shop')
  const chain = joined
    .filter((r) => r.total > 1)
    .filter((r) => r.total_right > 2 && r.open)
    .filter((r) => r.total > r.total_right)
  expect(optimizedText(chain, [pushFilterDown])).toMatchInlineSnapshot(`
    "Filter r => r.total > r.total_right
      Join inner on "shop"
        Filter r => r.total > 1
          Scan orders [id, shop, total, note]
        Filter r => r.total_right > 2 && r.open
          Scan shops [shop, total, open]"
  `)
})

test('not to the side that a left join fills with nulls', () => {
  const chain = orders.join(shops, 'shop', { how: 'left' }).filter((r) => r.open === null)
  expect(optimize(planOf(chain), [pushFilterDown]).plan).toBe(planOf(chain))
})

test('below sortBy, select, withColumns and union', () => {
  const sorted = orders.sortBy((r) => r.total).select('id', 'total')
  const chain = sorted
    .union(sorted)
    .withColumns((r) => ({ more: r.total + 1 }))
    .filter((r) => r.total > 1)
  expect(optimizedText(chain, [pushFilterDown])).toMatchInlineSnapshot(`
    "WithColumns r => ({ more: r.total + 1 })
      Union
        Project [id, total]
          Sort r => r.total
            Filter r => r.total > 1
              Scan orders [id, shop, total, note]
        Project [id, total]
          Sort r => r.total
            Filter r => r.total > 1
              Scan orders [id, shop, total, note]"
  `)
})

test('below a window, where it keeps whole partitions', () => {
  const total = orders.window({ by: (r) => ({ shop: r.shop, id: r.id }), orderBy: (r) => r.total }, { sum: sum((r) => r.total) })
  expect(
    optimizedText(
      total.filter((r) => r.shop === 'north' && r.id > 2).filter((r) => r.sum > 1),
      [pushFilterDown],
    ),
  ).toMatchInlineSnapshot(`
    "Filter r => r.sum > 1
      Window by r => ({ shop: r.shop, id: r.id }) order r => r.total range [null, 0]: sum = sum(r => r.total)
        Filter r => r.shop === "north" && r.id > 2
          Scan orders [id, shop, total, note]"
  `)
})

test('not below a window, where it reads another column or tells zeros apart, or where the window may fail', () => {
  const byId = orders.window({ by: (r) => r.id }, { n: count() })
  const replaced = orders.window({ by: (r) => r.id }, { id: count() })
  const failing = orders.window({ by: (r) => r.id }, { last: lag((r) => r.note?.repeat(r.total)) })
  for (const chain of [
    byId.filter((r) => r.total > 1),
    byId.filter((r) => 1 / r.id > 0),
    replaced.filter((r) => r.id > 1),
    failing.filter((r) => r.id > 1),
    orders.window({}, { n: count() }).filter((r) => r.id > 1),
  ])
    expect(optimize(planOf(chain), [pushFilterDown]).plan).toBe(planOf(chain))
})
