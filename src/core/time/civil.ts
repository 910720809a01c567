/**
 * The civil calendar, by Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": days since 1970 and dates. Months count
 * from January of the year 0, so that a year and a month are one number.
 */
import { MS_PER_DAY } from '../data/fixedValues.ts'

/** The month that a day is in; days count from 1970-01-01, months from January of the year 0. */
export function monthOfDay(day: number): number {
  const fromMarch = day + 719_468
  const era = Math.floor(fromMarch / 146_097)
  const dayOfEra = fromMarch - era * 146_097
  const leaps = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  return 12 * (era * 400 + yearOfEra) + Math.floor((5 * dayOfYear + 2) / 153) + 2
}

/** The first day of a month. */
export function dayOfMonth(month: number): number {
  const fromMarch = month - 2
  const year = Math.floor(fromMarch / 12)
  const era = Math.floor(year / 400)
  const yearOfEra = year - era * 400
  const dayOfYear = Math.floor((153 * (fromMarch - 12 * year) + 2) / 5)
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

/** The day that a time lies in, of milliseconds since 1970. */
export function dayOf(ms: number): number {
  return Math.floor(ms / MS_PER_DAY)
}
