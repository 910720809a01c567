/**
 * Reads one piece of a CSV file: its records, some thousand fields at a time, into columns, of which only those asked for
 * are made.
 */
import type { Batch } from '../../core/data/column.ts'
import { type ColumnType, type Field, typeText } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import type { Access, CsvMemory, ReadSplit } from '../../core/ports.ts'
import { openBytes } from '../bytes/byteSource.ts'
import type { ByteSource } from '../bytes/source.ts'
import type { Unpacked } from '../bytes/unpacked.ts'
import { checkUtf8, markBytes, readRange } from '../text.ts'
import { finerTimestamp } from '../timestampTexts.ts'
import { appendFields, type CsvColumn, type CsvColumnReader, columnReader } from './csvColumns.ts'
import { type CsvFormat, isPlainFormat } from './csvFormat.ts'
import { lineAtByte } from './csvPieces.ts'
import { type CsvField, CsvRecords, MalformedRecord, QUOTED_EMPTY } from './csvRecords.ts'

export interface CsvDetail {
  readonly path: string
  readonly stamp: string
  readonly start: number
  readonly end: number
  /** Records to pass over: the header. */
  readonly skip: number
  readonly format: CsvFormat
  readonly columns: readonly CsvColumn[]
  readonly unpacked?: Unpacked
}

export const readCsvSplit: ReadSplit = async (_source, split, names, _predicate, access) => {
  const detail = split.detail as CsvDetail // made by `openCsv`
  const kernels = access?.csv
  if (kernels === undefined || !isPlainFormat(detail.format) || 2 * detail.columns.length > kernels.mostBounds)
    return [await readPiece(detail, names, access)]
  return [await kernels.withMemory(detail.end - detail.start, (memory) => readPiece(detail, names, access, memory))]
}

async function readPiece(detail: CsvDetail, names: readonly string[], access: Access | undefined, memory?: CsvMemory): Promise<Batch> {
  const { path, format } = detail
  const { delimiter } = format
  const bytes = checkUtf8(held(await readRange(detail, access, memory?.bytes), memory), path)
  const picked = pickedColumns(detail, names)
  const records = new CsvRecords({ bytes, delimiter, format, from: detail.start === 0 ? markBytes(bytes) : 0, memory })
  try {
    const length = readRecords(records, detail, picked)
    const columns = picked.map(({ reader }) => reader.finish())
    const fields = picked.map(({ column }): Field => ({ name: column.name, type: column.type, nullable: true }))
    return { element: { kind: 'row', fields }, length, columns }
  } catch (error) {
    if (error instanceof MalformedRecord) throw await malformedIn(detail, error, access)
    throw error instanceof Misfit ? await misfitIn(detail, error, access) : error
  }
}

/** The bytes in the memory, where there is one: servers send theirs in buffers of their own. */
function held(bytes: Uint8Array, memory: CsvMemory | undefined): Uint8Array {
  if (memory === undefined || bytes.buffer === memory.bytes.buffer) return bytes
  memory.bytes.set(bytes)
  return memory.bytes
}

interface Picked {
  readonly index: number
  readonly column: CsvColumn
  readonly reader: CsvColumnReader
}

/** A field that does not fit its column, and the byte at which its record begins. */
class Misfit {
  readonly at: number
  readonly field: CsvField
  readonly column: CsvColumn
  constructor(at: number, field: CsvField, column: CsvColumn) {
    this.at = at
    this.field = field
    this.column = column
  }
}

function pickedColumns(detail: CsvDetail, names: readonly string[]): Picked[] {
  const indexes = new Map(detail.columns.map((column, index) => [column.name, index]))
  return names.map((name) => {
    const index = indexes.get(name) ?? -1
    const column = detail.columns[index]
    if (column === undefined) throw new PlanError(`${detail.path} has no column "${name}".`)
    return { index, column, reader: columnReader(column, detail.format.decimal) }
  })
}

