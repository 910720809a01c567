import { expect, test } from 'vitest'
import { columnFromValues } from '../data/columnBuilder.ts'
import { sliceColumn } from '../data/columnSlices.ts'
import { PlanError } from '../errors.ts'
import { sumByTree } from './fixedTree.ts'
import { extremeOf, NumberSum, TreeFold } from './folds.ts'

const values = Array.from({ length: 10_000 }, (_, i) => (i % 7 === 0 ? null : Math.sin(i) * 10 ** (i % 9)))

test('a sum has the bits of the tree over the values that are not null, however they are cut', () => {
  const column = columnFromValues(values)
  const wanted = sumByTree(values.filter((value) => value !== null))
  for (const size of [1, 100, 4096, 5000, 10_000]) {
    const total = new NumberSum()
    for (let from = 0; from < values.length; from += size) total.addColumn(sliceColumn(column, from, Math.min(from + size, values.length)))
    expect(total.finish()).toBe(wanted)
    expect(total.count).toBe(values.filter((value) => value !== null).length)
  }
})

test('bigints sum exactly, and not beyond 64 bits', () => {
  const total = new NumberSum()
  total.addColumn(columnFromValues([2n ** 62n, null, 1n]))
  expect(total.finish()).toBe(2n ** 62n + 1n)
  total.addColumn(columnFromValues([2n ** 62n]))
  expect(() => total.finish()).toThrow(
    new PlanError('The sum 9223372036854775809 does not fit i64. Convert the values first, as in map((value) => Number(value)).'),
  )
})

test('nothing sums to 0, and columns of nulls are nothing', () => {
  const total = new NumberSum()
  total.addColumn(columnFromValues([null, null]))
  expect([total.finish(), total.count]).toEqual([0, 0])
})

test('extremes are those of Math.min and Math.max: NaN wins, -0 is below 0', () => {
  expect(extremeOf(columnFromValues([0, -0, null]), 'min', undefined)).toBe(-0)
  expect(extremeOf(columnFromValues([-0, 0]), 'max', undefined)).toBe(0)
  expect(extremeOf(columnFromValues([1, Number.NaN, 3]), 'max', undefined)).toBe(Number.NaN)
  expect(extremeOf(columnFromValues([null]), 'max', undefined)).toBe(undefined)
  expect(extremeOf(columnFromValues([3n, 5n]), 'max', 4n)).toBe(5n)
})

test('a fold starts every chunk anew and joins chunks pairwise', () => {
  const fold = new TreeFold<string, number>(
    (value) => `${value}`,
    (text, value) => (value % 4096 === 4095 ? `${text}..${value}` : text),
  )
  for (let i = 0; i < 3 * 4096; i++) fold.add(i)
  expect(fold.finish((a, b) => `(${a} ${b})`)?.value).toBe('((0..4095 4096..8191) 8192..12287)')
  expect(new TreeFold<number, number>((v) => v, Math.min).finish(Math.min)).toBe(undefined)
})
