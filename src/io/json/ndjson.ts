/**
 * NDJSON (JSON Lines) as a source: an object a line, of which fields are columns.
 *
 * Opening goes through whole files, so that types hold for all lines; pieces of about 8 MiB end behind lines, and are read by
 * any thread. Fields that a line does not have are null in it.
 */
import type { Batch } from '../../core/data/column.ts'
import { createBuilder } from '../../core/data/columnBuilder.ts'
import { FIXED_FORMS, isFixedKind } from '../../core/data/fixedValues.ts'
import { type ColumnBuilder, FixedBuilder } from '../../core/data/leafBuilders.ts'
import { type ColumnType, type Field, typeText } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { Bug, PlanError, SourceError } from '../../core/errors.ts'
import { nearestNames } from '../../core/nearestNames.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { ReadSplit } from '../../core/ports.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import { checkSame } from '../bytes/byteSource.ts'
import { checkForm } from '../bytes/fileForms.ts'
import { filesOf } from '../bytes/paths.ts'
import type { ByteSource } from '../bytes/source.ts'
import { openPlain, type Unpacked } from '../bytes/unpacked.ts'
import { CSV_TYPES, type CsvType, typeOfCsv, valueOfField } from '../csv/csvValues.ts'
import { checkExpected, type ExpectOptions } from '../expected.ts'
import { type PartitionOptions, withPartitions } from '../partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from '../reading.ts'
import { checkUtf8, LARGEST_PIECE_BYTES, lineEndAfter, markBytes, readRange } from '../text.ts'
import { digitsOfText, finerTimestamp, timestampOfText } from '../timestampTexts.ts'
import { jsonText, parseLine } from './parseLine.ts'
import { seenOfType, valueInto } from './readValues.ts'
import { LineScanner, placeOf } from './scanLine.ts'
import { fieldOf, fieldsOfSeen, type JsonPlace, jsonError, lineError, nothingSeen, type Seen, see } from './seenValues.ts'

/** The types that `{ types }` may give a column; 'json': whatever it is, as JSON text. */
export type NdjsonType = CsvType | 'json'

export interface NdjsonOptions extends ReadOptions, PartitionOptions, ExpectOptions {
  /** Types of columns by name; the others are what all lines allow. */
  readonly types?: Readonly<Record<string, NdjsonType>>
}

interface NdjsonColumn {
  readonly field: Field
  /** The type that the user gave it. */
  readonly asked?: NdjsonType
}

interface NdjsonDetail {
  readonly path: string
  readonly stamp: string
  readonly start: number
  readonly end: number
  /** The number of lines before the piece. */
  readonly lines: number
  readonly columns: readonly NdjsonColumn[]
  readonly unpacked?: Unpacked
}

const SPLIT_BYTES = 8 * 2 ** 20
type Piece = Omit<NdjsonDetail, 'columns'> & {
  readonly rows: number
  readonly file: number
  readonly textBytes: ReadonlyMap<string, number>
}

/** The objects of one or more files; of columns that not all lines have the others are null. Reads the files once. */
export async function openNdjson(source: FileSource, options: NdjsonOptions = {}): Promise<ArraySource> {
  checkReading('readNdjson', options, ['types', 'partitions', 'expect'])
  const { types = {} } = options
  checkTypes(types)
  const named = await filesOf(source, options)
  const access = { ...options, given: named.given }
  const root = nothingSeen()
  const digits = new Map<string, number>()
  const pieces: Piece[] = []
  for (const [file, path] of named.paths.entries()) {
    const { bytes, unpacked } = await openPlain(path, access)
    try {
      await checkForm(bytes, path, 'readNdjson')
      for await (const piece of piecesOf(bytes, path, { root, types, digits }))
        pieces.push({ ...piece, file, ...(unpacked && { unpacked }) })
    } finally {
      await bytes.close()
    }
  }
  const [first = ''] = named.paths
  for (const name of Object.keys(types)) {
    if (!root.fields.has(name)) throw new PlanError(`No line of ${first} has a field "${name}", which { types } names.`)
  }
  const columns = columnsOf(root, first, types, digits)
  if (columns.length === 0) throw new SourceError(`${first} has no objects with fields in it.`, first)
  const splits = pieces.map(({ rows, file, textBytes, ...piece }): SourceSplit => {
    const detail: NdjsonDetail = { ...piece, columns }
    return { rows, bytes: piece.end - piece.start, file, columnBytes: textBytes, detail }
  })
  const table: ArraySource = {
    kind: 'ndjson',
    name: named.name,
    element: { kind: 'row', fields: columns.map(({ field }) => field) },
    rows: pieces.reduce((sum, { rows }) => sum + rows, 0),
    splits,
    ...requestsOf(access, named.paths),
  }
  return checkExpected(withPartitions(table, named, options), options)
}

