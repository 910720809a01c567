import { expect, test } from 'vitest'
import type { ShareResult } from './callerPass.ts'
import { busyTimes, longestTimes, meanWaiting } from './passRunner.ts'

const share = (milliseconds: number, busyMs: number): ShareResult => ({ passes: [{ accumulators: [], milliseconds, busyMs }] })

test('times of shares are summed over the rounds of a pass, and what they waited is the mean of those that took part', () => {
  const rounds = [
    [share(10, 10), share(10, 4)],
    [share(5, 3), share(6, 6)],
  ]
  expect(busyTimes(rounds, 0)).toEqual([10, 13]) // from the last share on
  expect(longestTimes(rounds, 0)).toBe(16)
  expect(meanWaiting(rounds, 0, 2)).toBe((6 + 2) / 2)
  expect(meanWaiting(rounds, 0, 1)).toBe(6)
  expect(meanWaiting([[share(7, 7)]], 0, 1)).toBe(0)
})
