import { expect, test } from 'vitest'
import { differenceBetween, differenceText, numbersAgree, valueText } from './difference.ts'

test('equal values have no difference, whatever their depth', () => {
  const make = () => ({
    a: [1, Number.NaN, { when: new Date(5), big: 3n }],
    b: Float32Array.of(1, -0),
    c: new Map([['x', new Set([1])]]),
    d: null,
  })
  expect(differenceBetween(make(), make())).toBe(undefined)
})

test.each([
  ['a number', [1, 2], [1, 3], { path: '[1]', left: 2, right: 3 }],
  ['the sign of zero', [0], [-0], { path: '[0]', left: 0, right: -0 }],
  ['null and NaN', { x: null }, { x: Number.NaN }, { path: '.x', left: null, right: Number.NaN }],
  ['a number and a bigint', 1, 1n, { path: '', left: 1, right: 1n }],
  ['a length', [1], [1, 2], { path: '[1]', left: undefined, right: 2 }],
  ['a field', { a: { b: 1 } }, { a: {} }, { path: '.a.b', left: 1, right: undefined }],
  ['an element of a typed array', { v: Int32Array.of(1, 2) }, { v: Int32Array.of(1, 9) }, { path: '.v[1]', left: 2, right: 9 }],
  ['an entry of a map', new Map([[1, 'a']]), new Map([[1, 'b']]), { path: '<1>', left: 'a', right: 'b' }],
])('%s differs', (_, left, right, difference) => {
  expect(differenceBetween(left, right)).toEqual(difference)
})

test('typed arrays of two kinds, and objects of two classes, differ as a whole', () => {
  expect(differenceBetween(Float32Array.of(1), Float64Array.of(1))?.path).toBe('')
  expect(differenceBetween(new Date(0), { time: 0 })?.path).toBe('')
  expect(differenceBetween(new Date(0), new Date(1))?.path).toBe('')
})

test('a tolerance is relative above one and absolute below, and never reaches NaN', () => {
  expect(numbersAgree(1000, 1000.5, 1e-3)).toBe(true)
  expect(numbersAgree(1000, 1002, 1e-3)).toBe(false)
  expect(numbersAgree(0, 0.0009, 1e-3)).toBe(true)
  expect(numbersAgree(Number.NaN, 1, 1)).toBe(false)
  expect(numbersAgree(Infinity, 1, 1e-3)).toBe(false)
  expect(differenceBetween({ a: [1] }, { a: [1.0005] }, 1e-3)).toBe(undefined)
})

test('the text of a difference names the place and both values', () => {
  expect(differenceText({ path: '[3].total', left: -0, right: 'a' }, ['1 worker', '2 workers'])).toBe(
    'at [3].total\n  1 worker   -0\n  2 workers  "a"',
  )
})

test('different values have different texts', () => {
  const values = [0, -0, '0', 0n, null, undefined, Number.NaN, 'NaN', [0], { 0: 0 }, new Date(0), true, Uint8Array.of(0), Int8Array.of(0)]
  expect(new Set(values.map(valueText)).size).toBe(values.length)
})
