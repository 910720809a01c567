import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { mergeFilters } from './mergeFilters.ts'

const orders = tableOf<{ id: number; total: number; note: string | null }>('orders', { id: 'f64', total: 'f64', note: 'utf8?' })

test('a chain of filters becomes one, the first predicate first', () => {
  const limit = 9
  const chain = orders
    .filter((r) => r.id !== 0)
    .filter((r) => r.total > 1)
    .filter((r) => r.total < limit)
  expect(optimizedText(chain, [mergeFilters])).toMatchInlineSnapshot(`
    "Filter r => r.id !== 0 and r => r.total > 1 and r => r.total < limit
      Scan orders [id, total, note]"
  `)
})

test('a predicate with statements of its own is asked only where the first one holds', () => {
  const chain = orders
    .filter((r) => r.total > 1)
    .filter((r) => {
      const half = r.total / 2
      return half < 3
    })
  expect(optimizedText(chain, [mergeFilters])).toMatchInlineSnapshot(`
    "Filter r => r.total > 1 and r => { const half = r.total / 2; return half < 3 }
      Scan orders [id, total, note]"
  `)
})

test('a predicate that reads row numbers stays: the rows it sees are numbered anew', () => {
  const chain = orders.filter((r) => r.total > 1).filter((_, [i]) => i % 2 === 0)
  expect(optimizedText(chain, [mergeFilters])).toMatchInlineSnapshot(`
    "Filter (_, [i]) => i % 2 === 0
      Filter r => r.total > 1
        Scan orders [id, total, note]"
  `)
})

test('a predicate that may fail stays: its failure names a row', () => {
  const chain = orders.filter((r) => r.note !== null).filter((r) => (r.note as string).startsWith('a'))
  expect(optimizedText(chain, [mergeFilters])).toMatchInlineSnapshot(`
    "Filter r => r.note.startsWith("a")
      Filter r => r.note !== null
        Scan orders [id, total, note]"
  `)
})

test('of an array with keys of its own, keys are the same below', () => {
  const chain = orders
    .index((r) => [r.id])
    .filter((r) => r.total > 1)
    .filter((_, [i]) => i % 2 === 0)
  expect(optimizedText(chain, [mergeFilters])).toMatchInlineSnapshot(`
    "Filter r => r.total > 1 and (_, [i]) => i % 2 === 0
      Index r => [r.id]
        Scan orders [id, total, note]"
  `)
})
