import { expect, test } from 'vitest'
import { inSlots, keyIndexOf } from './keyIndex.ts'

const indexOf = (keys: readonly number[]) => keyIndexOf(new Map(keys.map((key, place) => [key, place])))

test('whole numbers that lie together have slots from the least on', () => {
  expect(indexOf([12, 10, 13])).toEqual({ kind: 'direct', least: 10, isFull: false, hasNaN: false, places: Int32Array.of(1, -1, 0, 2) })
  expect(indexOf([-1, 0])).toMatchObject({ kind: 'direct', isFull: true })
  expect(inSlots([5, 6, 7], Int32Array.of(1, -1, 0, 2), new Float64Array(4))).toEqual(Float64Array.of(6, 0, 5, 7))
})

test('other numbers are hashed, each in a slot of its own', () => {
  const keys = [0.5, 1e9, -7, 2 ** 40, Number.POSITIVE_INFINITY]
  const index = indexOf(keys)
  expect(index?.kind).toBe('hashed')
  expect([...(index?.places ?? [])].filter((place) => place >= 0).sort()).toEqual([0, 1, 2, 3, 4])
})

test('the place of NaN is behind the others', () => {
  expect(indexOf([3, Number.NaN])).toEqual({ kind: 'direct', least: 3, isFull: true, hasNaN: true, places: Int32Array.of(0, 1) })
  expect(indexOf([])).toEqual({ kind: 'direct', least: 0, isFull: false, hasNaN: false, places: new Int32Array() })
})