function checkTypes(types: unknown): void {
  if (typeof types !== 'object' || types === null || Array.isArray(types))
    throw new PlanError(`The types of readNdjson() are an object, as { id: 'i32' }; they were given as ${valueText(types)}.`)
  const known = [...CSV_TYPES, 'json']
  for (const [column, type] of Object.entries(types)) {
    if (known.includes(type)) continue
    const near = typeof type === 'string' ? nearestNames(type, known) : []
    const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `'${one}'`).join(' or ')}?`
    throw new PlanError(
      `{ types } says that column "${column}" is ${valueText(type)}, which is no type.${guess} Types are ${known.join(', ')}.`,
    )
  }
}

function columnsOf(
  root: Seen,
  path: string,
  types: Readonly<Record<string, NdjsonType>>,
  digits: ReadonlyMap<string, number>,
): readonly NdjsonColumn[] {
  const guessed: Seen = { ...root, fields: new Map([...root.fields].filter(([name]) => !Object.hasOwn(types, name))) }
  const fields = new Map(fieldsOfSeen(guessed, path).map((field) => [field.name, field]))
  return [...root.fields].map(([name]): NdjsonColumn => {
    const field = fields.get(name)
    if (field !== undefined) return { field }
    const asked = types[name] as NdjsonType // it is not among the others
    const type: ColumnType = asked === 'json' ? { kind: 'utf8' } : typeOfCsv(asked, digits.get(name))
    return { field: { name, type, nullable: true }, asked }
  })
}

interface Looking {
  readonly root: Seen
  readonly types: Readonly<Record<string, NdjsonType>>
  /** The most digits of a second that a column has which `types` says to be timestamps. */
  readonly digits: Map<string, number>
}

/** Goes through a file, and notes its values in `root`; yields its pieces. */
async function* piecesOf(
  bytes: ByteSource,
  path: string,
  { root, types, digits }: Looking,
): AsyncGenerator<Omit<Piece, 'file' | 'unpacked'>> {
  let lines = 0
  const known = placeOf(root)
  for (let start = 0; start < bytes.size; ) {
    const end = await lineEndAfter(bytes, start + SPLIT_BYTES)
    if (end - start > SPLIT_BYTES + LARGEST_PIECE_BYTES)
      throw new SourceError(
        `${path} has a line of more than 64 MiB behind byte ${start}, and longer ones are not read. Is it an object a line?`,
        path,
      )
    const text = textOf(await bytes.read(start, end), path, start)
    const textBytes = new Map<string, number>()
    let rows = 0
    const scanner = new LineScanner(known, text, (name) => Object.hasOwn(types, name))
    const add = (name: string, length: number): unknown => textBytes.set(name, (textBytes.get(name) ?? 0) + length)
    const taken = (): void => {
      rows++
      for (const field of known.fields) {
        if (!scanner.has(field) || text[field.from] !== 0x22) continue
        add(field.name, field.to - field.from - 2)
        if (types[field.name] === 'timestamp') noteDigits(field.name, JSON.parse(text.toString('utf8', field.from, field.to)) as string)
      }
    }
    const noteDigits = (name: string, value: string): unknown => digits.set(name, Math.max(digits.get(name) ?? 0, digitsOfText(value)))
    const found = eachLine(text, { scanner, taken }, (line, number) => {
      const place = { path, line: lines + number }
      for (const [name, value] of Object.entries(objectOf(line, place))) {
        const named = { ...place, name }
        const field = fieldOf(root, name, named)
        if (!Object.hasOwn(types, name)) see(field, value, named)
        else if (types[name] === 'timestamp' && typeof value === 'string') noteDigits(name, value)
        if (typeof value === 'string') add(name, value.length)
      }
      root.count++
      rows++
    })
    yield { path, stamp: bytes.stamp, start, end, lines, rows, textBytes }
    lines += found
    start = end
  }
}

/** The lines of a piece, without the mark that a file may begin with. */
function textOf(bytes: Uint8Array, path: string, start: number): Buffer {
  const plain = checkUtf8(bytes, path)
  const from = start === 0 ? markBytes(plain) : 0
  return Buffer.from(plain.buffer, plain.byteOffset + from, plain.length - from)
}

interface Taking {
  readonly scanner: LineScanner
  /** Called when the scanner has taken a line, with its number. */
  readonly taken: (number: number) => void
}

/** Goes through lines; calls `visit` with those that have something on them and that the scanner declines. Returns the number of lines. */
function eachLine(text: Buffer, { scanner, taken }: Taking, visit: (line: string, number: number) => void): number {
  let number = 0
  for (let start = 0; start < text.length; ) {
    number++
    const behind = scanner.scan(start)
    if (behind >= 0) {
      taken(number)
      start = behind + 1
      continue
    }
    const found = text.indexOf(0x0a, start)
    const end = found < 0 ? text.length : found
    const line = text.toString('utf8', start, end)
    if (/\S/.test(line)) visit(line, number)
    start = end + 1
  }
  return number
}

function objectOf(line: string, { path, line: number }: Pick<JsonPlace, 'path' | 'line'>): Readonly<Record<string, unknown>> {
  const value = parseLine(line)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>
  if (number === 1 && /^\s*\[/.test(line))
    throw new SourceError(
      `${path} begins with a list, and readNdjson() reads an object a line. Make it such, for example with jq -c '.[]'.`,
      path,
    )
  throw lineError(path, number, line, value)
}

export const readNdjsonSplit: ReadSplit = async (_source, split, names, _predicate, access) => {
  const detail = split.detail as NdjsonDetail // made by `openNdjson`
  const { path, columns, lines } = detail
  if (names.length === 0 && split.rows !== undefined) {
    if (detail.start === 0) await checkSame({ path, stamp: detail.stamp, at: detail.unpacked?.at }, access)
    return [{ element: { kind: 'row', fields: [] }, length: split.rows, columns: [] }]
  }
  const picked = names.map((name) => {
    const column = columns.find(({ field }) => field.name === name)
    if (column === undefined) throw new Bug(`The column "${name}" of ${path} was not opened.`)
    return { column, builder: column.asked === undefined ? createBuilder(column.field.type, name) : askedBuilder(column.field.type, name) }
  })
  const text = textOf(await readRange(detail, access), path, detail.start)
  let length = 0
  const root = placeOf(seenOfType({ kind: 'struct', fields: columns.map(({ field }) => field) }))
  const typed = new Set(picked.flatMap(({ column }) => (column.asked === undefined ? [column.field.name] : [])))
  const scanner = new LineScanner(root, text, (name) => !typed.has(name)) // opening has looked at the others
  const readers = picked.map(({ column, builder }) => ({
    column,
    builder,
    read: column.asked === undefined ? valueInto(text, column.field.type, builder) : undefined,
  }))
  const taken = (number: number): void => {
    length++
    for (const { column, builder, read } of readers) {
      const place = root.byName.get(column.field.name)
      if (place === undefined || !scanner.has(place)) builder.append(null)
      else if (read !== undefined) read(place.from)
      else {
        const value = text.toString('utf8', place.from, place.to)
        const parsed = parseLine(value)
        if (parsed === undefined) throw lineError(path, lines + number, value, parsed) // an integer of more digits than any number
        append(builder, column, parsed, { path, line: lines + number })
      }
    }
  }
  eachLine(text, { scanner, taken }, (line, number) => {
    const place = { path, line: lines + number }
    const row = objectOf(line, place)
    length++
    for (const { column, builder } of picked) {
      const { name } = column.field
      append(builder, column, Object.hasOwn(row, name) ? row[name] : null, place)
    }
  })
  const batch: Batch = {
    element: { kind: 'row', fields: picked.map(({ column }) => column.field) },
    length,
    columns: picked.map(({ builder }) => builder.finish()),
  }
  return [batch]
}

function append(builder: ColumnBuilder, { field, asked }: NdjsonColumn, value: unknown, place: Pick<JsonPlace, 'path' | 'line'>): void {
  if (value === null || asked === undefined) {
    builder.append(fitted(value, field.type))
    return
  }
  const stored = asked === 'json' ? jsonText(value) : askedValue(value, field.type)
  if (stored === undefined) {
    const finer = field.type.kind === 'timestamp' && typeof value === 'string' ? finerTimestamp(value) : undefined
    const cure = finer === undefined ? '' : ` It has more digits of a second: take the column as '${finer}'.`
    throw jsonError(
      { ...place, name: field.name },
      `is ${shortText(value)}, and no ${typeText(field.type)}, which { types } asks for.${cure}`,
    )
  }
  builder.append(stored)
}

/** A value as its column holds it: numbers among integers of 64 bits are bigints. */
function fitted(value: unknown, type: ColumnType): unknown {
  if (value === null) return null
  switch (type.kind) {
    case 'i64':
      return typeof value === 'number' ? BigInt(value) : value
    case 'list':
      return (value as readonly unknown[]).map((item) => fitted(item, type.item)) // as all lines were seen to be
    case 'struct': {
      const record = value as Readonly<Record<string, unknown>>
      return Object.fromEntries(
        type.fields.flatMap((field) => (Object.hasOwn(record, field.name) ? [[field.name, fitted(record[field.name], field.type)]] : [])),
      )
    }
    default:
      return value
  }
}

/** A builder of a column that the user gave a type: of timestamps it takes counts of their unit, since a Date has milliseconds. */
function askedBuilder(type: ColumnType, name: string): ColumnBuilder {
  return type.kind === 'timestamp' ? new FixedBuilder(type, FIXED_FORMS.i64, name) : createBuilder(type, name)
}

/** A value as the type that the user gave; undefined where it is none. */
function askedValue(value: unknown, type: ColumnType): unknown {
  const { kind } = type
  if (kind === 'utf8') return typeof value === 'string' ? value : undefined
  if (kind === 'bool') return typeof value === 'boolean' ? value : undefined
  const isTime = kind === 'date' || kind === 'timestamp'
  if (type.kind === 'timestamp') return typeof value === 'string' ? timestampOfText(value.trim(), type.unit) : undefined
  if (typeof value === 'string') return isTime ? valueOfField(value, type, false) : undefined
  if (isTime || (typeof value !== 'number' && typeof value !== 'bigint') || !isFixedKind(kind)) return undefined
  const isWide = kind === 'i64' || kind === 'u64'
  const number = !isWide ? Number(value) : typeof value === 'bigint' ? value : Number.isInteger(value) ? BigInt(value) : undefined
  return number !== undefined && FIXED_FORMS[kind].store(number, type) !== undefined ? number : undefined
}

function shortText(value: unknown): string {
  return typeof value === 'string' ? valueText(value) : jsonText(value).slice(0, 40)
}
