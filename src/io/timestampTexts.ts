/**
 * Texts of dates and times in ISO 8601, as CSV and JSON have them, as Dates and as counts of a unit.
 *
 * A Date holds milliseconds, and pandas, Polars, DuckDB and PostgreSQL write six digits of a second: a column of timestamps has the
 * unit that the digits of its texts need, so that none is lost.
 */
import { UNITS } from '../core/data/fixedValues.ts'
import type { ColumnType, TimeUnit } from '../core/data/schema.ts'

const TIME = /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/

/** How many digits of a second a unit holds. */
const DIGITS: { readonly [U in TimeUnit]: number } = { s: 0, ms: 3, us: 6, ns: 9 }

/** ISO dates and times, in UTC when they name no zone; undefined for others and for digits below a millisecond. */
export function dateOfText(text: string): Date | undefined {
  const time = timeOf(text)
  return time === undefined || hasDigits(time.fraction, 3) ? undefined : time.date
}

/** The count of a unit that a text tells, undefined where it tells none, or has digits that the unit does not hold. */
export function timestampOfText(text: string, unit: TimeUnit): bigint | undefined {
  const time = timeOf(text)
  if (time === undefined || hasDigits(time.fraction, DIGITS[unit])) return undefined
  const { ms, perMs } = UNITS[unit]
  const finer = BigInt(time.fraction.slice(3, DIGITS[unit]).padEnd(Math.max(DIGITS[unit] - 3, 1), '0'))
  const count = (BigInt(time.date.getTime()) * perMs) / ms + finer
  return BigInt.asIntN(64, count) === count ? count : undefined
}

/** The digits of a second that a text has, as they are written; 0 of a text that tells no time. */
export function digitsOfText(text: string): number {
  return TIME.exec(text.trim())?.[7]?.length ?? 0
}

/** The type of a column of times whose texts have so many digits of a second: at least milliseconds, which a Date has. */
export function timestampOfDigits(digits: number): ColumnType {
  return { kind: 'timestamp', unit: digits <= 3 ? 'ms' : digits <= 6 ? 'us' : 'ns' }
}

/** The type that would hold a text which a column of timestamps does not, as a word of `{ types }`; undefined where none does. */
export function finerTimestamp(text: string): string | undefined {
  const unit = (['us', 'ns'] as const).find((one) => timestampOfText(text.trim(), one) !== undefined)
  return unit === undefined ? undefined : `timestamp(${unit})`
}

const hasDigits = (fraction: string, behind: number): boolean => /[1-9]/.test(fraction.slice(behind))

function timeOf(text: string): { readonly date: Date; readonly fraction: string } | undefined {
  const parts = TIME.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zone = 'Z'] = parts
  const offset = zone === 'Z' || zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`)
  if (Number.isNaN(date.getTime())) return undefined
  // JavaScript takes 30 February for 1 or 2 March.
  const lastOfMonth = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate()
  return Number(day) <= lastOfMonth ? { date, fraction } : undefined
}
