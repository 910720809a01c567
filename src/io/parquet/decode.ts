/**
 * Columns of one row group, from checked pages to Arrow columns, by parquet-wasm.
 *
 * Columns that are small by what their pages declare are decoded together, in one go. A column that is large, or turns
 * out larger than its pages said, is decoded alone and taken over a batch of rows at a time, so that the decoder need
 * not hold it twice.
 */

import type * as ArrowFields from 'apache-arrow'
import type { Table } from 'apache-arrow'
import type { Column } from '../../core/data/column.ts'
import { concatColumns } from '../../core/data/columnConcat.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import { columnOfVector } from '../arrow/arrowColumns.ts'
import { Field as ArrowField, Dictionary, Int32, RecordBatchStreamWriter, Schema, tableFromIPC, Utf8 } from '../arrow/arrowLibrary.ts'
import { arrowTypeOf, columnError, type Place } from '../arrow/arrowTypes.ts'
import { changedColumn } from './annotations.ts'
import type { FileDetail } from './describe.ts'
import { checkInt96 } from './int96.ts'
import { type Destination, nativeColumns, type ReadyColumn } from './nativeColumns.ts'
import { pagedColumns } from './pagedColumns.ts'
import { type GroupPart, singleGroupFile } from './singleGroup.ts'
import { decodeThrift } from './thrift.ts'
import { fullFailure, WasmFailure, withParquetDecoder } from './wasm.ts'

/** Decoder memory, at most, per byte of values that it hands over in one batch: the file, the values, three forms of the message. */
const BYTES_A_BYTE = 8

/** The size aimed at for a batch, where a column is taken over a batch of rows at a time. */
const BATCH_BYTES = 8 * 2 ** 20
/** The least number of such batches: a column may be larger than its pages declare. */
const LEAST_BATCHES = 64

/** Whether columns of this many bytes, by what their pages declare, are decoded together. */
export function fitTogether(file: FileDetail, likelyBytes: number): boolean {
  return likelyBytes * BYTES_A_BYTE <= file.limits.quickBytes
}

/** Decodes columns of `rows` rows each and yields them in their order. Throws a SourceError that names the one that cannot be decoded. */
export function* decodeColumns(file: FileDetail, columns: readonly ReadyColumn[], rows: number, to: Destination = {}): Generator<Column> {
  const likely = columns.reduce((sum, column) => sum + column.likelyBytes, 0)
  const native = columns.length > 0 && fitTogether(file, likely) ? decodedNatively(file, columns, rows, to) : undefined
  if (native !== undefined) {
    yield* native
    return
  }
  if (columns.length > 1 && columns.every(({ detail }) => detail.int96 === undefined) && fitTogether(file, likely)) {
    const together = tablesOf(file, columns, { rows, hint: undefined })
    if (!(together instanceof WasmFailure)) {
      for (const [i, column] of columns.entries()) yield converted(file, column, columnOfTables(together, i, rows, placeOf(file, column)))
      return
    }
  }
  for (const column of columns) yield decodeAlone(file, column, rows)
}

/** Decodes columns without Arrow messages, texts as dictionary codes where `to` allows; undefined where one cannot come this way. */
function decodedNatively(file: FileDetail, columns: readonly ReadyColumn[], rows: number, to: Destination): readonly Column[] | undefined {
  if (columns.some(({ detail: { int96 } }) => int96 !== undefined)) return undefined
  const decoded = pagedColumns(file, columns, rows, to)
  for (const coded of decoded.includes(undefined) ? [true, false] : []) {
    const places = columns.flatMap((column, i) => (decoded[i] === undefined && mayBeCoded(column, to) === coded ? [i] : []))
    const some = places.map((i) => columns[i] as ReadyColumn) // one for each place
    const into = to.into && ((column: number) => to.into?.(places[column] as number))
    const found = some.length === 0 ? [] : decodedTogether(file, some, { rows, coded, to: { ...to, into } })
    if (found === undefined) return undefined
    for (const [i, column] of found.entries()) decoded[places[i] as number] = column
  }
  return decoded as readonly Column[] // each came from pages, as codes, or from the decoder
}

/** The part that a column is of the file that the decoder reads. */
export function partOf({ detail: { elements }, chunks }: ReadyColumn): GroupPart {
  return { elements: elements.map(decodeThrift), chunks }
}

function mayBeCoded({ isCoded, detail: { type } }: ReadyColumn, { dictionaries }: Destination): boolean {
  return dictionaries === true && isCoded && type.kind === 'utf8'
}

interface Together {
  readonly rows: number
  /** Whether all columns are texts that come as dictionary codes. */
  readonly coded: boolean
  readonly to: Destination
}

