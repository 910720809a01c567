/**
 * CSV files as a source: types are inferred when the file is opened, splits end between records.
 *
 * The first MiB of each file decides the types of columns that `{ types }` does not name. A later field that does not
 * fit is an error with its line, never a silent null. Unquoted empty fields are null.
 */
import { CsvError, type Options, parse } from 'csv-parse/sync'
import type { Batch, Column } from '../core/column.ts'
import { createBuilder, valueText } from '../core/columnBuilder.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import { missingColumnMessage } from '../core/nearestNames.ts'
import type { ArraySource, ReadSplit, SourceSplit } from '../core/ports.ts'
import { type ColumnType, type Field, typeText } from '../core/schema.ts'
import { type ByteSource, nameOfPath, openBytes } from './byteSource.ts'
import { type CsvType, type Guess, guessedType, mergedGuess, newGuess, observe, typeOfCsv, valueOfField } from './csvValues.ts'
import { pathsOf } from './paths.ts'
import { decodeUtf8, readRange } from './text.ts'

export interface CsvOptions {
  /** One character. Default ','. */
  readonly delimiter?: string
  /** Whether the first record names the columns. Default true; without, they are column1, column2, … */
  readonly header?: boolean
  /** Types of columns by name; the others are inferred. */
  readonly types?: Readonly<Record<string, CsvType>>
}

const SAMPLE_BYTES = 2 ** 20
const SPLIT_BYTES = 8 * 2 ** 20
const QUOTE = 34
const NEWLINE = 10

interface CsvDetail {
  readonly path: string
  readonly stamp: string
  readonly start: number
  readonly end: number
  readonly firstLine: number
  /** Records to pass over: the header. */
  readonly skip: number
  readonly delimiter: string
  readonly columns: readonly { readonly name: string; readonly type: ColumnType; readonly guessed: boolean }[]
}

/** The records of one or more CSV files with the same columns. Reads a sample of each, and files above 8 MiB once, to find where records end. */
export async function openCsv(source: string | URL | readonly string[], options: CsvOptions = {}): Promise<ArraySource> {
  const { delimiter = ',', header = true, types = {} } = options
  if (delimiter.length !== 1) throw new PlanError(`The delimiter ${JSON.stringify(delimiter)} is not one character.`)
  const paths = await pathsOf(source)
  const files: { path: string; stamp: string; pieces: Piece[]; names: readonly string[] }[] = []
  let guesses: readonly Guess[] | undefined
  for (const path of paths) {
    const bytes = await openBytes(path)
    try {
      const sample = await sampleOf(bytes, path, delimiter)
      const names = namesOf(path, sample, header)
      const known = files[0]
      if (known !== undefined && names.join('\0') !== known.names.join('\0')) {
        throw new SourceError(
          `${path} has the columns ${names.join(', ')}, and ${known.path} has ${known.names.join(', ')}. Files read together need the same columns.`,
          path,
        )
      }
      const own = guessesOf(header ? sample.slice(1) : sample, names.length)
      guesses = guesses?.map((guess, i) => mergedGuess(guess, own[i] ?? newGuess())) ?? own
      files.push({ path, stamp: bytes.stamp, pieces: await piecesOf(bytes), names })
    } finally {
      await bytes.close()
    }
  }
  const names = files[0]?.names ?? []
  for (const name of Object.keys(types)) {
    if (!names.includes(name))
      throw new PlanError(`${missingColumnMessage(name, fieldsNamed(names), files[0]?.path)} { types } asks for it.`)
  }
  const columns = names.map((name, i) => {
    const asked = Object.hasOwn(types, name) ? types[name] : undefined
    return { name, type: asked === undefined ? guessedType(guesses?.[i] ?? newGuess()) : typeOfCsv(asked), guessed: asked === undefined }
  })
  const splits = files.flatMap(({ path, stamp, pieces }) =>
    pieces.map((piece, i): SourceSplit => {
      const detail: CsvDetail = { path, stamp, ...piece, skip: header && i === 0 ? 1 : 0, delimiter, columns }
      return { bytes: piece.end - piece.start, detail }
    }),
  )
  const [first = ''] = paths
  return {
    kind: 'csv',
    name: paths.length === 1 ? nameOfPath(first) : `${nameOfPath(first)} and ${paths.length - 1} more`,
    element: { kind: 'row', fields: columns.map(({ name, type }): Field => ({ name, type, nullable: true })) },
    splits,
  }
}

