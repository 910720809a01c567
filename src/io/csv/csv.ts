/**
 * CSV files as a source: types are inferred when the file is opened, splits end between records.
 *
 * The first MiB of each file decides the types of columns that `{ types }` does not name. A later field that does not
 * fit is an error with its line, never a silent null. Unquoted empty fields are null.
 */
import { checkBoolean } from '../../core/arguments.ts'
import { type Field, namesText } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import { missingColumnMessage } from '../../core/nearestNames.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { Access, CsvKernels } from '../../core/ports.ts'
import { sameItems } from '../../core/sameItems.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { filesOf } from '../bytes/paths.ts'
import type { ByteSource } from '../bytes/source.ts'
import { openPlain, type Unpacked } from '../bytes/unpacked.ts'
import { checkExpected, type ExpectOptions } from '../expected.ts'
import { type PartitionOptions, withPartitions } from '../partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from '../reading.ts'
import { lineEndAfter, markBytes } from '../text.ts'
import type { CsvColumn } from './csvColumns.ts'
import { type CsvFormat, type CsvFormatOptions, csvFormat, FORMAT_OPTIONS, pointed } from './csvFormat.ts'
import { type Piece, piecesOf, sampleOf } from './csvPieces.ts'
import { CsvRecords, MalformedRecord, QUOTED_EMPTY } from './csvRecords.ts'
import { type CsvDetail, malformed } from './csvSplit.ts'
import {
  type CsvType,
  checkCsvType,
  type Guess,
  guessedType,
  isText,
  mergedGuess,
  newGuess,
  newTimes,
  observe,
  observeNumber,
  observeTime,
  typeOfCsv,
} from './csvValues.ts'

export { readCsvSplit } from './csvSplit.ts'

export interface CsvOptions extends ReadOptions, PartitionOptions, ExpectOptions, CsvFormatOptions {
  /** Whether the first record names the columns. Default true; without, they are column1, column2, … */
  readonly header?: boolean
  /** Types of columns by name; the others are inferred. */
  readonly types?: Readonly<Record<string, CsvType>>
}

interface CsvFile {
  readonly path: string
  readonly stamp: string
  readonly pieces: readonly Piece[]
  readonly names: readonly string[]
  readonly guesses: readonly Guess[]
  /** Whether the guesses have seen all of the file. */
  readonly isSeen: boolean
  readonly unpacked?: Unpacked
}

/** Most columns: more are from a file that was not meant to be read so, with another delimiter or no line ends. */
const MOST_COLUMNS = 100_000

/** The records of one or more CSV files with the same columns. Reads a sample of each, and files above 8 MiB once, to find where records end. */
export async function openCsv(source: FileSource, options: CsvOptions = {}, kernels?: CsvKernels): Promise<ArraySource> {
  checkReading('readCsv', options, ['delimiter', 'header', 'types', ...FORMAT_OPTIONS.slice(1), 'partitions', 'expect'])
  const { header = true, types = {} } = options
  const format = csvFormat(options)
  checkBoolean('The header of readCsv()', header)
  checkTypes(types)
  const named = await filesOf(source, options)
  const access = { ...options, given: named.given }
  const files: CsvFile[] = []
  for (const path of named.paths) {
    const file = await openOne(path, { format, header, kernels, types }, access)
    const known = files[0]
    if (known !== undefined && !sameItems(file.names, known.names)) {
      throw new SourceError(
        `${path} has the columns ${listText(file.names)}, and ${known.path} has ${listText(known.names)}. Files read together need the same columns.`,
        path,
      )
    }
    files.push(file)
  }
  const names = files[0]?.names ?? []
  const present = new Set(names)
  for (const name of Object.keys(types)) {
    if (!present.has(name)) throw new PlanError(`${missingColumnMessage(name, fieldsNamed(names), files[0]?.path)} { types } asks for it.`)
  }
  const isSeen = files.every((file) => file.isSeen)
  const columns = names.map((name, i): CsvColumn => {
    const asked = Object.hasOwn(types, name) ? types[name] : undefined
    const guess = files.map((file) => file.guesses[i] ?? newGuess()).reduce(mergedGuess)
    if (asked !== undefined) return { name, type: typeOfCsv(asked, guess.digits), guessed: false }
    return { name, type: guessedType(guess, isSeen), guessed: true }
  })
  const splits = files.flatMap(({ path, stamp, pieces, unpacked }, file) =>
    pieces.map((piece, i): SourceSplit => {
      const detail: CsvDetail = { path, stamp, ...piece, skip: header && i === 0 ? 1 : 0, format, columns, ...(unpacked && { unpacked }) }
      return { bytes: piece.end - piece.start, file, detail }
    }),
  )
  const table: ArraySource = {
    kind: 'csv',
    name: named.name,
    element: { kind: 'row', fields: columns.map(({ name, type }): Field => ({ name, type, nullable: true })) },
    splits,
    ...requestsOf(access, named.paths),
  }
  return checkExpected(withPartitions(table, named, options), options)
}

function checkTypes(types: unknown): void {
  if (typeof types !== 'object' || types === null || Array.isArray(types))
    throw new PlanError(`The types of readCsv() are an object, as { id: 'i32' }; they were given as ${valueText(types)}.`)
  for (const [column, type] of Object.entries(types)) if (type !== undefined) checkCsvType(column, type)
}

