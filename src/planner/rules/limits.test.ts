import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { optimize } from '../optimize.ts'
import { pushLimitDown } from './pushLimitDown.ts'
import { topK } from './topK.ts'

const orders = tableOf<{ id: number; price: number; note: string | null }>('orders', { id: 'f64', price: 'f64', note: 'utf8?' })

test('the first rows of an order: the sort keeps no more than these', () => {
  const chain = orders.sortBy((r) => r.price, { descending: true }).limit(10)
  expect(optimizedText(chain, [topK])).toMatchInlineSnapshot(`
    "Limit 10
      Sort r => r.price descending first 10
        Scan orders [id, price, note]"
  `)
})

test('a limit passes maps that cannot fail on its way to the sort', () => {
  const chain = orders
    .sortBy((r) => r.price)
    .map((r) => ({ id: r.id, cents: r.price * 100 }))
    .limit(3)
  expect(optimizedText(chain, [pushLimitDown, topK])).toMatchInlineSnapshot(`
    "Map r => ({ id: r.id, cents: r.price * 100 })
      Limit 3
        Sort r => r.price first 3
          Scan orders [id, price, note]"
  `)
})

test('a filter in between needs the whole order', () => {
  const chain = orders
    .sortBy((r) => r.price)
    .filter((r) => r.id > 1)
    .limit(3)
  expect(optimize(planOf(chain), [pushLimitDown, topK]).plan).toBe(planOf(chain))
})

test('a limit stays above a map that may fail', () => {
  const chain = orders.map((r) => (r.note as string).length).limit(3)
  expect(optimize(planOf(chain), [pushLimitDown]).plan).toBe(planOf(chain))
})

test('the smaller of two limits counts', () => {
  const chain = orders
    .sortBy((r) => r.price)
    .limit(3)
    .limit(5)
  expect(optimizedText(chain, [topK])).toMatchInlineSnapshot(`
    "Limit 5
      Limit 3
        Sort r => r.price first 3
          Scan orders [id, price, note]"
  `)
})
