/**
 * Values as the bytes of text that CSV and NDJSON have, numbers and times without a string for each, where their form is known from their bits.
 *
 * Whole numbers are all of their digits, below 10^21. A double that is a whole number of hundredths (or of ten-thousandths) with at most 15
 * digits is written as that: no other decimal of 15 digits is nearer to it, and so it is what `String` finds. Those of
 * most other doubles `csvDoubles.ts` finds, and `String` those of the rest.
 */
import type { Column } from '../core/data/column.ts'
import { LARGEST_WHOLE } from '../core/data/fixedValues.ts'
import type { TimeUnit } from '../core/data/schema.ts'
import { type DoubleDigits, doubleDigits, POWERS } from './csv/csvDoubles.ts'
import type { Lent } from './lent.ts'
import { clockText, DIGITS, dayText, timestampText } from './timeTexts.ts'

const POINT = 46
const MINUS = 45
const ZERO = 48

/** Bytes of text that grow, in memory that is lent. */
export class Output {
  bytes: Uint8Array
  used = 0
  private readonly lent: Lent

  constructor(room: number, lent: Lent) {
    this.bytes = lent.newArray(Uint8Array, room)
    this.lent = lent
  }

  /** Returns the bytes so far, in memory of their own. */
  result(): Uint8Array {
    const own = this.lent.newBytes(this.used)
    own.set(this.bytes.subarray(0, this.used))
    return own
  }

  /** Makes room for so many bytes more. */
  reserve(more: number): void {
    if (this.used + more <= this.bytes.length) return
    const larger = this.lent.newArray(Uint8Array, Math.max(2 * this.bytes.length, this.used + more))
    larger.set(this.bytes.subarray(0, this.used))
    this.bytes = larger
  }

  byte(byte: number): void {
    this.reserve(1)
    this.bytes[this.used++] = byte
  }

  /** Appends a text of ASCII characters alone. */
  ascii(text: string): void {
    this.reserve(text.length)
    const { bytes, used } = this
    for (let i = 0; i < text.length; i++) bytes[used + i] = text.charCodeAt(i)
    this.used = used + text.length
  }

  text(text: string): void {
    this.reserve(3 * text.length)
    this.used += encoder.encodeInto(text, this.bytes.subarray(this.used)).written
  }

  copy(from: Uint8Array, begin: number, end: number): void {
    this.reserve(end - begin)
    const { bytes } = this
    let { used } = this
    for (let at = begin; at < end; at++) bytes[used++] = from[at] as number // at < end
    this.used = used
  }

  /** Appends the digits of a whole number from 0 to 2 ** 53, with zeros in front up to `least` of them. */
  digits(whole: number, least: number): void {
    if (whole > LARGEST_SMALL) {
      const high = Math.floor(whole / LOW_PART)
      this.digits(high, least - LOW_DIGITS)
      this.digits(whole - high * LOW_PART, LOW_DIGITS)
      return
    }
    this.reserve(20)
    let small = whole | 0
    let count = Math.max(1, least)
    while (count < SMALL_DIGITS && small >= (TENS[count] as number)) count++ // a power for each count
    const { bytes, used } = this
    for (let at = used + count - 1; at >= used; at--) {
      const tenth = (small / 10) | 0
      bytes[at] = ZERO + small - 10 * tenth
      small = tenth
    }
    this.used = used + count
  }
}

const encoder = new TextEncoder()
/** Largest integer of 32 bits. */
const LARGEST_SMALL = 2 ** 31 - 1
const SMALL_DIGITS = 10
const TENS = Int32Array.from({ length: SMALL_DIGITS }, (_, i) => 10 ** i)
/** Digits of the lower part of a larger number, which is written in two parts. */
const LOW_DIGITS = 8
const LOW_PART = 10 ** LOW_DIGITS

/** Writes a value of a column, which is not null. */
export type ValueWriter = (out: Output, index: number) => void

/** The writer of integers, and of days and times as ISO 8601 has them; undefined for columns of other types. */
export function plainWriter({ type, values }: Column): ValueWriter | undefined {
  switch (type.kind) {
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8': {
      const integers = values as Int32Array // or another array of integers
      return (out, index) => writeInteger(out, integers[index] ?? 0)
    }
    case 'timestamp': {
      const times = values as BigInt64Array
      return (out, index) => writeTimestamp(out, times[index] ?? 0n, type.unit)
    }
    case 'time': {
      const times = values as BigInt64Array
      return (out, index) => out.ascii(clockText(times[index] ?? 0n, type.unit))
    }
    case 'date': {
      const days = values as Int32Array
      return (out, index) => writeDay(out, days[index] ?? 0)
    }
    default:
      return undefined
  }
}

/** Writes a whole number of at most 32 bits. */
function writeInteger(out: Output, value: number): void {
  if (value < 0) out.byte(MINUS)
  out.digits(Math.abs(value), 1)
}

/** Decimals below it have at most 15 digits. */
const LARGEST_EXACT = 1e15
/** From here on, `String` writes an exponent. */
const LEAST_EXPONENT = 1e21

