/** Functions of time in functions of rows: where they run, and what is said of wrong ones. */
import { afterAll, expect, test } from 'vitest'
import { bucket, count, duration, formatTime, min, PlanError, parseTime, Session } from './index.ts'

const session = await Session.start({ workers: 2, memory: 2 ** 27 })
afterAll(() => session.stop())

const COUNT = 40_000
const HOUR = 3_600_000
const times = Array.from({ length: COUNT }, (_, i) => new Date(Date.UTC(2024, 0) + (i * HOUR) / 4))
const events = await session
  .fromColumns({ at: times, late: times.map((time, i) => (i % 5 === 0 ? null : time)), n: times.map((_, i) => i) })
  .materialize()

test('buckets are keys, columns and elements, in UTC in kernels, in zones by look-ups', async () => {
  const months = events.groupBy((e) => bucket(e.at, { every: '1 month' })).count()
  expect(await months.take(2)).toEqual([
    { key: new Date('2024-01-01'), count: 31 * 24 * 4 },
    { key: new Date('2024-02-01'), count: 29 * 24 * 4 },
  ])
  expect(await months.explain({ analyze: true })).toMatch(/EvaluateExec .*; SIMD over columns\n/)

  const zone = 'Europe/Berlin'
  const days = events.withColumns((e) => ({ day: bucket(e.late, { every: '1 day', zone }) }))
  expect(
    await days
      .limit(3, { offset: 3 })
      .map((e) => e.day)
      .collect(),
  ).toEqual([new Date('2023-12-31T23:00Z'), new Date('2024-01-01T23:00Z')].flatMap((day, i) => (i === 0 ? [day, day, null] : [])))
  expect(await days.explain({ analyze: true })).toContain('; SIMD over columns, time zones a row at a time in JavaScript\n')
  expect(await days.explain({ verbose: true })).toContain(
    'WebAssembly over columns, because time zones are looked up in JavaScript, a row at a time\n',
  )
  const groups = await days
    .filter((e) => e.day !== null)
    .groupBy((e) => e.day)
    .count()
    .collect()
  // four fifths of 96 quarters of hours, but for the first day and those on which clocks are set
  const odd = groups.slice(0, -1).filter(({ count }) => count < 76 || count > 77)
  expect(odd.map(({ key, count }) => `${key?.toISOString()} ${count}`)).toEqual([
    '2023-12-31T23:00:00.000Z 73',
    '2024-03-30T23:00:00.000Z 74',
    '2024-10-26T22:00:00.000Z 80',
  ])
})

test('captured options are those of the action, in copies of functions as well', async () => {
  const options = { every: '1 hour', zone: 'Asia/Kathmandu' } as const
  expect(
    await events
      .limit(1)
      .map((e) => bucket(e.at, options))
      .collect(),
  ).toEqual([new Date('2023-12-31T23:15Z')])
  let every: '1 day' | '1 year' = '1 day'
  const starts = events
    .filter((e) => e.n > 200)
    .limit(1)
    .map((e) => bucket(e.at, { every }))
  expect(await starts.collect()).toEqual([new Date('2024-01-03')])
  every = '1 year'
  expect(await starts.collect()).toEqual([new Date('2024-01-01')])
  const caught = events.limit(1).map((e) => {
    try {
      return bucket(e.at, options)
    } catch {
      return null
    }
  })
  expect(await caught.collect()).toEqual([new Date('2023-12-31T23:15Z')])
  expect(await caught.explain()).toContain('a copy in the workers')
})

test('what makes no sense is said where the function is given, with its place', async () => {
  const failure = (f: () => unknown): PlanError => {
    try {
      f()
    } catch (error) {
      if (error instanceof PlanError) return error
    }
    throw new Error('no PlanError')
  }
  const zone = failure(() => events.map((e) => bucket(e.at, { every: '1 day', zone: 'Europe/Berln' })))
  const [said, place] = zone.message.split('\n  ')
  expect(said).toBe(
    'bucket() is told the time zone "Europe/Berln", which there is not. Did you mean "Europe/Berlin" or "Europe/Dublin" or "Europe/Jersey"? Zones have the names of the IANA database, as \'Europe/Berlin\'.',
  )
  expect(place).toMatch(/^\S*\d+:\d+ {2}.*bucket\)?\(e\.at, \{ every: "1 day", zone: "Europe\/Berln" \}\)$/)
  expect(zone.span?.text).toContain('Europe/Berln')
  // one that only a row tells
  const rows = session.fromRows([{ at: new Date(0), every: '1 dax' as '1 day' }])
  await expect(rows.map((r) => bucket(r.at, { every: r.every })).collect()).rejects.toThrow(
    'bucket() does not know the unit "dax" of "1 dax"',
  )
})