function fieldsNamed(names: readonly string[]): Field[] {
  return names.map((name) => ({ name, type: { kind: 'unknown' }, nullable: true }))
}

function parserOptions(delimiter: string): Options {
  return { delimiter, record_delimiter: ['\r\n', '\n'], relax_column_count: true, skip_empty_lines: false }
}

/** The records of the first MiB; the last one is left out when the sample cuts it. */
async function sampleOf(bytes: ByteSource, path: string, delimiter: string): Promise<string[][]> {
  const size = Math.min(bytes.size, SAMPLE_BYTES)
  const sample = await bytes.read(0, size)
  let end = size
  if (size < bytes.size) {
    let quoted = false
    end = 0
    for (let i = 0; i < size; i++) {
      if (sample[i] === QUOTE) quoted = !quoted
      else if (sample[i] === NEWLINE && !quoted) end = i + 1
    }
    if (end === 0) throw new SourceError(`${path} has no end of a record in its first MiB. Is it CSV, and are its quotes closed?`, path)
  }
  const records = recordsOf(decodeUtf8(sample.subarray(0, end), path, true), path, delimiter, 1)
  if (records.length === 0) throw new SourceError(`${path} is empty.`, path)
  return records
}

function namesOf(path: string, sample: readonly string[][], header: boolean): string[] {
  const [first = []] = sample
  if (first.some((name) => name.includes('\r')))
    throw new SourceError(`${path} ends its lines with \\r alone. Lines end with \\n or \\r\\n.`, path)
  const names = first.map((name, i) => (header && name.trim() !== '' ? name.trim() : `column${i + 1}`))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined)
    throw new SourceError(
      `${path}, column "${twice}": there are two columns of this name. Rename one, or read it with { header: false }.`,
      path,
    )
  return names
}

function guessesOf(records: readonly string[][], width: number): Guess[] {
  const guesses = Array.from({ length: width }, newGuess)
  for (const record of records) {
    for (let i = 0; i < width; i++) {
      const guess = guesses[i]
      const field = record[i]
      if (guess !== undefined && field !== undefined && field !== '') observe(guess, field)
    }
  }
  return guesses
}

interface Piece {
  readonly start: number
  readonly end: number
  readonly firstLine: number
}

/** Byte ranges that end between records: a line end at which every quote is closed. */
async function piecesOf(bytes: ByteSource): Promise<Piece[]> {
  if (bytes.size <= SPLIT_BYTES) return [{ start: 0, end: bytes.size, firstLine: 1 }]
  const pieces: Piece[] = []
  let quoted = false
  let line = 1
  let start = 0
  let firstLine = 1
  for (let at = 0; at < bytes.size; at += SPLIT_BYTES) {
    const read = await bytes.read(at, Math.min(bytes.size, at + SPLIT_BYTES))
    for (let i = 0; i < read.length; i++) {
      const byte = read[i]
      if (byte === QUOTE) quoted = !quoted
      else if (byte === NEWLINE) {
        line++
        if (!quoted && at + i + 1 - start >= SPLIT_BYTES) {
          pieces.push({ start, end: at + i + 1, firstLine })
          start = at + i + 1
          firstLine = line
        }
      }
    }
  }
  if (start < bytes.size) pieces.push({ start, end: bytes.size, firstLine })
  return pieces
}

/** Marks a quoted empty field, which is an empty string and not null. */
const EMPTY_TEXT = '\0""'

function recordsOf(text: string, path: string, delimiter: string, firstLine: number): string[][] {
  if (!text.includes('"')) return plainRecordsOf(text, delimiter)
  const options = parserOptions(delimiter)
  // The callback per field is slow, and is needed only to tell "" from nothing.
  const end = `[\\n\\r${delimiter.replace(/[\]\\^-]/, '\\$&')}]`
  if (new RegExp(`(?:^|${end})""(?:${end}|$)`).test(text)) {
    options.cast = (value: string, context: { quoting: boolean }) => (value === '' && context.quoting ? EMPTY_TEXT : value)
  }
  try {
    return parse(text, options) as unknown as string[][] // arrays of strings: no `columns` option
  } catch (error) {
    if (error instanceof CsvError) {
      const line = Number((error as CsvError & { lines?: number }).lines ?? 1) + firstLine - 1
      throw new SourceError(`${path}, line ${line}: ${error.message.split(':')[0]}.`, path, { cause: error })
    }
    throw error
  }
}

