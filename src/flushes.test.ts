/** Buffers that flush between rounds of a pass: options, what runs and why, and what a failure leaves. */
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlanError, Session, TaskError } from './index.ts'

let session: Session
beforeEach(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterEach(async () => await session.stop())

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(PlanError)
    return (error as PlanError).message
  }
  return ''
}

test('options that make no sense are refused at the call', () => {
  const w = session.zeros([10])
  expect(messageOf(() => w.buffer({ flushes: 0 }))).toBe('The flushes of buffer() is an integer of at least 1; it was given 0.')
  expect(messageOf(() => w.buffer({ flushes: 100_000 }))).toBe(
    'The flushes of buffer() is an integer of at most 65536; it was given 100000.',
  )
  expect(messageOf(() => w.buffer({ flushes: 4, staleness: -1 }))).toBe(
    'The staleness of buffer() is an integer of at least 0; it was given -1.',
  )
  expect(messageOf(() => w.buffer({ flushes: 4, budget: 8 }))).toBe('The budget of buffer() is an integer of at least 12; it was given 8.')
  expect(messageOf(() => w.buffer({ flushes: 4, maxDelay: 10 }))).toBe(
    'buffer() has maxDelay, which flushes in serial order, and flushes, between rounds that run in parallel. Take one of them.',
  )
  expect(messageOf(() => w.buffer({ staleness: 2 }))).toBe(
    'buffer() has a staleness, but flushes once, at the end of the pass, where nothing is late. Say how often it flushes: buffer({ flushes: 16, … }).',
  )
  expect(messageOf(() => w.buffer({ rounds: 4 } as object))).toContain('flushes')
})

test('buffers of one loop flush together', () => {
  const [v, w] = [session.zeros([10]), session.zeros([10])]
  const body = ([i]: readonly [number], { v, w }: { v: { add(i: number, x: number): void }; w: { add(i: number, x: number): void } }) => {
    v.add(i, 1)
    w.add(i, 1)
  }
  const over = session.range(10)
  expect(messageOf(() => session.loop(over, { v: v.buffer({ flushes: 4 }), w: w.buffer({ flushes: 5 }) }, body))).toBe(
    'The buffers of one loop flush together: v does 4 times in a pass, w 5 times in a pass. Give both the same flushes.',
  )
  expect(messageOf(() => session.loop(over, { v: v.buffer({ maxDelay: 3 }), w: w.buffer({ flushes: 5 }) }, body))).toBe(
    'The buffers of one loop flush together: w does 5 times in a pass, v after every 3 iterations. Give both the same flushes.',
  )
  session.loop(over, { v: v.buffer(), w: w.buffer({ flushes: 5 }) }, body)
})

test('a buffer shows how it flushes', () => {
  const w = session.zeros([10])
  expect(inspect(w.buffer({ flushes: 16, staleness: 2, budget: 1200 }))).toBe(
    'UpdateBuffer: sums updates, flushed 16 times in a pass, 2 rounds late, 1200 bytes at a time',
  )
})

test('rounds run on workers where they are worth it, and serially where iterations wait for each other', async () => {
  const n = 20_000
  const w = session.zeros([8])
  const heavy = session.loop(session.range(n), { w: w.buffer({ flushes: 4 }) }, ([i], { w }) => {
    let x = 0
    for (let k = 0; k < 1000; k++) x += Math.sqrt(i + k)
    w.add(i % 8, x)
  })
  await heavy.run()
  expect(heavy.plan.schedule.kind).toBe('independent')
  expect(heavy.plan.execution.where).toBe('workers')
  const most = session.zeros([8]).buffer({ flushes: 4, combine: (a: number, b: number) => (a > b ? a : b) })
  const joined = session.loop(session.range(n), { most }, ([i], { most }) => {
    let x = 0
    for (let k = 0; k < 1000; k++) x += Math.sqrt(i + k)
    most.add(i % 8, x)
  })
  await joined.run()
  expect(joined.plan.execution.where).toBe('workers')
  const light = session.loop(session.range(n), { w: w.buffer({ flushes: 1000 }) }, ([i], { w }) => {
    w.add(i % 8, 1)
  })
  await light.run()
  expect(light.plan.execution.because).toBe('A round of 20 iterations between two flushes is less than waking the workers is worth.')
  const y = session.zeros([n])
  const chain = session.loop(session.range(1, n), { y, w: w.buffer({ flushes: 4 }) }, ([, i], { y, w }) => {
    if (i > 0) y.set(i, y.get(i - 1) + w.get(i % 8))
    w.add(i % 8, 1)
  })
  await chain.run()
  expect(chain.plan.execution.because).toBe(
    'An update buffer is flushed 4 times in a pass, and iterations of a serial schedule wait for one another: they run in serial order.',
  )
})

test('what a failed pass flushed is lost with it', async () => {
  const w = session.zeros([4])
  const loop = session.loop(session.range(100), { w: w.buffer({ flushes: 10 }) }, ([i], { w }) => {
    if (i === 55) throw new Error('no')
    w.add(i % 4, 1)
  })
  await expect(loop.run()).rejects.toBeInstanceOf(TaskError)
  await expect(w.toTypedArray()).rejects.toThrow(
    'zeros([4]) was being written by a loop that failed (The body of the loop over range(100) threw at key [55]: no), and holds a part of that pass.',
  )
  const v = session.zeros([4])
  const atomic = session.loop(
    session.range(100),
    { v: v.buffer({ flushes: 10 }) },
    ([i], { v }) => {
      if (i === 55) throw new Error('no')
      v.add(i % 4, 1)
    },
    { atomic: true },
  )
  await expect(atomic.run()).rejects.toBeInstanceOf(TaskError)
  expect([...(await v.toTypedArray())]).toEqual([0, 0, 0, 0])
})
