import { expect, test } from 'vitest'
import { CHUNK, combinePairwise, sumByTree } from './fixedTree.ts'

test('parts are combined pairwise by index, an odd last one carried on', () => {
  expect(combinePairwise(['a', 'b', 'c', 'd', 'e'], (a, b) => `(${a}${b})`)).toBe('(((ab)(cd))e)')
  expect(combinePairwise([], (a) => a)).toBeUndefined()
})

test('a sum is left to right inside a chunk and pairwise above', () => {
  const values = Float64Array.from({ length: 2 * CHUNK + 5 }, (_, i) => 1 / (i + 1))
  const part = (from: number, to: number) => values.subarray(from, to).reduce((a, b) => a + b, 0)
  expect(sumByTree(values)).toBe(part(0, CHUNK) + part(CHUNK, 2 * CHUNK) + part(2 * CHUNK, values.length))
  expect(sumByTree([])).toBe(0)
})