test('texts are times, once for each of them, and times texts', async () => {
  const zone = 'Europe/Berlin'
  const texts = times.map((_, i) => (i % 11 === 0 ? null : i % 100 === 7 ? 'n/a' : `${1 + (i % 28)}.${1 + (i % 12)}.2024`))
  const rows = await session.fromColumns({ text: texts }).materialize()
  const read = rows.map((r) => ({ day: parseTime(r.text, '%d.%m.%Y', { zone }) }))
  expect(await read.limit(3, { offset: 6 }).collect()).toEqual([
    { day: new Date('2024-07-06T22:00Z') },
    { day: null },
    { day: new Date('2024-09-08T22:00Z') },
  ])
  expect(await read.collect()).toEqual(texts.map((text) => ({ day: parseTime(text, '%d.%m.%Y', { zone }) })))
  expect(await read.explain()).toContain('computed once for each of the values, as long as they are few')
  expect(await read.explain({ analyze: true })).toContain('; once for each value of a column\n')
  const months = read
    .filter((r) => r.day !== null)
    .groupBy((r) => bucket(r.day, { every: '1 month', zone }))
    .count()
  expect((await months.collect()).length).toBe(12)

  const late = duration('2 weeks')
  const after = events.filter((e) => e.at.getTime() - new Date('2024-01-01').getTime() > duration('1 day') + late).limit(1)
  expect(await after.map((e) => formatTime(e.at, '%d %b %H:%M', { zone })).collect()).toEqual(['16 Jan 01:15'])
  expect(
    await events
      .limit(2)
      .map((e) => formatTime(e.late, '%j'))
      .collect(),
  ).toEqual([null, '001'])
  const lengths = session.fromRows([{ text: '90 minutes' }, { text: '1 day' }])
  expect(await lengths.map((r) => duration(r.text)).collect()).toEqual([5_400_000, 86_400_000])
})

test('formats that there are not are said where the function is given', () => {
  const rows = session.fromRows([{ text: '2024' as string | null }])
  expect(() => rows.map((r) => parseTime(r.text, '%Q'))).toThrow('parseTime() does not know the directive %Q of "%Q".')
  expect(() => rows.filter(() => duration('1 our') > 5)).toThrow('duration() does not know the unit "our" of "1 our". Did you mean "hour"?')
})

test('buckets order, join, and are folded, as Dates of JavaScript are', async () => {
  const day = (date: Date) => bucket(date, { every: '1 day', zone: 'America/New_York' })
  const base = { every: '1 week' } as const
  const few = events.filter((e) => e.n % 977 === 0)
  const rows = times.flatMap((at, n) => (n % 977 === 0 ? [{ at, n }] : []))
  const sorted = few.sortBy([{ by: (e) => day(e.at), order: 'descending' }, { by: (e) => -e.n }]).map((e) => e.n)
  expect(await sorted.collect()).toEqual([...rows].sort((a, b) => day(b.at).getTime() - day(a.at).getTime() || b.n - a.n).map(({ n }) => n))
  const weeks = few.groupBy((e) => bucket(e.at, { ...base, zone: 'Asia/Tokyo' })).agg({ first: min((e) => day(e.at)), n: count() })
  expect((await weeks.take(1))[0]).toEqual({ key: new Date('2023-12-31T15:00Z'), first: new Date('2023-12-31T05:00Z'), n: 1 })
  const calendar = session.fromRows([{ day: new Date('2024-01-01T05:00Z'), name: 'Monday' }])
  const joined = events.join(calendar, { left: (e) => day(e.at), right: (c) => c.day })
  expect(await joined.count()).toBe(96)
  expect(await events.distinct({ by: (e) => bucket(e.late, { every: '100 days' }) }).count()).toBe(6)
  const named = events.limit(1).map((e, _, { zone }) => formatTime(e.at, '%H', { zone }), { env: { zone: 'Asia/Tokyo' } })
  expect(await named.collect()).toEqual(['09'])
})
