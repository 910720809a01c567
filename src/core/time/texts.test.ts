import { expect, test } from 'vitest'
import { PlanError } from '../errors.ts'
import { duration, formatTime, parseTime } from './texts.ts'

const message = (f: () => unknown): string => {
  try {
    f()
  } catch (error) {
    if (error instanceof PlanError) return error.message
    throw error
  }
  return 'no error'
}

test('every directive, written and read', () => {
  const date = new Date('2024-05-07T03:04:05.067Z')
  expect(formatTime(date, '%Y %y %m %b %B %d %j %H %M %S %L %f %z %%')).toBe('2024 24 05 May May 07 128 03 04 05 067 067000 +0000 %')
  expect(formatTime(date, '%H:%M %z', { zone: 'America/St_Johns' })).toBe('00:34 -0230')
  expect(formatTime(new Date(-8.64e15), '%Y-%m-%d')).toBe('-271821-04-20')
  expect(formatTime(new Date('0099-01-01'), '%Y %y')).toBe('0099 99')
  expect(formatTime(new Date(Number.NaN), '%Y')).toBe('Invalid Date')
  expect(formatTime(null, '%Y')).toBe(null)
  expect(parseTime('7 MAY 24, 3:04:05.067999 Z', '%d %b %y, %H:%M:%S.%f %z')).toEqual(date)
  expect(parseTime('128/2024', '%j/%Y')).toEqual(new Date('2024-05-07'))
  expect(parseTime('00:34 -02:30', '%H:%M %z', { zone: 'Asia/Kolkata' })).toEqual(new Date('1970-01-01T03:04Z'))
  expect(parseTime('24%', '%y%%')).toEqual(new Date('2024-01-01'))
  expect(parseTime(null, '%Y')).toBe(null)
})

test('the clock of a zone: the first of two instants, and behind a jump', () => {
  const zone = 'Europe/Berlin'
  expect(parseTime('2024-05-17 13:47', '%Y-%m-%d %H:%M', { zone })).toEqual(new Date('2024-05-17T11:47Z'))
  expect(parseTime('2024-10-27 02:30', '%Y-%m-%d %H:%M', { zone })).toEqual(new Date('2024-10-27T00:30Z'))
  expect(parseTime('2024-03-31 02:30', '%Y-%m-%d %H:%M', { zone })).toEqual(new Date('2024-03-31T01:30Z')) // half past three
})

test('texts that do not fit give null', () => {
  expect(['2024-02-29', '2024-2-9'].map((text) => parseTime(text, '%Y-%m-%d')?.getUTCDate())).toEqual([29, 9])
  const wrong = [
    '2023-02-29',
    '2024-13-01',
    '2024-00-01',
    '2024-01-00',
    '24-01-01',
    '2024-01-01 ',
    ' 2024-01-01',
    '2024/01/01',
    '',
    '2024-01-011',
  ]
  expect(wrong.filter((text) => parseTime(text, '%Y-%m-%d') !== null)).toEqual([])
  expect(parseTime('2024x01', '%Y.%m')).toBe(null)
  expect(parseTime('24:00', '%H:%M')).toBe(null)
  expect(parseTime('10:00 +2400', '%H:%M %z')).toBe(null)
  expect(parseTime('366/2023', '%j/%Y')).toBe(null)
})

test('formats and zones that there are not are said at the call', () => {
  expect(message(() => parseTime(null, '%Y-%q'))).toBe(
    'parseTime() does not know the directive %q of "%Y-%q". There are %Y %y %m %b %B %d %j %H %M %S %L %f %z, and %% for a percent sign.',
  )
  expect(message(() => formatTime(new Date(0), '100%'))).toBe(
    'formatTime() does not know a % at the end of "100%". There are %Y %y %m %b %B %d %j %H %M %S %L %f %z, and %% for a percent sign.',
  )
  const none = (caller: string, format: string) =>
    `${caller}() finds no directive in "${format}", so that it tells nothing of a time. Directives begin with %, as in '%Y-%m-%d %H:%M'.`
  expect(message(() => parseTime('2024-05-17', 'YYYY-MM-DD'))).toBe(none('parseTime', 'YYYY-MM-DD'))
  expect(message(() => formatTime(new Date(0), '100%%'))).toBe(none('formatTime', '100%%'))
  expect(message(() => parseTime('x', '%Y/%y'))).toBe('parseTime() is told the year twice by "%Y/%y": %Y and %y. Leave one of them out.')
  expect(message(() => parseTime('x', '%j %m'))).toBe('parseTime() is told the month twice by "%j %m": %j and %m. Leave one of them out.')
  expect(message(() => parseTime('x', 5 as never))).toBe("parseTime() takes a format as '%Y-%m-%d' behind the text; this is 5.")
  expect(message(() => formatTime(new Date(0), undefined as never))).toBe(
    "formatTime() takes a format as '%Y-%m-%d' behind the date; this is undefined.",
  )
  expect(message(() => parseTime('x', '%Y', { zone: 'Asia/Calcuta' }))).toBe(
    'parseTime() is told the time zone "Asia/Calcuta", which there is not. Did you mean "Asia/Calcutta" or "Asia/Chita" or "Asia/Jakarta"? Zones have the names of the IANA database, as \'Europe/Berlin\'.',
  )
  expect(message(() => formatTime(new Date(0), '%Y', 'UTC' as never))).toBe(
    'formatTime() takes { zone? } behind the format; this is "UTC".',
  )
  expect(message(() => parseTime(5 as never, '%Y'))).toBe('parseTime() takes a text, or null; this is 5.')
  expect(message(() => formatTime('x' as never, '%Y'))).toBe('formatTime() takes a Date, or null; this is "x".')
})

test('lengths of time in words', () => {
  expect(duration('1 hour 30 minutes')).toBe(5_400_000)
  expect(duration('1.5 days, 250 milliseconds')).toBe(129_600_250)
  expect(duration('2 weeks')).toBe(14 * 86_400_000)
  expect(message(() => duration('soon'))).toBe('duration() takes numbers and units, as \'1 hour 30 minutes\'; this is "soon".')
  expect(message(() => duration(5 as never))).toBe("duration() takes numbers and units, as '1 hour 30 minutes'; this is 5.")
  expect(message(() => duration('3 minuets'))).toBe(
    'duration() does not know the unit "minuets" of "3 minuets". Did you mean "minutes"? The units are millisecond, second, minute, hour, day, week, month, quarter, year, and their plurals.',
  )
  expect(message(() => duration('2 months'))).toBe(
    'duration() cannot say how long "2 months" of "2 months" is: months differ. Use days, or bucket() for months of the calendar.',
  )
})
