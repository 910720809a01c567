import { expect, test } from 'vitest'
import { tableOf } from '../../property-tests/plans.ts'
import { type DistArray, planOf } from '../core/arrays/distArray.ts'
import { count, sum } from '../core/plan/aggregates.ts'
import { planText } from '../core/plan/tree.ts'
import { sharedSubplan, withLeaf } from './sharedSubplans.ts'

interface Sale {
  item: number
  day: number
  amount: number
  note: string
}
const sales = tableOf<Sale>('sales', { item: 'f64', day: 'f64', amount: 'f64', note: 'utf8' })
const items = tableOf<{ item: number; brand: string; size: string }>('items', { item: 'f64', brand: 'utf8', size: 'utf8' })
const sold = sales.join(items, 'item')

function textOf(chain: DistArray<never>): string {
  const plan = planOf(chain)
  const shared = sharedSubplan(plan, 1)
  if (shared === undefined) return 'nothing is shared'
  const { node, places, plan: part, leaf } = shared
  return `${planText(withLeaf(plan, node, leaf))}\n${leaf.name}, ${places} places\n${planText(part)}`
}

test('a join that two groupings read has the columns of both', () => {
  const brands = sold.groupBy((r) => ({ key: r.brand })).agg({ amount: sum((r) => r.amount) })
  const days = sold.groupBy((r) => ({ key: `${r.day}` })).agg({ amount: sum((r) => r.amount) })
  expect(textOf(brands.union(days) as never)).toMatchInlineSnapshot(`
    "Union
      GroupBy r => ({ key: r.brand }): amount = sum(r => r.amount)
        Stored shared 1 table
      GroupBy r => ({ key: \`\${r.day}\` }): amount = sum(r => r.amount)
        Stored shared 1 table
    shared 1, 2 places
    Project [day, amount, brand]
      Join inner on "item"
        Scan sales [item, day, amount]
        Scan items [item, brand]"
  `)
})

test('rows that are taken as they are, in order, or with a window, beside groups of them', () => {
  const both = sold.map((r) => ({ day: r.day, n: 1 })).union(sold.groupBy((r) => ({ day: r.day })).agg({ n: count() }))
  expect(textOf(both as never)).toMatchInlineSnapshot(`
    "Union
      Map r => ({ day: r.day, n: 1 })
        Stored shared 1 table
      GroupBy r => ({ day: r.day }): n = count()
        Stored shared 1 table
    shared 1, 2 places
    Project [day]
      Join inner on "item"
        Scan sales [item, day]
        Scan items [item]"
  `)
})

test('not where a filter, a limit or a join takes some of its rows, but for groups', () => {
  const days = sold.groupBy((r) => ({ day: r.day })).agg({ n: count() })
  const some = sold.filter((r) => r.day > 3).map((r) => ({ day: r.day, n: 1 }))
  expect(textOf(days.union(some) as never)).toBe('nothing is shared')
  expect(textOf(days.union(sold.limit(3).map((r) => ({ day: r.day, n: 1 }))) as never)).toBe('nothing is shared')
  const beside = sold.join(sales, 'day', { how: 'semi' }).map((r) => ({ day: r.day, n: 1 }))
  expect(textOf(days.union(beside) as never)).toBe('nothing is shared')
  expect(textOf(days.filter((g) => g.n > 2).join(days, 'day', { suffix: '2' }) as never)).toMatchInlineSnapshot(`
    "Join inner on "day"
      Filter g => g.n > 2
        Stored shared 1 table
      Stored shared 1 table
    shared 1, 2 places
    GroupBy r => ({ day: r.day }): n = count()
      Join inner on "item"
        Scan sales [item, day]
        Scan items [item]"
  `)
})

test('not what one pass over a table makes, nor what a function makes that was refused or draws', () => {
  const kept = sales.filter((r) => r.amount > 3)
  const twice = kept
    .groupBy((r) => ({ key: r.day }))
    .agg({ n: count() })
    .union(kept.groupBy((r) => ({ key: r.item })).agg({ n: count() }))
  expect(textOf(twice as never)).toBe('nothing is shared')
  const drawn = sold.filter(() => Math.random() > 0.5)
  const counts = drawn.groupBy((r) => ({ key: r.day })).agg({ n: count() })
  expect(textOf(counts.union(drawn.groupBy((r) => ({ key: r.amount })).agg({ n: count() })) as never)).toBe('nothing is shared')
})

test('a plan that is put beside itself over and over is looked at once', () => {
  let doubled = sold.groupBy((r) => ({ day: r.day })).agg({ n: count() })
  for (let i = 0; i < 60; i++) doubled = doubled.union(doubled)
  expect(sharedSubplan(planOf(doubled), 1)?.node.kind).toBe('GroupBy')
  let rows = sold.map((r) => ({ day: r.day, n: 1 }))
  for (let i = 0; i < 60; i++) rows = rows.union(rows).map((r) => ({ day: r.day, n: r.n }))
  expect(sharedSubplan(planOf(rows.limit(3)), 1)).toBeUndefined()
})
