import { expect, test } from 'vitest'
import { editDistance, nearestNames } from './nearestNames.ts'

test('the likest names first, nothing that is far off', () => {
  const names = ['user', 'movie', 'stars', 'started', 'STAR']
  expect(nearestNames('star', names)).toEqual(['STAR', 'stars', 'started'])
  expect(nearestNames('moive', names)).toEqual(['movie'])
  expect(nearestNames('movies', names)).toEqual(['movie'])
  expect(nearestNames('price', names)).toEqual([])
  expect(nearestNames('b', ['a', 'B', 'c'])).toEqual(['B'])
})

test('distances count single edits', () => {
  expect(editDistance('kitten', 'sitting')).toBe(3)
  expect(editDistance('', 'abc')).toBe(3)
  expect(editDistance('same', 'same')).toBe(0)
  expect(editDistance('ordre', 'order')).toBe(1)
})
