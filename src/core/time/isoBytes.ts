/**
 * Reads a time off the UTF-8 bytes of a text, in the forms of ISO 8601 that no time zone changes and that `Date.parse` takes as they are:
 *
 *     2024-05-06                    a day, which is a day in UTC
 *     2024-05-06T07:08Z             a time with its offset; seconds, and up to nine digits of them, of which it keeps three
 *     2024-05-06T07:08:09.123+02:00
 */
import { MS_PER_DAY } from '../data/fixedValues.ts'
import { dayOfMonth } from './civil.ts'

const [ZERO, MINUS, PLUS, COLON, DOT, T, Z] = [48, 45, 43, 58, 46, 84, 90]
const MS_PER_MINUTE = 60_000
const [DAY_LENGTH, SHORTEST_TIME, MOST_DIGITS] = [10, 17, 9]

/** Milliseconds since 1970, as `Date.parse` gives them; NaN for every other text, of which that may know more. */
export function isoTime(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from
  if (length !== DAY_LENGTH && length < SHORTEST_TIME) return Number.NaN
  const year = 100 * two(bytes, from) + two(bytes, from + 2)
  const month = two(bytes, from + 5)
  const day = two(bytes, from + 8)
  if (bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS || !(month >= 1 && month <= 12 && day >= 1)) return Number.NaN
  const first = dayOfMonth(12 * year + month - 1)
  if (day > 28 && first + day > dayOfMonth(12 * year + month)) return Number.NaN
  const start = (first + day - 1) * MS_PER_DAY
  return length === DAY_LENGTH ? start : start + clock(bytes, from + DAY_LENGTH, to)
}

/** The time of day of `T07:08:09.123+02:00`, less its offset, in milliseconds. */
function clock(bytes: Uint8Array, from: number, to: number): number {
  const hour = two(bytes, from + 1)
  const minute = two(bytes, from + 4)
  if (bytes[from] !== T || bytes[from + 3] !== COLON || !(hour < 24 && minute < 60)) return Number.NaN
  let ms = (60 * hour + minute) * MS_PER_MINUTE
  let at = from + 6
  if (bytes[at] === COLON) {
    const second = two(bytes, at + 1)
    if (!(second < 60)) return Number.NaN
    ms += 1000 * second
    at += 3
    if (bytes[at] === DOT) {
      const end = digitsEnd(bytes, at + 1)
      if (end === at + 1 || end > at + 1 + MOST_DIGITS) return Number.NaN
      for (let digit = at + 1, scale = 100; digit < end && scale >= 1; digit++, scale /= 10) ms += scale * ((bytes[digit] as number) - ZERO)
      at = end
    }
  }
  if (bytes[at] === Z) return at + 1 === to ? ms : Number.NaN
  const [hours, minutes] = [two(bytes, at + 1), two(bytes, at + 4)]
  if (at + 6 !== to || bytes[at + 3] !== COLON || !(hours < 24 && minutes < 60)) return Number.NaN
  const offset = (60 * hours + minutes) * MS_PER_MINUTE
  return bytes[at] === PLUS ? ms - offset : bytes[at] === MINUS ? ms + offset : Number.NaN
}

/** The number of two digits; NaN where one is none, or lies behind the bytes. */
function two(bytes: Uint8Array, at: number): number {
  const high = (bytes[at] as number) - ZERO
  const low = (bytes[at + 1] as number) - ZERO
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? 10 * high + low : Number.NaN
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= ZERO + 9) at++
  return at
}
