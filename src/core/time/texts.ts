/**
 * Times as texts of a format, and back, in UTC or by the clock of a time zone; and lengths of time in words.
 *
 *     parseTime('17.05.2024 13:47', '%d.%m.%Y %H:%M', { zone: 'Europe/Berlin' })     2024-05-17T11:47Z
 *     formatTime(date, '%d.%m.%Y', { zone: 'Europe/Berlin' })                        '17.05.2024'
 *     duration('1 hour 30 minutes')                                                  5400000
 */

import { MS_PER_DAY } from '../data/fixedValues.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { dayOf, dayOfMonth, monthOfDay } from './civil.ts'
import { unitNamed, unitsText } from './every.ts'
import { type Directive, MONTHS, timeFormat } from './format.ts'
import { type Zone, zoneNamed } from './zone.ts'

export interface TimeOptions {
  /** The time zone whose clock the text tells, by its name, as 'Europe/Berlin'; UTC unless given. */
  readonly zone?: string
}

/**
 * The time that a text tells; null of null, and of a text that does not fit the format or tells no time, as the 30th of February.
 * Parts that the format lacks are those of 1970-01-01 at midnight. Throws PlanError for directives and zones that do not exist.
 */
export function parseTime(text: string | null | undefined, format: string, options: TimeOptions = {}): Date | null {
  return parsedTime(text, format, zoneOf(options, 'parseTime()'))
}

/** Writes a time by the format; null of null, and 'Invalid Date' of an invalid one. Throws PlanError for directives and zones that do not exist. */
export function formatTime<D extends Date | null | undefined>(
  date: D,
  format: string,
  options: TimeOptions = {},
): D extends Date ? string : null {
  return formattedTime(date, format, zoneOf(options, 'formatTime()')) as D extends Date ? string : null // formattedTime gives null only of null and undefined
}

function zoneOf(options: unknown, caller: string): unknown {
  if (typeof options !== 'object' || options === null)
    throw new PlanError(`${caller} takes { zone? } behind the format; this is ${valueText(options)}.`)
  return (options as TimeOptions).zone
}

/** Milliseconds of a length in words, as '1 hour 30 minutes' or '1.5 days'; a day has 24 hours. Throws PlanError for anything else. */
export function duration(text: string): number {
  if (typeof text !== 'string' || !/^\s*\d+(\.\d+)? +\w+(,? +\d+(\.\d+)? +\w+)*\s*$/.test(text))
    throw new PlanError(`duration() takes numbers and units, as '1 hour 30 minutes'; this is ${valueText(text)}.`)
  let sum = 0
  for (const [, count, name = ''] of text.matchAll(/([\d.]+) +(\w+)/g)) {
    const unit = unitNamed(name)
    if (unit === undefined) throw new PlanError(`duration() does not know the unit "${name}" of ${valueText(text)}. ${unitsText(name)}`)
    if (unit.kind === 'months')
      throw new PlanError(
        `duration() cannot say how long "${count} ${name}" of ${valueText(text)} is: months differ. Use days, or bucket() for months of the calendar.`,
      )
    sum += Number(count) * unit.count
  }
  return sum
}

/** `parseTime` with its options one by one. */
export function parsedTime(text: unknown, format: unknown, zone?: unknown): Date | null {
  const { reads, letters } = timeFormat(format, 'parseTime()')
  const clock = zoneNamed(zone, 'parseTime()')
  if (text === null || text === undefined) return null
  if (typeof text !== 'string') throw new PlanError(`parseTime() takes a text, or null; this is ${valueText(text)}.`)
  const found = reads?.exec(text)
  if (found === null || found === undefined) return null
  const said = new Map(letters.map((letter, i) => [letter, found[i + 1] as string])) // a group for each
  const civil = civilTime(said)
  if (civil === undefined) return null
  const offset = said.get('z')
  if (offset !== undefined) return dateOf(civil, offsetOf(offset))
  return clock === undefined ? new Date(civil) : new Date(clock.instantOf(civil))
}

function dateOf(civil: number, ahead: number | undefined): Date | null {
  return ahead === undefined ? null : new Date(civil - ahead)
}