/** Writes a double; `decimal` is the character before decimals. */
export function writeNumber(out: Output, value: number, decimal: number): void {
  const size = Math.abs(value)
  if (size < LARGEST_EXACT) {
    const whole = Math.floor(size)
    // as ten-thousandths where 15 digits are enough for that
    const scale = size < LARGEST_EXACT / 10_000 ? 10_000 : 100
    const scaled = whole === size ? 0 : Math.floor(size * scale + 0.5)
    if (whole === size || (scaled < LARGEST_EXACT && scaled / scale === size)) {
      if (value < 0 || Object.is(value, -0)) out.byte(MINUS)
      out.digits(whole, 1)
      if (whole !== size) {
        out.byte(decimal)
        writeFraction(out, scaled - whole * scale, scale)
      }
      return
    }
  }
  if (size >= LARGEST_WHOLE && size < LEAST_EXPONENT) {
    // the shortest digits that mean the double are those of another integer, which whoever reads integers would find
    out.ascii(String(BigInt(value)))
    return
  }
  if (doubleDigits(size, found)) {
    if (value < 0) out.byte(MINUS)
    writeDigits(out, decimal)
    return
  }
  out.ascii(decimal === POINT ? String(value) : String(value).replace('.', String.fromCharCode(decimal)))
}

const found: DoubleDigits = { whole: 0, places: 0, more: 0, moreDigits: 0 }

/** Writes the digits in `found`. */
function writeDigits(out: Output, decimal: number): void {
  let { whole, places } = found
  if (found.moreDigits === 0) for (; places > 0 && whole % 10 === 0; places--) whole /= 10
  const scale = POWERS[places] as number // from 0 to 20 places
  const before = Math.floor(whole / scale)
  out.digits(before, 1)
  if (places + found.moreDigits === 0) return
  out.byte(decimal)
  if (places > 0) out.digits(whole - before * scale, places)
  if (found.moreDigits > 0) out.digits(found.more, found.moreDigits)
}

/** Writes the fraction `part / scale`, without the zeros at its end. */
function writeFraction(out: Output, part: number, scale: number): void {
  let [digits, rest] = [scale === 100 ? 2 : 4, part | 0]
  for (; rest % 10 === 0; digits--) rest = (rest / 10) | 0
  out.digits(rest, digits)
}

/** Days from 0000-03-01 to 1970-01-01: years that begin in March end with the day that not all of them have. */
const DAYS_BEFORE_EPOCH = 719_468
/** Days of 400 years. */
const ERA_DAYS = 146_097
/** The last day of the year 9999, from 1970-01-01 on. */
const LAST_DAY = 2_932_896

/** Writes a Gregorian date (Hinnant, 2013: "chrono-compatible low-level date algorithms", civil_from_days). */
function writeDay(out: Output, day: number): void {
  if (day < -DAYS_BEFORE_EPOCH || day > LAST_DAY) {
    out.ascii(dayText(day))
    return
  }
  const days = day + DAYS_BEFORE_EPOCH
  const era = (days / ERA_DAYS) | 0
  const ofEra = days - era * ERA_DAYS
  const yearOfEra = ((ofEra - ((ofEra / 1460) | 0) + ((ofEra / 36_524) | 0) - ((ofEra / 146_096) | 0)) / 365) | 0
  const ofYear = ofEra - (365 * yearOfEra + (yearOfEra >> 2) - ((yearOfEra / 100) | 0))
  const fromMarch = ((5 * ofYear + 2) / 153) | 0
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  out.digits(400 * era + yearOfEra + (month <= 2 ? 1 : 0), 4)
  out.byte(MINUS)
  out.digits(month, 2)
  out.byte(MINUS)
  out.digits(ofYear - (((153 * fromMarch + 2) / 5) | 0) + 1, 2)
}

const SECONDS_OF_DAY = 86_400
const LARGEST_YEAR_SECONDS = 250_000_000_000

function writeTimestamp(out: Output, stored: bigint, unit: TimeUnit): void {
  const time = Number(stored)
  const scale = 10 ** DIGITS[unit]
  // beyond, years have more digits, and doubles not enough
  if (!Number.isSafeInteger(time) || Math.abs(time) > LARGEST_YEAR_SECONDS * scale || time < 0) {
    out.ascii(timestampText(stored, unit))
    return
  }
  const seconds = Math.floor(time / scale)
  const day = Math.floor(seconds / SECONDS_OF_DAY)
  const ofDay = seconds - day * SECONDS_OF_DAY
  writeDay(out, day)
  out.byte(LETTER_T)
  out.digits(Math.floor(ofDay / 3600), 2)
  out.byte(COLON)
  out.digits(Math.floor(ofDay / 60) % 60, 2)
  out.byte(COLON)
  out.digits(ofDay % 60, 2)
  if (unit !== 's') {
    out.byte(POINT)
    out.digits(time - seconds * scale, DIGITS[unit])
  }
  out.byte(LETTER_Z)
}

const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90
