/**
 * Formats that a program brings along: it says which columns a file has and how a piece of it is read, and the table is one like all
 * others, lazy, with columns that nobody reads left out, folders that say columns, and pieces that statistics rule out skipped.
 *
 * The program's functions run on the thread that called for the result, several pieces at a time where they wait; what is
 * done with the rows runs on the workers.
 */
import type { RecordBatch, Schema, Table } from 'apache-arrow'
import { checkList } from '../core/arguments.ts'
import type { Batch, Column } from '../core/data/column.ts'
import { columnFromValues } from '../core/data/columnBuilder.ts'
import { concatColumns } from '../core/data/columnConcat.ts'
import { castColumn } from '../core/data/columnConversions.ts'
import { emptyColumn } from '../core/data/columnSlices.ts'
import { positionsOf } from '../core/data/fieldPositions.ts'
import { type ElementType, type Field, fieldsOf, namesText, sameType } from '../core/data/schema.ts'
import { kindOfValue, valueText } from '../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import { isError } from '../core/isError.ts'
import { checkOptions } from '../core/options.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { Bounds } from '../core/plan/predicate.ts'
import type { Access, ReadSplit } from '../core/ports.ts'
import type { SourceSplit } from '../core/sourceParts.ts'
import { openBytes } from './bytes/byteSource.ts'
import { inGroups, OPENED_AT_ONCE } from './bytes/inGroups.ts'
import { filesOf } from './bytes/paths.ts'
import type { ByteSource } from './bytes/source.ts'
import { type CsvType, checkCsvType, typeOfCsv } from './csv/csvValues.ts'
import { checkExpected, type ExpectOptions } from './expected.ts'
import {
  batchesOfArrow,
  type ColumnValues,
  columnOfValues,
  isArrow,
  isSchema,
  isValues,
  sharedColumn,
  wantedFields,
} from './memory/memory.ts'
import { type PartitionOptions, withPartitions } from './partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from './reading.ts'

/**
 * A file format. `Piece` is what the format says of a piece of a file, and is given when that is to be read.
 *
 * Errors that its functions throw are SourceErrors with the file's name, and they are the `cause`.
 */
export interface FileFormat<Piece extends FilePiece = FilePiece> {
  /** The format's name in messages, as 'access log'. */
  readonly name: string
  /** Says what a file has. It should read as little of it as that takes. Called for several files at a time. */
  open(file: FormatFile): FileContents<Piece> | Promise<FileContents<Piece>>
  /** The rows of a piece in their order, with the columns that are asked for at least. May be called for several pieces at a time, and for one as often as results are asked for. */
  read(file: FormatFile, piece: Piece, columns: readonly string[]): PieceRows | Promise<PieceRows>
}

/** A file, or what lies at an address, or bytes that the program has. */
export interface FormatFile {
  readonly path: string
  /** Size in bytes. */
  readonly size: number
  /** Exactly the bytes from `start` to `end`, which are all of them without arguments. SourceError where the file is shorter, or changed since it was opened. */
  bytes(start?: number, end?: number): Promise<Uint8Array>
}

export interface FileContents<Piece extends FilePiece = FilePiece> {
  /** The types of columns by name, which may all be null, as `{ at: 'timestamp', host: 'utf8', status: 'i32' }`; or a schema of Arrow. */
  readonly columns: Readonly<Record<string, CsvType>> | Schema
  /** The pieces that can be read alone, in the order of their rows: some 100,000 rows each, as they are in memory at a time. */
  readonly pieces: readonly Piece[]
}

export interface FilePiece {
  /** The number of rows, where that is known: a table whose pieces all know it is counted without reading it. */
  readonly rows?: number
  /** The smallest and the largest value of columns, nulls not counted: a filter leaves out pieces that have no row for it. Of dates and timestamps, milliseconds since 1970. */
  readonly statistics?: Readonly<Record<string, Bounds>>
}

/** Rows, in which absent fields are null; or columns; or Arrow's. */
export type PieceRows = readonly object[] | Readonly<Record<string, ColumnValues>> | RecordBatch | Table

export interface FilesOptions extends ReadOptions, PartitionOptions, ExpectOptions {}