/** The milliseconds of the time that the directives' texts tell, taken as UTC; undefined where there is no such day or time. */
function civilTime(said: ReadonlyMap<string, string>): number | undefined {
  const number = (letter: string, otherwise: number): number => Number(said.get(letter) ?? otherwise)
  const short = said.get('y')
  const year = short === undefined ? number('Y', 1970) : Number(short) + (Number(short) < 69 ? 2000 : 1900)
  const name = said.get('b') ?? said.get('B')
  const month =
    name === undefined ? number('m', 1) : 1 + MONTHS.findIndex((one) => one.slice(0, 3).toLowerCase() === name.slice(0, 3).toLowerCase())
  const first = dayOfMonth(12 * year + (said.has('j') ? 0 : month - 1))
  const next = dayOfMonth(12 * year + (said.has('j') ? 12 : month))
  const day = first - 1 + (said.has('j') ? number('j', 1) : number('d', 1))
  const [hour, minute, second] = [number('H', 0), number('M', 0), number('S', 0)]
  if (month < 1 || month > 12 || day < first || day >= next || hour > 23 || minute > 59 || second > 59) return undefined
  // digits beyond milliseconds are dropped
  const ms = Number((said.get('L') ?? said.get('f') ?? '').padEnd(3, '0').slice(0, 3))
  return day * MS_PER_DAY + hour * 3_600_000 + minute * 60_000 + second * 1000 + ms
}

/** The milliseconds of the offset `Z`, `+0200` or `+02:00`; undefined for more than 23 hours or 59 minutes. */
function offsetOf(text: string): number | undefined {
  if (text === 'Z') return 0
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(-2))]
  return hours > 23 || minutes > 59 ? undefined : (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** `formatTime` with its options one by one. */
export function formattedTime(date: unknown, format: unknown, zone?: unknown): string | null {
  const { pieces } = timeFormat(format, 'formatTime()')
  const clock = zoneNamed(zone, 'formatTime()')
  if (date === null || date === undefined) return null
  if (!(date instanceof Date)) throw new PlanError(`formatTime() takes a Date, or null; this is ${valueText(date)}.`)
  const time = date.getTime()
  if (Number.isNaN(time)) return 'Invalid Date'
  const shown = shownTime(time, clock)
  return pieces.map((piece) => (piece.kind === 'text' ? piece.text : textOf(piece.directive, shown))).join('')
}

interface ShownTime {
  readonly year: number
  /** From 0 (January) to 11. */
  readonly month: number
  /** Day of the month, from 1 on. */
  readonly day: number
  readonly dayOfYear: number
  /** Milliseconds since midnight. */
  readonly time: number
  readonly ahead: number
}

function shownTime(ms: number, clock: Zone | undefined): ShownTime {
  const ahead = clock?.at(ms).ahead ?? 0
  const days = dayOf(ms + ahead)
  const months = monthOfDay(days)
  const year = Math.floor(months / 12)
  const time = ms + ahead - days * MS_PER_DAY
  return { year, month: months - 12 * year, day: days - dayOfMonth(months) + 1, dayOfYear: days - dayOfMonth(12 * year) + 1, time, ahead }
}

function textOf({ letter }: Directive, { year, month, day, dayOfYear, time, ahead }: ShownTime): string {
  const name = MONTHS[month] as string // one of twelve
  switch (letter) {
    case 'Y':
      return `${year < 0 ? '-' : ''}${digits(Math.abs(year), 4)}`
    case 'y':
      return digits(((year % 100) + 100) % 100, 2)
    case 'm':
      return digits(month + 1, 2)
    case 'b':
      return name.slice(0, 3)
    case 'B':
      return name
    case 'd':
      return digits(day, 2)
    case 'j':
      return digits(dayOfYear, 3)
    case 'H':
      return digits(time / 3_600_000, 2)
    case 'M':
      return digits((time / 60_000) % 60, 2)
    case 'S':
      return digits((time / 1000) % 60, 2)
    case 'L':
      return digits(time % 1000, 3)
    case 'f':
      return `${digits(time % 1000, 3)}000`
    default: {
      // 'z'; the offsets of old clocks have seconds, which are dropped
      const minutes = Math.floor(Math.abs(ahead) / 60_000)
      return `${ahead < 0 ? '-' : '+'}${digits(minutes / 60, 2)}${digits(minutes % 60, 2)}`
    }
  }
}

function digits(value: number, count: number): string {
  return String(Math.floor(value)).padStart(count, '0')
}
