import { expect, test } from 'vitest'
import { checkShape, compareKeys, isInside, keyAt, outsideMessage, positionOf, sizeOfShape } from './indexSpace.ts'

test('positions and keys are inverse, the last axis running fastest', () => {
  const shape = [2, 3, 4]
  expect(sizeOfShape(shape)).toBe(24)
  for (let position = 0; position < 24; position++) expect(positionOf(keyAt(position, shape), shape)).toBe(position)
  expect(keyAt(5, shape)).toEqual([0, 1, 1])
  expect(compareKeys([1, 2], [1, 3])).toBeLessThan(0)
  expect(compareKeys([1, 2], [1, 2])).toBe(0)
})

test('what is inside a shape', () => {
  expect(isInside([0, 2], [1, 3])).toBe(true)
  expect(isInside([-0], [1])).toBe(true)
  for (const key of [[1, 0], [0, -1], [0, 0.5], [0], [0, 0, 0], [Number.NaN, 0]]) expect(isInside(key, [1, 3])).toBe(false)
})

test('the message says which rule a key breaks', () => {
  const message = (key: readonly number[]): string => outsideMessage('W', key, [3, 4])
  expect(message([3, 0])).toBe(
    'The key [3, 0] is outside W, whose shape is [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.',
  )
  expect(message([-0, -1])).toBe(
    'The key [0, -1] is outside W, whose shape is [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.',
  )
  expect(message([0.5, 0])).toBe('The key [0.5, 0] is outside W, whose shape is [3, 4]. Keys are integers.')
  expect(message([1])).toBe('The key [1] is outside W, whose shape is [3, 4]. Its keys have 2 components, one for each axis.')
  expect(message([5])).toBe('The key [5] is outside W, whose shape is [3, 4]. Keys run from 0 to extent - 1; negative keys do not wrap.')
})

test('shapes that are none', () => {
  expect(() => checkShape('zeros', [])).toThrow('zeros needs at least one extent, as in zeros([10]).')
  expect(() => checkShape('zeros([1.5])', [1.5])).toThrow(
    'The extent of axis 0 of zeros([1.5]) is 1.5. Extents are integers from 0 to 2147483647.',
  )
  expect(() => checkShape('zeros([0])', [0])).not.toThrow()
})
