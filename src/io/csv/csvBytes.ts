/**
 * Rows as the bytes of CSV records: numbers and texts without a string a field, where their form is known from their bits.
 *
 * Whole numbers are their digits. A double that is a whole number of hundredths (or of ten-thousandths) with at most 15
 * digits is written as that: no other decimal of 15 digits is nearer to it, and so it is what `String` finds. Those of
 * most other doubles `csvDoubles.ts` finds, and `String` those of the rest.
 */
import { type Batch, type Column, isValid } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import type { TimeUnit } from '../../core/data/schema.ts'
import { clockText, DIGITS, dayText, timestampText } from '../timeTexts.ts'
import { type DoubleDigits, doubleDigits, POWERS } from './csvDoubles.ts'

/** The characters between fields, and before decimals; both of ASCII. */
export interface CsvForm {
  readonly delimiter: string
  readonly decimal: string
}

export const STANDARD_FORM: CsvForm = { delimiter: ',', decimal: '.' }

/** The records of a batch whose columns `checkCsvTypes` admits. */
export function csvRecords({ columns, length }: Batch, form: CsvForm = STANDARD_FORM): Uint8Array {
  const delimiter = form.delimiter.charCodeAt(0)
  const out = new Output(columns.reduce((sum, column) => sum + mostBytes(column), length * columns.length))
  const fields = columns.map((column) => fieldWriter(column, form))
  for (let row = 0; row < length; row++) {
    for (let c = 0; c < fields.length; c++) {
      if (c > 0) out.byte(delimiter)
      fields[c]?.(out, row)
    }
    out.byte(NEWLINE)
  }
  return out.bytes.subarray(0, out.used)
}

/** The bytes of a column's fields, or a little more; fewer only where texts need many quotes. */
function mostBytes({ type, length, offsets }: Column): number {
  if (type.kind === 'utf8') return (offsets?.[length] ?? 0) - (offsets?.[0] ?? 0) + 3 * length
  return length * (FIELD_BYTES[type.kind] ?? 20)
}

const FIELD_BYTES: Readonly<Partial<Record<Column['type']['kind'], number>>> = {
  timestamp: 30,
  date: 10,
  bool: 5,
  i32: 11,
  u32: 10,
  i16: 6,
  u16: 5,
  i8: 4,
  u8: 3,
  null: 0,
}

/** A text as a field: in quotes where it has to be. */
export function csvText(text: string, { delimiter }: CsvForm): string {
  return text === '' || text.includes(delimiter) || NEEDS_QUOTES.test(text) ? inQuotes(text) : text
}

export function inQuotes(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

const NEEDS_QUOTES = /["\r\n]|^\s|\s$/
const QUOTE = 34
const POINT = 46
const MINUS = 45
const ZERO = 48
const NEWLINE = 10
const RETURN = 13
const SPACE = 32
/** Least byte of a character of several bytes. */
const NOT_ASCII = 128

class Output {
  bytes: Uint8Array
  used = 0

  constructor(room: number) {
    this.bytes = new Uint8Array(room)
  }

  /** Makes room for so many bytes more. */
  reserve(more: number): void {
    if (this.used + more <= this.bytes.length) return
    const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.used + more))
    larger.set(this.bytes)
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

type FieldWriter = (out: Output, row: number) => void

function fieldWriter(column: Column, form: CsvForm): FieldWriter {
  const write = presentWriter(column, form)
  return column.validity === undefined && column.type.kind !== 'null'
    ? write
    : (out, row) => {
        if (isValid(column, row)) write(out, row)
      }
}

function presentWriter(column: Column, form: CsvForm): FieldWriter {
  const { type, values } = column
  const decimal = form.decimal.charCodeAt(0)
  switch (type.kind) {
    case 'f64':
    case 'f32': {
      const numbers = values as Float64Array // or of half as many bits
      return (out, row) => writeNumber(out, numbers[row] as number, decimal) // of the batch
    }
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8': {
      const integers = values as Int32Array // or another array of integers
      return (out, row) => {
        const value = integers[row] as number // of the batch
        if (value < 0) out.byte(MINUS)
        out.digits(Math.abs(value), 1)
      }
    }
    case 'timestamp': {
      const times = values as BigInt64Array
      return (out, row) => writeTimestamp(out, times[row] ?? 0n, type.unit)
    }
    case 'time': {
      const times = values as BigInt64Array
      return (out, row) => out.ascii(clockText(times[row] ?? 0n, type.unit))
    }
    case 'date': {
      const days = values as Int32Array
      return (out, row) => writeDay(out, days[row] ?? 0)
    }
    case 'utf8':
      return textWriter(column, form)
    default: {
      const read = valueReader(column)
      return (out, row) => {
        const value = read(row)
        if (value !== null) out.ascii(String(value))
      }
    }
  }
}

function textWriter(column: Column, csvForm: CsvForm): FieldWriter {
  const delimiter = csvForm.delimiter.charCodeAt(0)
  const offsets = column.offsets ?? new Int32Array(1)
  const bytes = column.values as Uint8Array // of a column of text
  const read = valueReader(column)
  return (out, row) => {
    const begin = offsets[row] as number // of the batch
    const end = offsets[row + 1] as number
    let form = formOf(bytes, { begin, end, delimiter })
    if (form === 'unsure') form = csvText(read(row) as string, csvForm).startsWith('"') ? 'quoted' : 'plain' // white space of other scripts
    if (form === 'plain') return out.copy(bytes, begin, end)
    out.byte(QUOTE)
    for (let from = begin; from < end; ) {
      let to = from
      while (to < end && bytes[to++] !== QUOTE) {}
      out.copy(bytes, from, to)
      if (bytes[to - 1] === QUOTE) out.byte(QUOTE)
      from = to
    }
    out.byte(QUOTE)
  }
}

/** Whether a text needs quotes; `unsure` where it begins or ends with a character that may be white space. */
function formOf(
  bytes: Uint8Array,
  { begin, end, delimiter }: { readonly begin: number; readonly end: number; readonly delimiter: number },
): 'plain' | 'quoted' | 'unsure' {
  if (begin === end) return 'quoted'
  const [first, last] = [bytes[begin] as number, bytes[end - 1] as number] // begin < end
  if (isSpace(first) || isSpace(last)) return 'quoted'
  for (let at = begin; at < end; at++) {
    const byte = bytes[at]
    if (byte === delimiter || byte === QUOTE || byte === NEWLINE || byte === RETURN) return 'quoted'
  }
  return first < NOT_ASCII && last < NOT_ASCII ? 'plain' : 'unsure'
}

/** White space of one byte. */
function isSpace(byte: number): boolean {
  return byte === SPACE || (byte >= 9 && byte <= 13)
}

/** Decimals below it have at most 15 digits. */
const LARGEST_EXACT = 1e15

/** Writes a double; `decimal` is the character before decimals. */
function writeNumber(out: Output, value: number, decimal: number): void {
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
