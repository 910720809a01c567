import { expect, test } from 'vitest'
import { besideMs, workMs } from './simulate.ts'

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

test('what a pass takes beside its blocks is what passes here took beside them, or else as estimated for each end of a round', () => {
  const lanes = [
    { count: 4, length: 1_000_000, late: {} },
    { count: 2, length: 500_000 },
  ] as unknown as Parameters<typeof besideMs>[0]['lanes']
  const blocks = { rounds: [0, 8, 16, 24] } as unknown as Parameters<typeof besideMs>[0]['blocks']
  const measured = [
    { workers: 1, milliseconds: 100, besideMs: 9 },
    { workers: 1, milliseconds: 100, besideMs: 7 },
    { workers: 2, milliseconds: 100 }, // on several processes
  ]
  expect([1, 2].map((threads) => besideMs({ measured, lanes, blocks }, threads))).toEqual([7, 7])
  const joined = (rounds: number) =>
    besideMs({ measured: [], lanes, blocks: { rounds: Array.from({ length: rounds + 1 }, (_, i) => i) } as never }, 1)
  expect([1, 2, 3].map((rounds) => Number(joined(rounds).toFixed(6)))).toEqual([4, 7.2, 10.4]) // 0.8 ns an element; only those of rounds at their ends
})
