import { expect, test } from 'vitest'
import { CHUNK, sumByTree } from '../arrays/fixedTree.ts'
import { Accumulator, combineCustom, combineSums } from './accumulator.ts'

test('an accumulator holds what nothing adds up to, then the last pass', () => {
  expect(new Accumulator('sum').value).toBe(0)
  expect(new Accumulator('min').value).toBe(Number.POSITIVE_INFINITY)
  expect(new Accumulator('max').value).toBe(Number.NEGATIVE_INFINITY)
  const count = new Accumulator<number>('count')
  count.finishPass(3)
  expect(count.value).toBe(3)
  expect(new Accumulator({ init: 'x', combine: (a: string, b: string) => a + b }).value).toBe('x')
})

test('sums have the bits of the tree however the ranks are cut', () => {
  const values = Float64Array.from({ length: 10_000 }, (_, i) => 1 / (i + 1))
  const cuts = [0, 100, CHUNK, CHUNK + 1, 2 * CHUNK, 9999, 10_000]
  const fragments = cuts.slice(1).flatMap((to, i) => {
    const from = cuts[i] ?? 0
    const part = values.subarray(from, to)
    const folded = from % CHUNK === 0
    return [{ from, folded, values: folded ? [part.reduce((a, b) => a + b, 0)] : part }]
  })
  expect(combineSums(fragments.reverse())).toBe(sumByTree(values))
  expect(combineSums([])).toBe(0)
})

test('custom accumulators keep the order and count init once', () => {
  const spec = { init: '>', combine: (a: unknown, b: unknown) => `${String(a)}${String(b)}` }
  const fragments = [
    { from: 2 * CHUNK, folded: false, values: ['e'] },
    { from: 1, folded: false, values: ['b', 'c'] },
    { from: 0, folded: false, values: ['a'] },
    { from: CHUNK + 5, folded: false, values: ['d'] },
  ]
  expect(combineCustom(spec, fragments)).toBe('>abcde')
  expect(combineCustom(spec, [])).toBe('>')
  const list = { init: [] as string[], combine: (a: unknown, b: unknown) => (a as string[]).concat(b as string[]) }
  expect(combineCustom(list, [{ from: 0, folded: false, values: [['x'], ['y']] }])).toEqual(['x', 'y'])
  expect(list.init).toEqual([])
})
