/** Dates and times as ISO 8601 texts in UTC, with the digits of their unit. */
import type { TimeUnit } from '../core/data/schema.ts'

/** Digits of a fraction of a second, by unit. */
export const DIGITS = { s: 0, ms: 3, us: 6, ns: 9 } as const
const PER_SECOND = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n } as const

/** `2024-05-06T07:08:09.123456Z`; beyond the years of a Date, the year has as many digits as it takes. */
export function timestampText(stored: bigint, unit: TimeUnit): string {
  const perDay = 86_400n * PER_SECOND[unit]
  const clock = ((stored % perDay) + perDay) % perDay
  return `${dateText((stored - clock) / perDay)}T${clockText(clock, unit)}Z`
}

export function dayText(days: number): string {
  return dateText(BigInt(days))
}

export function clockText(stored: bigint, unit: TimeUnit): string {
  const perSecond = PER_SECOND[unit]
  const seconds = Number(stored / perSecond)
  const two = (n: number) => String(n).padStart(2, '0')
  const fraction = unit === 's' ? '' : `.${String(stored % perSecond).padStart(DIGITS[unit], '0')}`
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}${fraction}`
}

/** The Gregorian date of a day number; 400 years have 146,097 days. */
function dateText(days: bigint): string {
  const ERA_DAYS = 146_097n
  const inEra = ((days % ERA_DAYS) + ERA_DAYS) % ERA_DAYS
  const date = new Date(Number(inEra) * 86_400_000)
  const year = Number((days - inEra) / ERA_DAYS) * 400 + date.getUTCFullYear()
  const yearText =
    year >= 0 && year <= 9999 ? String(year).padStart(4, '0') : `${year < 0 ? '-' : '+'}${String(Math.abs(year)).padStart(6, '0')}`
  return `${yearText}${date.toISOString().slice(4, 10)}`
}