function decodedTogether(file: FileDetail, columns: readonly ReadyColumn[], { rows, coded, to }: Together): readonly Column[] | undefined {
  const details = columns.map(({ detail }) => detail)
  const parts = columns.map(partOf)
  const keyValues = coded ? [['ARROW:schema', dictionariesHint(columns)] as const] : []
  const bytes = singleGroupFile(parts, rows, { scratch: to.scratch, keyValues })
  try {
    return withParquetDecoder(file.limits.quickBytes, (wasm) => {
      const table = wasm.readParquet(bytes, { batchSize: rows }).intoFFI()
      try {
        const [array, another] = table.arrayAddrs()
        if (array === undefined || another !== undefined) return undefined
        const memory = wasm.wasmMemory() as WebAssembly.Memory
        return nativeColumns({ memory, schema: table.schemaAddr(), array }, details, rows, to)
      } finally {
        table.free()
      }
    })
  } catch (error) {
    if (error instanceof WasmFailure) return undefined
    throw error
  }
}

export function placeOf(file: FileDetail, column: ReadyColumn): Place {
  return { source: file.path, column: column.name }
}

export function converted(file: FileDetail, { name, detail }: ReadyColumn, column: Column): Column {
  return changedColumn(column, detail.changes, { source: file.path, column: name })
}

function decodeAlone(file: FileDetail, column: ReadyColumn, rows: number): Column {
  const place = placeOf(file, column)
  const { int96 } = column.detail
  const hint = int96 === undefined ? undefined : int96Hint(column.name, int96)
  const read = columnOfTables(decoded(file, column, rows, hint), 0, rows, place)
  if (hint !== undefined) checkInt96(read, columnOfTables(decoded(file, column, rows, undefined), 0, rows, place), place)
  return converted(file, column, read)
}

function decoded(file: FileDetail, column: ReadyColumn, rows: number, hint: string | undefined): readonly Table[] {
  let tables: readonly Table[] | WasmFailure | undefined
  if (fitTogether(file, column.likelyBytes)) tables = tablesOf(file, [column], { rows, hint })
  if (tables === undefined || (tables instanceof WasmFailure && tables.full && rows > 1)) {
    const batches = Math.max(LEAST_BATCHES, Math.ceil(column.likelyBytes / BATCH_BYTES))
    tables = tablesOf(file, [column], { rows, batchRows: Math.ceil(rows / batches), hint })
  }
  if (!(tables instanceof WasmFailure)) return tables
  throw columnError(placeOf(file, column), `it cannot be decoded: ${tables.message}.${tables.full ? CURE : ''}`, tables)
}

const CURE = ' Write the file with smaller row groups, or give the session more memory.'

interface Reading {
  readonly rows: number
  /** Rows of a batch; absent: all rows are one batch. */
  readonly batchRows?: number
  readonly hint: string | undefined
}

/** Decodes columns to tables of one record batch each, in row order; returns the failure where the decoder fails or gives too much. */
function tablesOf(file: FileDetail, columns: readonly ReadyColumn[], { rows, hint, batchRows }: Reading): readonly Table[] | WasmFailure {
  const bytes = singleGroupFile(columns.map(partOf), rows, { keyValues: hint === undefined ? [] : [['ARROW:schema', hint]] })
  const most = file.limits.columnBytes * columns.length
  const streams: Uint8Array[] = []
  let taken = 0
  try {
    withParquetDecoder(batchRows === undefined ? file.limits.quickBytes : file.limits.slowBytes, (wasm) => {
      const table = wasm.readParquet(bytes, { batchSize: batchRows ?? rows })
      if (table.numBatches <= 1) {
        const stream = table.intoIPCStream()
        taken = stream.length
        streams.push(stream)
        return
      }
      const batches = table.recordBatches()
      table.free()
      for (const batch of batches) {
        if (taken > most) batch.free()
        else {
          const stream = batch.intoIPCStream()
          taken += stream.length
          streams.push(stream)
        }
      }
    })
  } catch (error) {
    if (error instanceof WasmFailure) return error
    throw error
  }
  return taken > most ? fullFailure() : streams.map((stream) => tableFromIPC(stream))
}

/** Concatenates column `index` of tables that hold consecutive rows. */
export function columnOfTables(tables: readonly Table[], index: number, rows: number, place: Place): Column {
  const vectors = tables.map((table) => table.getChildAt(index))
  const decodedRows = vectors.reduce((sum, vector) => sum + (vector?.length ?? 0), 0)
  if (vectors.includes(null) || decodedRows !== rows)
    throw columnError(place, `${decodedRows} rows were decoded instead of ${rows}: the file is damaged.`)
  return concatColumns(
    vectors.flatMap((vector) => (vector === null ? [] : [columnOfVector(vector, place)])),
    place.column,
  )
}

/** An Arrow schema that asks the decoder for microseconds. */
function int96Hint(name: string, type: ColumnType): string {
  return schemaHint([new ArrowField(name, arrowTypeOf(type, name), true)])
}

/** An Arrow schema that asks the decoder for texts as dictionary codes. */
function dictionariesHint(columns: readonly ReadyColumn[]): string {
  return schemaHint(columns.map(({ name }) => new ArrowField(name, new Dictionary(new Utf8(), new Int32()), true)))
}

/** An Arrow schema in the form Parquet files carry it. */
function schemaHint(fields: readonly ArrowFields.Field[]): string {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, new Schema([...fields]))
  writer.finish()
  return Buffer.from(writer.toUint8Array(true)).toString('base64')
}