/** Where nothing is quoted a line is a record: about four times as fast as the parser. */
function plainRecordsOf(text: string, delimiter: string): string[][] {
  const records: string[][] = []
  let start = 0
  while (start < text.length) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    records.push(text.slice(start, end > start && found >= 0 && text.charCodeAt(end - 1) === 13 ? end - 1 : end).split(delimiter))
    start = end + 1
  }
  return records
}

export const readCsvSplit: ReadSplit = async (_source, split, names) => {
  const detail = split.detail as CsvDetail // made by `openCsv`
  const text = decodeUtf8(await readRange(detail), detail.path, detail.start === 0)
  const records = recordsOf(text, detail.path, detail.delimiter, detail.firstLine)
  const width = detail.columns.length
  const kept: string[][] = []
  for (let r = detail.skip; r < records.length; r++) {
    const record = records[r] ?? []
    if (record.length === 1 && record[0] === '' && width > 1) continue // an empty line
    if (record.length !== width) {
      throw new SourceError(
        `${detail.path}, line ${lineOf(text, detail, r)}: the record has ${record.length} fields, and the table ${width} columns.`,
        detail.path,
      )
    }
    kept.push(record)
  }
  const position = (row: number): number => {
    let index = detail.skip
    for (let seen = -1; index < records.length; index++) {
      const record = records[index] ?? []
      if (!(record.length === 1 && record[0] === '' && width > 1) && ++seen === row) break
    }
    return lineOf(text, detail, index)
  }
  const picked = names.map((name) => detail.columns.findIndex((column) => column.name === name))
  const columns = picked.map((index) => columnOf(kept, index, detail, position))
  const fields = names.map((name, i): Field => ({ name, type: columns[i]?.type ?? { kind: 'utf8' }, nullable: true }))
  const batch: Batch = { element: { kind: 'row', fields }, length: kept.length, columns }
  return [batch]
}

function columnOf(records: readonly string[][], index: number, detail: CsvDetail, lineOfRow: (row: number) => number): Column {
  const column = detail.columns[index]
  if (column === undefined) throw new PlanError(`${detail.path} has no such column.`)
  const { name, type, guessed } = column
  const builder = createBuilder(type, name)
  for (let row = 0; row < records.length; row++) {
    const field = records[row]?.[index] ?? ''
    if (field === '') {
      builder.append(null)
      continue
    }
    const value = field === EMPTY_TEXT ? (type.kind === 'utf8' ? '' : undefined) : valueOfField(field, type, guessed)
    try {
      if (value === undefined) throw new PlanError('')
      builder.append(value)
    } catch (error) {
      if (!(error instanceof PlanError)) throw error
      throw misfit(detail, name, type, guessed, field === EMPTY_TEXT ? '' : field, lineOfRow(row))
    }
  }
  return builder.finish()
}

function misfit(detail: CsvDetail, name: string, type: ColumnType, guessed: boolean, field: string, line: number): SourceError {
  const what = `${detail.path}, line ${line}, column "${name}": ${valueText(field)} is not ${typeText(type)}`
  if (!guessed) return new SourceError(`${what}, which { types } asks for.`, detail.path)
  const other = type.kind === 'f64' && /^[+-]?\d+$/.test(field.trim()) && !/^[+-]?0\d/.test(field.trim()) ? 'i64' : 'utf8'
  return new SourceError(
    `${what}, which the first MiB of the file suggests. Say what it is: { types: { ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: '${other}' } }.`,
    detail.path,
  )
}

/** The line on which a record of a split begins; parses again, since only errors ask. */
function lineOf(text: string, detail: CsvDetail, record: number): number {
  const before = parse(text, { ...parserOptions(detail.delimiter), info: true, to: record + 1 }) as unknown as { info: { lines: number } }[]
  const previous = before[record - 1]?.info.lines ?? 0
  // `lines` counts the line on which a record ends
  return detail.firstLine + (record === 0 ? 0 : previous)
}
