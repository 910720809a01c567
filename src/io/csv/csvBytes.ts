/** Rows as the bytes of CSV records: numbers and texts without a string a field, where their form is known from their bits. */
import { type Batch, type Column, isValid } from '../../core/data/column.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { LENT_BY_NOBODY, type Lent } from '../lent.ts'
import { Output, plainWriter, type ValueWriter, writeNumber } from '../valueBytes.ts'

/** The characters between fields, and before decimals; both of ASCII. */
export interface CsvForm {
  readonly delimiter: string
  readonly decimal: string
}

export const STANDARD_FORM: CsvForm = { delimiter: ',', decimal: '.' }

/** The records of a batch whose columns `checkCsvTypes` admits. */
export function csvRecords({ columns, length }: Batch, form: CsvForm = STANDARD_FORM, lent: Lent = LENT_BY_NOBODY): Uint8Array {
  const delimiter = form.delimiter.charCodeAt(0)
  const out = new Output(
    columns.reduce((sum, column) => sum + mostBytes(column), length * columns.length),
    lent,
  )
  const fields = columns.map((column) => fieldWriter(column, form))
  for (let row = 0; row < length; row++) {
    for (let c = 0; c < fields.length; c++) {
      if (c > 0) out.byte(delimiter)
      fields[c]?.(out, row)
    }
    out.byte(NEWLINE)
  }
  return out.result()
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
const NEWLINE = 10
const RETURN = 13
const SPACE = 32
/** Least byte of a character of several bytes. */
const NOT_ASCII = 128

function fieldWriter(column: Column, form: CsvForm): ValueWriter {
  const write = presentWriter(column, form)
  return column.validity === undefined && column.type.kind !== 'null'
    ? write
    : (out, row) => {
        if (isValid(column, row)) write(out, row)
      }
}

function presentWriter(column: Column, form: CsvForm): ValueWriter {
  const { type, values } = column
  const decimal = form.decimal.charCodeAt(0)
  switch (type.kind) {
    case 'f64':
    case 'f32': {
      const numbers = values as Float64Array // or of half as many bits
      return (out, row) => writeNumber(out, numbers[row] as number, decimal) // of the batch
    }
    case 'utf8':
      return textWriter(column, form)
    default: {
      const plain = plainWriter(column)
      if (plain !== undefined) return plain
      const read = valueReader(column)
      return (out, row) => {
        const value = read(row)
        if (value !== null) out.ascii(String(value))
      }
    }
  }
}

function textWriter(column: Column, csvForm: CsvForm): ValueWriter {
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