interface FormatDetail {
  readonly path: string
  readonly stamp: string
  readonly piece: FilePiece
}

interface Opened {
  readonly path: string
  readonly fields: readonly Field[]
  readonly splits: readonly SourceSplit[]
}

/** A table of one or more files, several of which are opened at a time. SourceError where they do not have the same columns. */
export async function openFiles(source: FileSource, format: FileFormat, options: FilesOptions = {}): Promise<ArraySource> {
  checkFormat(format)
  checkReading('readFiles', options, ['partitions', 'expect'])
  const named = await filesOf(source, options)
  const access = { ...options, given: named.given }
  const opened = await inGroups([...named.paths.entries()], OPENED_AT_ONCE, ([file, path]) => openOne(path, { format, file, access }))
  for (const one of opened) checkAlike(one, opened[0])
  const splits = opened.flatMap((one) => one.splits)
  const rows = splits.every((split) => split.rows !== undefined) ? splits.reduce((sum, split) => sum + (split.rows ?? 0), 0) : undefined
  const table: ArraySource = {
    kind: 'format',
    name: named.name,
    element: { kind: 'row', fields: opened[0]?.fields ?? [] },
    ...(rows === undefined ? {} : { rows }),
    splits,
    format,
    ...requestsOf(access, named.paths),
  }
  return checkExpected(withPartitions(table, named, options), options)
}

function checkFormat(format: unknown): void {
  const given = format as Partial<FileFormat> | null | undefined
  if (typeof given !== 'object' || typeof given?.name !== 'string' || typeof given.open !== 'function' || typeof given.read !== 'function')
    throw new PlanError(
      `The format of readFiles() is an object with a name and functions open and read, as { name: 'access log', open(file) { … }, read(file, piece, columns) { … } }; it was given ${valueText(format)}.`,
    )
}

async function openOne(
  path: string,
  { format, file, access }: { readonly format: FileFormat; readonly file: number; readonly access: Access },
): Promise<Opened> {
  const bytes = await openBytes(path, access)
  try {
    const { stamp } = bytes
    const contents: unknown = await asSource({ path, format, signal: access.signal }, () => format.open(fileOf(path, bytes)))
    const { columns, pieces } = checkedContents(contents, format)
    const fields = fieldsOfColumns(columns, format)
    const splits = pieces.map((piece): SourceSplit => {
      const { rows, statistics } = checkedPiece(piece, fields, format)
      const detail: FormatDetail = { path, stamp, piece }
      const known = statistics && { statistics: new Map(Object.entries(statistics)) }
      return { ...(rows === undefined ? {} : { rows }), ...known, file, detail }
    })
    return { path, fields, splits }
  } finally {
    await bytes.close()
  }
}

function fileOf(path: string, bytes: ByteSource): FormatFile {
  return { path, size: bytes.size, bytes: (start = 0, end = bytes.size) => bytes.read(start, end) }
}

interface Place {
  readonly path: string
  readonly format: FileFormat
  readonly signal: AbortSignal | undefined
}

/** Calls a function of the format. What it throws becomes a SourceError, but for the reason of a signal. */
async function asSource<R>({ path, format, signal }: Place, call: () => R | Promise<R>): Promise<R> {
  try {
    return await untilAborted(async () => await call(), signal)
  } catch (error) {
    if (error instanceof SourceError || signal?.aborted === true) throw error
    const said = isError(error) ? error.message : valueText(error)
    throw new SourceError(`${path} could not be read as ${format.name}: ${said}`, path, { cause: error })
  }
}

/** Awaits what a function promises, or rejects with the signal's reason if that comes first: functions of programs need not know signals. */
function untilAborted<R>(call: () => Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (signal === undefined) return call()
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error) // whatever it is
    signal.addEventListener('abort', stop, { once: true })
    void call()
      .then(resolve, reject) // after an abort neither does anything
      .finally(() => signal.removeEventListener('abort', stop))
  })
}

function checkedContents(contents: unknown, format: FileFormat): FileContents {
  const given = contents as Partial<FileContents> | null | undefined
  if (typeof given !== 'object' || given === null || typeof given.columns !== 'object' || given.columns === null)
    throw new PlanError(
      `open() of ${format.name} gives what a file has, as { columns: { id: 'i32' }, pieces: [{}] }; it gave ${valueText(contents)}.`,
    )
  checkList(`The pieces of ${format.name}`, given.pieces)
  return given as FileContents
}