/** Reads all records, whose fields go to the readers; returns how many there are. */
function readRecords(records: CsvRecords, detail: CsvDetail, picked: readonly Picked[]): number {
  const width = detail.columns.length
  let length = 0
  let kept = 0
  const flush = (): void => {
    appendRecords(records, { width, count: kept, nullValues: detail.format.nullValues }, picked)
    records.drop()
    length += kept
    kept = 0
  }
  try {
    for (let skip = detail.skip; skip > 0; skip--) records.next()
    for (;;) {
      kept += records.keepPlain(width)
      if (records.isFull) flush()
      else if (!records.next()) break
      else if (records.width === width) {
        kept++
        records.keep()
      } else if (!records.isEmpty)
        throw new MalformedRecord(records.start, `the record has ${records.width} fields, and the table ${width} columns.`)
    }
  } catch (error) {
    flush() // a field before it may not fit its column: of two complaints, the first is told
    throw error
  }
  flush()
  return length
}

/** Throws a Misfit for the first field that does not fit, in the order of records and then of the columns asked for. */
function appendRecords(
  records: CsvRecords,
  { width, count, nullValues }: { readonly width: number; readonly count: number; readonly nullValues: readonly Uint8Array[] },
  picked: readonly Picked[],
): void {
  const step = 2 * width
  let fitting = count
  let odd: Picked | undefined
  for (const one of picked) {
    const appended = appendFields(one.reader, { records, place: 2 * one.index, step, count: fitting }, nullValues)
    if (appended < fitting) [fitting, odd] = [appended, one]
  }
  if (odd === undefined) return
  const place = fitting * step
  const first = records.bounds[place] ?? 0
  throw new Misfit(first < 0 ? ~first - 1 : first, records.text(place + 2 * odd.index), odd.column)
}

/** The error for quotes that make no sense in a file of which the bytes begin at `start`. */
export async function malformed(bytes: ByteSource, path: string, { at, what }: MalformedRecord, start: number = 0): Promise<SourceError> {
  return new SourceError(`${path}, line ${await lineAtByte(bytes, start + at)}: ${what}`, path)
}

async function malformedIn({ path, start, unpacked }: CsvDetail, error: MalformedRecord, access: Access | undefined): Promise<SourceError> {
  return await withBytes(unpacked?.at ?? path, access, (bytes) => malformed(bytes, path, error, start))
}

async function withBytes<T>(path: string, access: Access | undefined, work: (bytes: ByteSource) => Promise<T>): Promise<T> {
  const bytes = await openBytes(path, access)
  try {
    return await work(bytes)
  } finally {
    await bytes.close()
  }
}

/** Numbers with commas, for decimals or between thousands. */
const COMMAS = /^\s*[+-]?[\d.]*(?:,[\d.]+)+\s*$/
const ISO = /^\s*[+-]?\d{4,6}-/

/** The advice for a text in a form that is not read; empty where there is none. */
function otherForm(type: ColumnType, text: string, { decimal }: CsvFormat): string {
  const cure = "take the column as 'utf8', and convert it in map()."
  if (type.kind === 'timestamp' || type.kind === 'date') {
    const finer = type.kind === 'timestamp' ? finerTimestamp(text) : undefined
    if (finer !== undefined) return ` It has more digits of a second: take the column as '${finer}'.`
    return ISO.test(text) ? '' : ` Dates are ISO 8601, as 2024-03-01: ${cure}`
  }
  if (decimal === ',') return /^[+-]?\d*\.\d+$/.test(text.trim()) ? ' Points stand between thousands, and a comma before decimals.' : ''
  return COMMAS.test(text)
    ? ` Numbers are read without commas, with a decimal point: with decimal commas read them with { decimal: ',' }, or ${cure}`
    : ''
}

async function misfitIn(
  { path, start, unpacked, format }: CsvDetail,
  { at, field, column }: Misfit,
  access: Access | undefined,
): Promise<SourceError> {
  const { name, type, guessed } = column
  const line = await withBytes(unpacked?.at ?? path, access, (bytes) => lineAtByte(bytes, start + at))
  const text = field === QUOTED_EMPTY ? '' : field
  const what = `${path}, line ${line}, column "${name}": ${valueText(text)} is not ${typeText(type)}`
  if (!guessed) return new SourceError(`${what}, which { types } asks for.${otherForm(type, text, format)}`, path)
  const other = type.kind === 'f64' && /^[+-]?\d+$/.test(text.trim()) && !/^[+-]?0\d/.test(text.trim()) ? 'i64' : 'utf8'
  return new SourceError(
    `${what}, which the first MiB of the file suggests. Say what it is: { types: { ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: '${other}' } }.`,
    path,
  )
}
