import { Table, tableFromArrays, vectorFromArray } from 'apache-arrow'
import { expect, test } from 'vitest'
import { arrayEquals, tableEquals } from './equality.ts'

test('arrays: values in order, by their bits', () => {
  expect(arrayEquals([1, Number.NaN], Float64Array.of(1, Number.NaN))).toBe(true)
  expect(arrayEquals([0], [-0])).toBe(false)
  expect(arrayEquals([1, 2], [2, 1])).toBe(false)
  expect(arrayEquals([1], [1, 2])).toBe(false)
  expect(arrayEquals([1, 2], [1, 2 + 1e-9], { tolerance: 1e-8 })).toBe(true)
  expect(arrayEquals(BigInt64Array.of(1n), [1n])).toBe(true)
  expect(arrayEquals([null], [Number.NaN])).toBe(false)
})

const rows = [
  { shop: 'a', total: 1 },
  { shop: 'b', total: 2 },
  { shop: 'a', total: 1 },
]

test('tables: in order, or as bags of rows', async () => {
  const turned = [...rows].reverse()
  expect(await tableEquals(rows, structuredClone(rows))).toBe(true)
  expect(await tableEquals(rows, [rows[1], rows[0], rows[2]])).toBe(false)
  expect(await tableEquals(rows, [rows[1], rows[0], rows[2]], { order: 'any' })).toBe(true)
  expect(await tableEquals(rows, turned, { order: 'any' })).toBe(true)
  expect(await tableEquals(rows, [rows[0], rows[1], rows[1]], { order: 'any' })).toBe(false)
  expect(await tableEquals(rows, rows.slice(1), { order: 'any' })).toBe(false)
})

test('the order of columns does not count, their names do', async () => {
  expect(await tableEquals([{ a: 1, b: 2 }], [{ b: 2, a: 1 }])).toBe(true)
  expect(await tableEquals([{ a: 1 }], [{ b: 1 }])).toBe(false)
})

test('a tolerance in any order finds partners that sorting does not', async () => {
  // By text 0.9999 comes before 1, and the second columns then disagree.
  const left = [
    { x: 1, y: 5 },
    { x: 1.0001, y: 7 },
  ]
  const right = [
    { x: 1.0001, y: 5 },
    { x: 1, y: 7 },
  ]
  expect(await tableEquals(left, right, { order: 'any' })).toBe(false)
  expect(await tableEquals(left, right, { order: 'any', tolerance: 1e-3 })).toBe(true)
  expect(await tableEquals(left, [right[0], right[0]], { order: 'any', tolerance: 1e-3 })).toBe(false)
})

test('a row that fits two partners leaves the only one of another row', async () => {
  const tolerance = 0.1
  expect(await tableEquals([{ x: 0.9 }, { x: 0.85 }], [{ x: 0.92 }, { x: 0.99 }], { order: 'any', tolerance })).toBe(true)
  expect(await tableEquals([{ x: 0.9 }, { x: 0.85 }], [{ x: 0.99 }, { x: 0.99 }], { order: 'any', tolerance })).toBe(false)
})

test('Arrow tables are read with nulls, lists and structs', async () => {
  const table = tableFromArrays({ total: Float64Array.of(1, 2), shop: ['a', 'b'] })
  expect(
    await tableEquals(table, [
      { shop: 'a', total: 1 },
      { shop: 'b', total: 2 },
    ]),
  ).toBe(true)
  const nested = new Table({ list: vectorFromArray([[1, 2], null]) })
  expect(await tableEquals(nested, [{ list: [1, 2] }, { list: null }])).toBe(true)
  expect(await tableEquals(nested, [{ list: [1, 3] }, { list: null }])).toBe(false)
})
