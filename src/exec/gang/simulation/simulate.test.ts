import { expect, test } from 'vitest'
import { workMs } from './simulate.ts'

test('the work of a pass is that of passes on as many threads, or else on about as many, or else as estimated', () => {
  const measured = [
    { workers: 2, milliseconds: 130 },
    { workers: 1, milliseconds: 100 },
    { workers: 2, milliseconds: 125 }, // they share memory
    { workers: 1, milliseconds: 110 },
  ]
  expect([1, 2, 16].map((threads) => workMs({ aloneMs: 7, measured }, threads))).toEqual([100, 125, 125])
  expect(workMs({ aloneMs: 7, measured: [] }, 2)).toBe(7)
})
