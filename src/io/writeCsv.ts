/**
 * Writes batches as CSV: a header, one record per row, `\n` line ends.
 *
 * Null is an empty field and an empty string is `""`, so that both come back. Dates are ISO 8601 in UTC with the
 * digits of their unit; NaN and Infinity are written as such.
 */
import { type Column, isValid } from '../core/column.ts'
import { valueReader } from '../core/columnReaders.ts'
import { PlanError } from '../core/errors.ts'
import { type ColumnType, fieldsOf, type TimeUnit, typeText } from '../core/schema.ts'
import { writeAtomically } from './atomicFile.ts'
import type { WriteRequest, Written } from './writeParquet.ts'

const FLUSH_CHARACTERS = 2 ** 20
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/
/** What a name without quotes is asked about when it is read. */
const OTHER_DELIMITERS = /[;\t|]/

export async function writeCsv({ batches, element, path, signal }: WriteRequest<object>): Promise<Written> {
  const fields = fieldsOf(element)
  if (fields.length === 0) throw new PlanError('A CSV file needs at least one column.')
  for (const field of fields) checkType(field.type, field.name)
  const encoder = new TextEncoder()
  let rows = 0
  const bytes = await writeAtomically(
    path,
    async (append) => {
      let text = `${fields.map(({ name }) => (OTHER_DELIMITERS.test(name) ? inQuotes(name) : quoted(name))).join(',')}\n`
      for await (const batch of batches) {
        const writers = batch.columns.map(fieldWriter)
        for (let row = 0; row < batch.length; row++) {
          for (let c = 0; c < writers.length; c++) text += c === 0 ? writers[c]?.(row) : `,${writers[c]?.(row)}`
          text += '\n'
          if (text.length > FLUSH_CHARACTERS) {
            await append(encoder.encode(text))
            text = ''
          }
        }
        rows += batch.length
      }
      await append(encoder.encode(text))
    },
    signal,
  )
  return { rows, bytes }
}

function checkType(type: ColumnType, column: string): void {
  switch (type.kind) {
    case 'list':
    case 'struct':
    case 'binary':
    case 'object':
    case 'unknown':
      throw new PlanError(
        `Column "${column}" is ${typeText(type)}, which a CSV field cannot hold. Convert it with map, for example to JSON text, or write Parquet.`,
      )
    default:
      return
  }
}

function fieldWriter(column: Column): (row: number) => string {
  const { type } = column
  const read = valueReader(column)
  switch (type.kind) {
    case 'timestamp': {
      const values = column.values as BigInt64Array
      return (row) => (isValid(column, row) ? timestampText(values[row] ?? 0n, type.unit) : '')
    }
    case 'time': {
      const values = column.values as BigInt64Array
      return (row) => (isValid(column, row) ? clockText(values[row] ?? 0n, type.unit) : '')
    }
    case 'date': {
      const values = column.values as Int32Array
      return (row) => (isValid(column, row) ? dayText(values[row] ?? 0) : '')
    }
    case 'utf8':
      return (row) => {
        const value = read(row)
        return value === null ? '' : quoted(value as string) // utf8 reads as string
      }
    default:
      return (row) => {
        const value = read(row)
        return value === null ? '' : Object.is(value, -0) ? '-0' : String(value)
      }
  }
}

function quoted(text: string): string {
  return text === '' || NEEDS_QUOTES.test(text) ? inQuotes(text) : text
}

function inQuotes(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

const DIGITS = { s: 0, ms: 3, us: 6, ns: 9 } as const
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

function clockText(stored: bigint, unit: TimeUnit): string {
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
