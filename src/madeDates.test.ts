/** Dates that functions of rows make, from one end to the other: what they are, where they run, and what invalid ones do. */
import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, memory: 2 ** 27 })
afterAll(() => session.stop())

const DAY = 86_400_000
const COUNT = 40_000
const events = await session
  .fromColumns({
    ms: Float64Array.from({ length: COUNT }, (_, i) => i * 4_000_000 - 10 * DAY),
    n: Float64Array.from({ length: COUNT }, (_, i) => i % 7),
  })
  .materialize()

test('they are keys of groups, columns and elements, in kernels over columns', async () => {
  const days = events.groupBy((e) => new Date(Math.floor(e.ms / 86_400_000) * 86_400_000)).count()
  expect(await days.take(3)).toEqual([
    { key: new Date(-10 * DAY), count: 22 },
    { key: new Date(-9 * DAY), count: 22 },
    { key: new Date(-8 * DAY), count: 21 },
  ])
  expect(await days.explain({ analyze: true })).toMatch(/EvaluateExec \[.*\]: 40,000 -> 40,000 rows, .*; SIMD over columns\n/)

  const months = events.withColumns((e) => ({ month: new Date(Date.UTC(new Date(e.ms).getUTCFullYear(), new Date(e.ms).getUTCMonth())) }))
  expect(await months.limit(1, { offset: 30_000 }).collect()).toEqual([{ ms: 119_136_000_000, n: 5, month: new Date('1973-10-01') }])
  expect(await months.filter((e) => e.month > new Date(e.ms)).count()).toBe(0)

  const [from, to] = [new Date(0), null]
  expect(await events.map((e) => (e.n > 0 ? from : to)).take(2)).toEqual([null, new Date(0)])
})

test('an invalid one that is stored is an error of its row, read later or not', async () => {
  const wrong = events.map((e) => ({ at: new Date(e.ms + (e.n === 6 ? 9e15 : 0)), n: e.n }))
  const message = 'PlanError: Column "at" is timestamp(ms), and the value an invalid Date at row 6 does not fit it.'
  await expect(wrong.collect()).rejects.toThrow(message.slice('PlanError: '.length))
  expect(
    await wrong
      .map((e) => e.n)
      .collect()
      .then(String, String),
  ).toBe(message)
  expect(
    await wrong
      .map((e) => e.n)
      .sum()
      .then(String, String),
  ).toBe(message)
  expect(await wrong.count().then(String, String)).toBe(message)
  // rows that a filter leaves out make none
  expect(
    await events
      .filter((e) => e.n !== 6)
      .map((e) => new Date(e.n === 6 ? Number.NaN : e.ms))
      .count(),
  ).toBe(Math.ceil((COUNT * 6) / 7))
  // compared, it is no number
  expect(await events.filter((e) => new Date(e.n === 6 ? Number.NaN : 1) >= new Date(0)).count()).toBe(Math.ceil((COUNT * 6) / 7))
})