function fieldsOfColumns(columns: FileContents['columns'], format: FileFormat): readonly Field[] {
  if (isSchema(columns)) return wantedFields(columns, format.name)
  const fields = Object.entries(columns).map(([name, type]): Field => {
    checkCsvType(name, type, `${format.name} says`)
    return { name, type: typeOfCsv(type), nullable: true }
  })
  if (fields.length === 0)
    throw new PlanError(`open() of ${format.name} gave no columns. It gives one at least, as { columns: { id: 'i32' }, pieces: [{}] }.`)
  return fields
}

function checkedPiece(piece: unknown, fields: readonly Field[], format: FileFormat): FilePiece {
  if (typeof piece !== 'object' || piece === null)
    throw new PlanError(`A piece of ${format.name} is an object, as { rows: 1000 }; it is ${valueText(piece)}.`)
  const { rows, statistics } = piece as FilePiece
  if (rows !== undefined && !(Number.isSafeInteger(rows) && rows >= 0))
    throw new PlanError(`The rows of a piece of ${format.name} are a whole number; they are ${valueText(rows)}.`)
  if (statistics !== undefined) checkStatistics(statistics, fields, format)
  return piece
}

/** PlanError for statistics that filters cannot use: of columns that are not there, or of another kind than their column. */
function checkStatistics(statistics: unknown, fields: readonly Field[], format: FileFormat): void {
  if (typeof statistics !== 'object' || statistics === null)
    throw new PlanError(
      `The statistics of a piece of ${format.name} are an object, as { id: { min: 1, max: 9 } }; they are ${valueText(statistics)}.`,
    )
  const kinds = new Map(fields.map(({ name, type }) => [name, kindOfBound(type.kind)]))
  for (const [name, bounds] of Object.entries(statistics)) {
    const kind = kinds.get(name)
    if (kind === undefined)
      throw new PlanError(`The statistics of a piece of ${format.name} name a column "${name}", and its columns are ${namesText(fields)}.`)
    checkOptions(`The statistics of column "${name}" of ${format.name}`, bounds, ['min', 'max'])
    const { min, max } = bounds as Bounds
    for (const one of [min, max]) {
      const found = kindOfValue(one)
      if (found !== kind || Number.isNaN(one))
        throw new PlanError(
          `The statistics of column "${name}" of ${format.name} are of kind ${kind}, as its values; one is ${valueText(one)}. Leave out what is not known.`,
        )
    }
  }
}

function kindOfBound(kind: Field['type']['kind']): 'number' | 'bigint' | 'string' | 'boolean' {
  if (kind === 'utf8') return 'string'
  if (kind === 'bool') return 'boolean'
  return kind === 'i64' || kind === 'u64' ? 'bigint' : 'number'
}

/** SourceError where a file has other columns than the first. */
function checkAlike({ path, fields }: Opened, first: Opened | undefined): void {
  if (first === undefined) return
  const isAlike = fields.length === first.fields.length && fields.every((field, i) => sameField(field, first.fields[i]))
  if (isAlike) return
  throw new SourceError(
    `${path} has the columns ${namesText(fields)}, and ${first.path} has ${namesText(first.fields)}. Files read together need the same columns with the same types.`,
    path,
  )
}

function sameField(a: Field, b: Field | undefined): boolean {
  return b !== undefined && a.name === b.name && a.nullable === b.nullable && sameType(a.type, b.type)
}

export const readFormatSplit: ReadSplit = async (source, split, columns, _predicate, access = {}) => {
  const { path, stamp, piece } = split.detail as FormatDetail // made by `openOne`
  const format = source.format as FileFormat // made by `openFiles`
  const fields = pickedFields(source, columns)
  if (fields.length === 0 && piece.rows !== undefined) return [{ element: { kind: 'row', fields }, length: piece.rows, columns: [] }]
  const bytes = await openBytes(path, access)
  try {
    if (bytes.stamp !== stamp) throw new SourceError(`${path} changed since it was opened. Open it again.`, path)
    return await asSource({ path, format, signal: access.signal }, async () => {
      const given: unknown = await format.read(fileOf(path, bytes), piece, columns)
      const batch = batchOf(given, fields)
      if (piece.rows !== undefined && piece.rows !== batch.length)
        throw new Error(`read() gave ${batch.length} rows of a piece that has ${piece.rows}. Say the right number in open(), or none.`)
      return [batch]
    })
  } finally {
    await bytes.close()
  }
}

