/** How a CSV file is written: what stands between fields and around them, and how numbers and nulls look. */
import { checkCount, checkList } from '../../core/arguments.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'

export interface CsvFormat {
  readonly delimiter: string
  /** The byte that fields stand in; -1 where none does. */
  readonly quote: number
  /** The bytes with which lines begin that are passed over; none where no lines are. */
  readonly comment: Uint8Array
  /** Texts of fields, outside of quotes, that are null. */
  readonly nullValues: readonly Uint8Array[]
  readonly decimal: '.' | ','
}

export interface CsvFormatOptions {
  /** One character. Default ','; then a name in the first line that has a semicolon or a tab in it is an error, unless it is quoted. */
  readonly delimiter?: string
  /** The character that fields with delimiters in them stand in. Default '"'; '' where none does. */
  readonly quote?: string
  /** Lines that begin with this are passed over. Default: none are. */
  readonly comment?: string
  /** Lines to pass over at the beginning of each file, before the header. Default 0. */
  readonly skip?: number
  /** Fields that are null besides empty ones, as 'NA' or ['-', 'n/a']; in quotes they are texts. */
  readonly nullValues?: string | readonly string[]
  /** What stands before the decimals. Default '.'; with ',' points between thousands are read too. */
  readonly decimal?: '.' | ','
}

export const FORMAT_OPTIONS = ['delimiter', 'quote', 'comment', 'skip', 'nullValues', 'decimal'] as const
export const QUOTE = 34

const encoder = new TextEncoder()

/** The format that the options ask for. PlanError for options that make no sense. */
export function csvFormat({
  delimiter = ',',
  quote = '"',
  comment = '',
  skip = 0,
  nullValues = [],
  decimal = '.',
}: CsvFormatOptions): CsvFormat {
  checkDelimiter(delimiter, quote)
  checkCount('The skip of readCsv()', skip, 0)
  if (typeof quote !== 'string' || quote.length > 1 || /[^\x20-\x7e]/.test(quote))
    throw new PlanError(`The quote of readCsv() is one character of ASCII, or '' for none; it was given ${valueText(quote)}.`)
  if (typeof comment !== 'string' || /[\r\n]/.test(comment) || (quote !== '' && comment.startsWith(quote)))
    throw new PlanError(
      `The comment of readCsv() is what lines begin with that are passed over, as '#'; it was given ${valueText(comment)}.`,
    )
  const nulls = typeof nullValues === 'string' ? [nullValues] : nullValues
  checkList('The nullValues of readCsv()', nulls)
  for (const text of nulls)
    if (typeof text !== 'string') throw new PlanError(`The nullValues of readCsv() are texts; they were given ${valueText(text)}.`)
  if (decimal !== '.' && decimal !== ',') throw new PlanError(`The decimal of readCsv() is '.' or ','; it was given ${valueText(decimal)}.`)
  if (decimal === delimiter)
    throw new PlanError(
      `What stands before decimals, ${valueText(decimal)}, also stands between fields. Name what does, for example with { delimiter: ';' }.`,
    )
  return {
    delimiter,
    quote: quote === '' ? -1 : quote.charCodeAt(0),
    comment: encoder.encode(comment),
    nullValues: nulls.map((text) => encoder.encode(text)),
    decimal,
  }
}

function checkDelimiter(delimiter: unknown, quote: unknown): void {
  if (typeof delimiter !== 'string' || delimiter.length !== 1 || /[\ud800-\udfff]/.test(delimiter)) {
    throw new PlanError(`The delimiter ${valueText(delimiter)} is not one character.`)
  }
  if (delimiter === quote || delimiter === '\n' || delimiter === '\r')
    throw new PlanError(
      `The delimiter ${valueText(delimiter)} has a meaning of its own in CSV. Name the character that stands between fields.`,
    )
}

/** Whether kernels find the records of a format: they know of quotes as CSV has them, and of no comments. */
export function isPlainFormat({ quote, comment }: CsvFormat): boolean {
  return quote === QUOTE && comment.length === 0
}

/** Whether the bytes at a place are those of the text. */
export function isAt(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false
  return true
}

/** Numbers with decimal commas, with or without points between thousands. */
const COMMA_NUMBER = /^\s*[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?(?:[eE][+-]?\d+)?\s*$/

/** The text of a number with a decimal point; undefined for what is no number with a decimal comma. */
export function pointed(text: string): string | undefined {
  return COMMA_NUMBER.test(text) ? text.replaceAll('.', '').replace(',', '.') : undefined
}
