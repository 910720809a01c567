import { expect, test } from 'vitest'
import type { Storage } from '../../core/arrays/storage.ts'
import { ChangingArrays, sentAgain } from './changingArrays.ts'
import type { Members } from './members.ts'
import type { Needed } from './movement/belongings.ts'

function needed(storage: Storage, version: string | undefined, isShape = false): Needed {
  return { storage, version, isShape }
}
function vector(length: number): Storage {
  return { kind: 'dense', shape: [length], dtype: 'f64', strides: [1], data: new Float64Array(length) }
}

test('an array has changed where its version is another than at the pass before; the first pass knows of none', () => {
  const arrays = new ChangingArrays()
  const [a, b, c] = [vector(1), vector(2), vector(3)]
  const labels = (list: readonly Needed[]) => list.map(({ storage }) => [a, b, c].indexOf(storage))
  const next = (...list: readonly Needed[]) => {
    const { changed, lasting } = arrays.next(list)
    return [labels(changed), labels(lasting)]
  }
  expect(next(needed(a, '1:0'), needed(b, '2:0'), needed(c, undefined))).toEqual([[], [0, 1, 2]])
  // without a version any pass may find other values
  expect(next(needed(a, '1:1'), needed(b, '2:0'), needed(c, undefined))).toEqual([[0, 2], [1]])
  expect(next(needed(a, '1:1'), needed(b, '2:5', true), needed(c, '3:0'))).toEqual([[2], [0, 1]])
})

test('changed arrays are sent to who lacks them, as far as it is known what blocks read; what lies elsewhere comes here first', () => {
  const [a, b, c] = [vector(100), vector(50), vector(10)]
  const numbers = [a, b, c]
  const gang = {
    missingBytes: (_: string, list: readonly Needed[]) =>
      list.reduce((sum, { storage }) => sum + (storage === c ? 0 : storage.kind === 'dense' ? storage.data.byteLength : 0), 0),
    numberOf: (storage: Storage) => numbers.indexOf(storage),
    belongings: {
      away: (number: number) => (number === 1 ? { bounds: [[0, 20, 50]], has: new Map([[0, Uint8Array.of(1, 0)]]) } : undefined),
    },
  } as unknown as Members
  const sent = (list: readonly Storage[], read?: number) =>
    sentAgain(
      gang,
      'loop',
      list.map((one) => needed(one, '0')),
      () => read,
    )
  expect(sent([a])).toEqual({ bytes: 800, messages: 1 })
  expect(sent([a], 24)).toEqual({ bytes: 24, messages: 1 })
  expect(sent([a, b, c])).toEqual({ bytes: 800 + 400 + 240, messages: 4 })
  expect(sent([c])).toEqual({ bytes: 0, messages: 0 })
})
