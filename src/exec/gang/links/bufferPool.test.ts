import { expect, test, vi } from 'vitest'
import { BufferPool, LEAST_POOLED_BYTES } from './bufferPool.ts'

test('memory is used again for what is about as long, the shortest that has room', () => {
  const made: number[] = []
  const pool = new BufferPool((length) => {
    made.push(length)
    return new ArrayBuffer(length)
  })
  const [short, long] = [pool.take(100_000), pool.take(150_000)]
  expect(made).toEqual([106_496, 163_840])
  pool.giveBack([long, short])
  expect(pool.take(90_000)).toBe(short)
  expect(pool.take(90_000)).toBe(long)
  expect(pool.take(90_000).byteLength).toBe(90_112)
  pool.giveBack([long])
  expect(pool.take(164_000)).not.toBe(long)
  expect(pool.take(70_000)).not.toBe(long) // more than half of it would be of no use
  expect(pool.take(163_840)).toBe(long)
})

test('short parts have memory of their own', () => {
  const pool = new BufferPool((length) => new ArrayBuffer(length))
  pool.giveBack([new ArrayBuffer(LEAST_POOLED_BYTES)])
  expect(pool.take(LEAST_POOLED_BYTES - 1).byteLength).toBe(LEAST_POOLED_BYTES - 1)
})

test('memory that nobody asks for is let go', () => {
  vi.useFakeTimers()
  try {
    const pool = new BufferPool((length) => new ArrayBuffer(length))
    const [one, other] = [pool.take(100_000), pool.take(400_000)]
    pool.giveBack([one, other])
    for (let turn = 0; turn < 3; turn++) {
      vi.advanceTimersByTime(5_000)
      expect(pool.take(100_000)).toBe(one) // is asked for in each turn, which keeps nothing else
      pool.giveBack([one])
    }
    expect(pool.take(400_000)).not.toBe(other)
    vi.advanceTimersByTime(10_000)
    expect(pool.take(100_000)).not.toBe(one)
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})