async function openOne(
  path: string,
  {
    format,
    header,
    kernels,
    types,
  }: Pick<CsvOptions, 'types'> & {
    readonly format: CsvFormat
    readonly header: boolean
    readonly kernels: CsvKernels | undefined
  },
  access: Access & Pick<CsvOptions, 'delimiter' | 'skip'>,
): Promise<CsvFile> {
  const { bytes, unpacked } = await openPlain(path, access)
  let origin = 0
  try {
    origin = await behindLines(bytes, access.skip ?? 0)
    const table = origin === 0 ? bytes : behind(bytes, origin)
    const sample = await sampleOf(table, path, header ? 2 : 1, format)
    const { delimiter } = format
    const records = new CsvRecords({ bytes: sample, delimiter, format, from: origin === 0 ? markBytes(sample) : 0 })
    if (!records.next())
      throw new SourceError(
        origin === 0 ? `${path} is empty.` : `${path} has no lines behind those that { skip: ${access.skip} } passes over.`,
        path,
      )
    const names = namesOf(path, records, header)
    if (header && access.delimiter === undefined) checkNames(path, records)
    const guesses = names.map((name) =>
      types !== undefined && Object.hasOwn(types, name) && types[name] === 'timestamp' ? newTimes() : newGuess(),
    )
    if (!header) observeRecord(records, guesses, format)
    while (records.next()) observeRecord(records, guesses, format)
    const pieces = await piecesOf(table, path, kernels, format)
    return {
      path,
      stamp: bytes.stamp,
      pieces: pieces.map(({ start, end }) => ({ start: start + origin, end: end + origin })),
      names,
      guesses,
      isSeen: sample.length === table.size,
      ...(unpacked && { unpacked }),
    }
  } catch (error) {
    throw error instanceof MalformedRecord ? await malformed(bytes, path, error, origin) : error
  } finally {
    await bytes.close()
  }
}

/** The names that the first record gives: as they stand within quotes, without space around them otherwise. */
function namesOf(path: string, first: CsvRecords, header: boolean): string[] {
  if (first.width > MOST_COLUMNS) {
    throw new SourceError(
      `${path} has ${first.width} columns in its first record, and more than ${MOST_COLUMNS} are not read. Has it line ends, and is the delimiter the right one?`,
      path,
    )
  }
  const seen = new Set<string>()
  return Array.from({ length: first.width }, (_, i) => {
    const field = first.field(i)
    const text = field === QUOTED_EMPTY ? '' : field
    if (!first.isQuoted(i) && text.includes('\r'))
      throw new SourceError(`${path} ends its lines with \\r alone. Lines end with \\n or \\r\\n.`, path)
    const name = header && text.trim() !== '' ? (first.isQuoted(i) ? text : text.trim()) : `column${i + 1}`
    if (seen.has(name)) {
      throw new SourceError(
        `${path}, column "${name}": there are two columns of this name. Rename one, or read it with { header: false }.`,
        path,
      )
    }
    seen.add(name)
    return name
  })
}

/** The delimiters, besides the comma, that a file may have where nobody named one. */
const OTHER_DELIMITERS = { ';': 'a semicolon', '\t': 'a tab', '|': 'a bar' } as const
const OTHERS = [';', '\t', '|'] as const

/** SourceError for a name with another delimiter in it, unless it stands in quotes. A bar may be in one of several names. */
function checkNames(path: string, first: CsvRecords): void {
  for (let i = 0; i < first.width; i++) {
    const field = first.field(i)
    if (first.isQuoted(i) || field === QUOTED_EMPTY) continue
    const name = field.trim()
    const found = OTHERS.find((one) => name.includes(one) && (one !== '|' || first.width === 1))
    if (found === undefined) continue
    const delimiter = found === '\t' ? "'\\t'" : `'${found}'`
    throw new SourceError(
      `${path} has ${OTHER_DELIMITERS[found]} in its first line: ${valueText(name)}. If that is what stands between fields, read it with { delimiter: ${delimiter} }; if it is part of a column's name, with { delimiter: ',' }.`,
      path,
    )
  }
}

/** The place behind so many line ends. */
async function behindLines(bytes: ByteSource, lines: number): Promise<number> {
  let at = 0
  for (let line = 0; line < lines && at < bytes.size; line++) at = await lineEndAfter(bytes, at)
  return at
}

/** The bytes from a place on. */
function behind(bytes: ByteSource, origin: number): ByteSource {
  return { ...bytes, size: bytes.size - origin, read: (start, end, into) => bytes.read(start + origin, end + origin, into) }
}

function observeRecord(record: CsvRecords, guesses: readonly Guess[], { decimal, nullValues }: CsvFormat): void {
  const nulls = nullValues.length === 0 ? undefined : new Set(nullValues.map((text) => Buffer.from(text).toString()))
  const width = Math.min(record.width, guesses.length)
  for (let i = 0; i < width; i++) {
    const guess = guesses[i]
    if (guess === undefined || record.isAbsent(i)) continue
    if (nulls !== undefined && !record.isQuoted(i) && nulls.has(record.field(i) as string)) continue
    if (guess.digits !== undefined) {
      const field = record.field(i)
      if (field !== QUOTED_EMPTY) observeTime(guess, field)
    } else if (isText(guess)) guess.seen++
    else if (decimal === ',') {
      const field = record.field(i)
      const text = field === QUOTED_EMPTY ? '' : field
      observe(guess, /[,.]/.test(text) ? (pointed(text) ?? 'text') : text)
    } else if (!guess.bool && !Number.isNaN(record.number(i))) observeNumber(guess, record.has(i, POINT))
    else {
      const field = record.field(i)
      observe(guess, field === QUOTED_EMPTY ? '' : field)
    }
  }
}

const POINT = 46

function fieldsNamed(names: readonly string[]): Field[] {
  return names.map((name) => ({ name, type: { kind: 'unknown' }, nullable: true }))
}

function listText(names: readonly string[]): string {
  return namesText(fieldsNamed(names))
}