function pickedFields(source: ArraySource, columns: readonly string[]): readonly Field[] {
  const own = fieldsOf(source.element)
  const positions = positionsOf(own)
  return columns.map((name) => own[positions.get(name) ?? -1] as Field) // a plan names columns that there are
}

function batchOf(given: unknown, fields: readonly Field[]): Batch {
  const element: ElementType = { kind: 'row', fields }
  const columns = Array.isArray(given)
    ? columnsOfRows(given, fields)
    : isArrow(given)
      ? columnsOfArrow(given, fields)
      : columnsOfValues(given, fields)
  const wrong = fields.findIndex(({ nullable }, i) => !nullable && columns[i]?.validity !== undefined)
  if (wrong >= 0) throw new Error(`Column "${fields[wrong]?.name}" is not nullable in its schema, and has nulls. Make it nullable there.`)
  // a program may fill its arrays again for the next piece; in shared memory they go to threads without another copy
  return { element, length: lengthOf(given, columns), columns: columns.map(sharedColumn) }
}

/** The number of rows that were given, which need not have any column that was asked for. */
function lengthOf(given: unknown, [first]: readonly Column[]): number {
  if (Array.isArray(given)) return given.length
  return isArrow(given) ? given.numRows : (first?.length ?? Object.values(given as Readonly<Record<string, ColumnValues>>)[0]?.length ?? 0)
}

function columnsOfRows(rows: readonly unknown[], fields: readonly Field[]): readonly Column[] {
  const wrong = rows.findIndex((row) => typeof row !== 'object' || row === null)
  if (wrong >= 0) throw new Error(`Row ${wrong} that read() gave is ${valueText(rows[wrong])}, and rows are objects.`)
  return fields.map(({ name, type }) => {
    const values = (rows as readonly Readonly<Record<string, unknown>>[]).map((row) => (Object.hasOwn(row, name) ? row[name] : null))
    return columnFromValues(values, type, name)
  })
}

function columnsOfArrow(given: RecordBatch | Table, fields: readonly Field[]): readonly Column[] {
  const batches = batchesOfArrow(given)
  return fields.map(({ name, type }) => {
    const at = given.schema.fields.findIndex((field) => field.name === name)
    if (at < 0) throw new Error(`read() gave no column "${name}", which open() names: its third argument says which are wanted.`)
    const pieces = batches.map(({ columns }) => columns[at] as Column) // a column for each field
    const column = pieces.length === 1 ? (pieces[0] as Column) : concatColumns(pieces.length === 0 ? [emptyColumn(type)] : pieces)
    return sameType(column.type, type) ? column : castTo(column, type, name)
  })
}

function columnsOfValues(given: unknown, fields: readonly Field[]): readonly Column[] {
  if (typeof given !== 'object' || given === null || !Object.values(given).every(isValues))
    throw new Error(
      `read() gives rows, as [{ id: 1 }], or columns, as { id: [1] }, or a record batch of Arrow; it gave ${valueText(given)}.`,
    )
  const columns = new Map(Object.entries(given as Readonly<Record<string, ColumnValues>>))
  const [[firstName, first] = ['', []]] = columns
  for (const [name, { length }] of columns)
    if (length !== first.length)
      throw new Error(`read() gave columns of different lengths: "${firstName}" has ${first.length} values, and "${name}" has ${length}.`)
  return fields.map(({ name, type }) => {
    const values = columns.get(name)
    if (values === undefined)
      throw new Error(`read() gave no column "${name}", which open() names: its third argument says which are wanted.`)
    return columnOfValues(name, values, type)
  })
}

function castTo(column: Column, type: Field['type'], name: string): Column {
  try {
    return castColumn(column, type)
  } catch (error) {
    throw error instanceof PlanError ? new PlanError(`Column "${name}": ${error.message}`) : error
  }
}
