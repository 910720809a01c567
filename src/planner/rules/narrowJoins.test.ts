import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { optimize } from '../optimize.ts'
import { RULES } from './index.ts'
import { narrowJoins } from './narrowJoins.ts'

interface Order {
  id: number
  shop: string
  total: number
  note: string | null
}
const orders = tableOf<Order>('orders', { id: 'f64', shop: 'utf8', total: 'f64', note: 'utf8?' })
const shops = tableOf<{ shop: string; total: number; city: string }>('shops', { shop: 'utf8', total: 'f64', city: 'utf8' })
const joined = orders.join(shops, 'shop')

/** The predicates below the join, by the side that they are asked of. */
function narrowed(chain: typeof joined) {
  const { plan } = optimize(planOf(chain), [narrowJoins])
  const join = plan.kind === 'Filter' && plan.input.kind === 'Join' ? plan.input : undefined
  const of = (side = join?.left) => (side?.kind === 'Filter' ? (side.f.original as unknown as (row: object) => boolean) : undefined)
  return { left: of(join?.left), right: of(join?.right) }
}

test('of cases for both sides each side is asked its own, under the names that it has', () => {
  const chain = joined.filter((r) => (r.total > 9 && r.city === 'Bonn') || (r.total < 2 && r.city === 'Ulm' && r.total_right > 1))
  expect(optimizedText(chain, [narrowJoins])).toMatchInlineSnapshot(`
    "Filter r => r.total > 9 && r.city === "Bonn" || r.total < 2 && r.city === "Ulm" && r.total_right > 1
      Join inner on "shop"
        Filter part of r => r.total > 9 && r.city === "Bonn" || r.total < 2 && r.city === "Ulm" && r.total_right > 1
          Scan orders [id, shop, total, note]
        Filter part of r => r.total > 9 && r.city === "Bonn" || r.total < 2 && r.city === "Ulm" && r.total_right > 1
          Scan shops [shop, total, city]"
  `)
  const { left, right } = narrowed(chain)
  expect([10, 5, 1].map((total) => left?.({ total }))).toEqual([true, false, true])
  const rows = [
    { city: 'Bonn', total: 0 },
    { city: 'Ulm', total: 2 },
    { city: 'Ulm', total: 1 },
    { city: 'Rome', total: 2 },
  ]
  expect(rows.map((row) => right?.(row))).toEqual([true, true, false, false])
})

test('of parts that must all hold, each goes to its side, what reads both stays', () => {
  const { left, right } = narrowed(joined.filter((r) => r.total > 1 && r.city !== 'Ulm' && r.total > r.total_right))
  expect([1, 2].map((total) => left?.({ total }))).toEqual([false, true])
  expect(['Ulm', 'Bonn'].map((city) => right?.({ city }))).toEqual([false, true])
})

test('a case that says nothing of a side leaves it as it is', () => {
  const { left, right } = narrowed(joined.filter((r) => (r.total > 9 && r.city === 'Bonn') || r.city === 'Ulm'))
  expect(left).toBeUndefined()
  expect(['Bonn', 'Ulm', 'Rome'].map((city) => right?.({ city }))).toEqual([true, true, false])
})

test('not where a side is filled with nulls, where only nulls are asked for, or where rows are numbered or may throw', () => {
  const left = orders.join(shops, 'shop', { how: 'left' })
  const chains = [
    orders.join(shops, 'shop', { how: 'full' }).filter((r) => r.total === 1 && r.city === 'Ulm'),
    left.filter((r) => r.city === 'Ulm' && r.city.length + r.total > 1),
    joined.filter((r) => r.note !== null && r.total > r.total_right),
    joined.filter((r, [i]) => r.total > 1 && i > r.total_right),
    joined.filter((r) => r.total > 1 && r.city.repeat(r.total) !== ''),
  ]
  for (const chain of chains) expect(optimize(planOf(chain), [narrowJoins]).plan).toBe(planOf(chain))
})

test('on through all joins, once', () => {
  const chain = joined
    .join(shops.rename({ city: 'town' }), 'shop', { suffix: '2' })
    .filter((r) => (r.note === 'a' && r.city === 'Ulm' && r.town === 'Bonn') || (r.note === 'b' && r.city === 'Bonn' && r.town === 'Ulm'))
  const { plan } = optimize(planOf(chain))
  expect(optimizedText(chain, RULES)).toMatchInlineSnapshot(`
    "Filter r => r.note === "a" && r.city === "Ulm" && r.town === "Bonn" || r.note === "b" && r.city === "Bonn" && r.town === "Ulm"
      Join inner on "shop"
        Filter part of r => r.note === "a" && r.city === "Ulm" && r.town === "Bonn" || r.note === "b" && r.city === "Bonn" && r.town === "Ulm"
          Join inner on "shop"
            Filter part of r => r.note === "a" && r.city === "Ulm" && r.town === "Bonn" || r.note === "b" && r.city === "Bonn" && r.town === "Ulm"
              Scan orders [id, shop, total, note]
            Filter part of r => r.note === "a" && r.city === "Ulm" && r.town === "Bonn" || r.note === "b" && r.city === "Bonn" && r.town === "Ulm"
              Scan shops [shop, total, city]
        Map (row) => ({ shop: row.shop, total: row.total, town: row.city })
          Filter part of r => r.note === "a" && r.city === "Ulm" && r.town === "Bonn" || r.note === "b" && r.city === "Bonn" && r.town === "Ulm" of (row) => ({ shop: row.shop, total: row.total, town: row.city })  (pipelined)
            Scan shops [shop, total, city]"
  `)
  expect(optimize(plan).plan).toBe(plan)
})
