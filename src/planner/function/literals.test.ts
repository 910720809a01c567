import { expect, test } from 'vitest'
import type { ElementType } from '../../core/data/schema.ts'
import type { AnyFunction } from './unit.ts'
import { lowerFunction } from './userFunction.ts'

const ROWS: ElementType = { kind: 'row', fields: [{ name: 'a', type: { kind: 'f64' }, nullable: false }] }

function lowered(f: AnyFunction, method = 'map') {
  return lowerFunction(f, { kind: 'row', method, inputs: [ROWS], key: { argument: 1, rank: 1 } })
}

test('a function that stands where another stood, with the same behind it, is lowered to the same', () => {
  const above = (low: number) => (r: { a: number }) => r.a > low
  const [first, second] = [above(3), above(3)]
  const { fn } = lowered(first)
  const again = lowered(second)
  expect(again.fn.ir).toBe(fn.ir)
  expect(again.fn.original).toBe(second)
  expect(again.meanings).toEqual(new Map([[second, new Map([['low', { kind: 'captured', name: 'low', value: 3 }]])]]))
  expect(lowered(above(4)).fn.ir?.parameters).toEqual([{ name: 'low', value: 4, origin: 'capture' }])
  expect(lowered(above(3), 'filter').fn.ir).not.toBe(fn.ir)
})

test('the same text at two places of a line is two functions', () => {
  // biome-ignore format: both on one line
  const [one, other] = [(r: { a: number }) => r.a + 1, (r: { a: number }) => r.a + 1] as const
  const [a, b] = [lowered(one).fn, lowered(other).fn]
  expect(b.ir).not.toBe(a.ir)
  expect(b.ir).toEqual(a.ir)
})

test('four of the latest are kept', () => {
  const add = (n: number) => (r: { a: number }) => r.a + n
  const irs = [1, 2, 3, 4, 5].map((n) => lowered(add(n)).fn.ir)
  expect(lowered(add(2)).fn.ir).toBe(irs[1])
  expect(lowered(add(1)).fn.ir).not.toBe(irs[0])
})
