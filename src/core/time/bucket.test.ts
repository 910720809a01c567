import { expect, test } from 'vitest'
import { PlanError } from '../errors.ts'
import { bucket } from './bucket.ts'
import type { Every } from './every.ts'

const iso = (time: string, every: Every, zone?: string): string =>
  bucket(new Date(time), { every, ...(zone === undefined ? {} : { zone }) })
    .toISOString()
    .replace('.000Z', 'Z')
const message = (f: () => unknown): string => {
  try {
    f()
  } catch (error) {
    if (error instanceof PlanError) return error.message
    throw error
  }
  return 'no error'
}

test('buckets in UTC', () => {
  const time = '2024-05-17T13:47:11.987Z'
  expect(iso(time, '250 milliseconds')).toBe('2024-05-17T13:47:11.750Z')
  expect(iso(time, '15 minutes')).toBe('2024-05-17T13:45:00Z')
  expect(iso(time, '1 day')).toBe('2024-05-17T00:00:00Z')
  expect(iso(time, '1 week')).toBe('2024-05-13T00:00:00Z') // a Monday
  expect(iso(time, '2 months')).toBe('2024-05-01T00:00:00Z')
  expect(iso(time, '1 quarter')).toBe('2024-04-01T00:00:00Z')
  expect(iso(time, '10 years')).toBe('2020-01-01T00:00:00Z')
  expect(iso('1969-12-31T23:59:59.999Z', '1 year')).toBe('1969-01-01T00:00:00Z')
  expect(bucket(null, { every: '1 day' })).toBe(null)
  expect(bucket(undefined, { every: '1 day' })).toBe(null)
  expect(bucket(new Date(Number.NaN), { every: '1 month', zone: 'Europe/Berlin' }).getTime()).toBeNaN()
  expect(bucket(new Date(-8.64e15), { every: '1 week' }).getTime()).toBeNaN() // its Monday is no Date
})

test('days in a zone begin at midnight, or where the clock jumps over it', () => {
  expect(iso('2024-03-31T12:00Z', '1 day', 'Europe/Berlin')).toBe('2024-03-30T23:00:00Z')
  expect(iso('2024-03-31T22:00Z', '1 day', 'Europe/Berlin')).toBe('2024-03-31T22:00:00Z') // after 23 hours
  expect(iso('2018-11-04T12:00Z', '1 day', 'America/Sao_Paulo')).toBe('2018-11-04T03:00:00Z') // 1 o'clock
  expect(iso('2024-11-03T05:30Z', '1 day', 'America/Havana')).toBe('2024-11-03T04:00:00Z') // the second half past midnight of two
  expect(iso('2024-08-15T00:00Z', '1 quarter', 'Asia/Kolkata')).toBe('2024-06-30T18:30:00Z')
})

test('hours in a zone begin where its clock shows them', () => {
  expect(iso('2024-10-27T00:30Z', '1 hour', 'Europe/Berlin')).toBe('2024-10-27T00:00:00Z') // half past two
  expect(iso('2024-10-27T01:30Z', '1 hour', 'Europe/Berlin')).toBe('2024-10-27T01:00:00Z') // half past two again
  expect(iso('2024-10-27T03:30Z', '6 hours', 'Europe/Berlin')).toBe('2024-10-26T22:00:00Z') // of 7 hours
  expect(iso('2024-03-31T01:30Z', '2 hours', 'Europe/Berlin')).toBe('2024-03-31T01:00:00Z') // from 2, which is skipped, to 4
  expect(iso('2024-05-17T13:47Z', '1 hour', 'Asia/Kathmandu')).toBe('2024-05-17T13:15:00Z')
})

test('what is no length of time, no zone and no date is said at the call', () => {
  const date = new Date(0)
  expect(message(() => bucket(date, { every: '1 fortnight' as never }))).toBe(
    'bucket() does not know the unit "fortnight" of "1 fortnight". The units are millisecond, second, minute, hour, day, week, month, quarter, year, and their plurals.',
  )
  expect(message(() => bucket(date, { every: '2 day5' as never }))).toBe(
    'bucket() does not know the unit "day5" of "2 day5". Did you mean "day"? The units are millisecond, second, minute, hour, day, week, month, quarter, year, and their plurals.',
  )
  expect(message(() => bucket(date, { every: 'daily' as never }))).toBe(
    "bucket() takes { every } as a whole number and a unit, as '15 minutes' or '1 day'; this is \"daily\".",
  )
  expect(message(() => bucket(date, { every: 5 as never }))).toBe(
    "bucket() takes { every } as a whole number and a unit, as '15 minutes' or '1 day'; this is 5.",
  )
  expect(message(() => bucket(null, { every: '0 weeks' }))).toBe(
    'bucket() cannot divide time into buckets of "0 weeks". Give one unit at least, as \'1 week\'.',
  )
  expect(message(() => bucket(date, { every: '550001 years' }))).toBe(
    'bucket() is told buckets of "550001 years", which is more time than Dates reach away from 1970.',
  )
  expect(message(() => bucket(date, { every: '1 day', zone: 'Europe/Berln' }))).toBe(
    'bucket() is told the time zone "Europe/Berln", which there is not. Did you mean "Europe/Berlin" or "Europe/Dublin" or "Europe/Jersey"? Zones have the names of the IANA database, as \'Europe/Berlin\'.',
  )
  expect(message(() => bucket(date, { every: '1 day', zone: '' }))).toBe(
    'bucket() is told the time zone "", which there is not. Zones have the names of the IANA database, as \'Europe/Berlin\'.',
  )
  expect(message(() => bucket(date, { every: '1 day', zone: 5 as never }))).toBe(
    "bucket() takes { zone } as the name of a time zone, as 'Europe/Berlin'; this is 5.",
  )
  expect(message(() => bucket('2024-01-01' as never, { every: '1 day' }))).toBe('bucket() takes a Date, or null; this is "2024-01-01".')
  expect(message(() => bucket(date, undefined as never))).toBe('bucket() takes { every, zone? } behind the date; this is undefined.')
})
