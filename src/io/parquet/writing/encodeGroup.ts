/** Batches as a Parquet file of one row group, made by parquet-wasm. */
import { type Batch, type Column, isValid } from '../../../core/data/column.ts'
import { type NewArray, takeColumn } from '../../../core/data/columnSlices.ts'
import { type ElementType, type Field, fieldsOf } from '../../../core/data/schema.ts'
import type { ParquetCompression } from '../../../core/engine.ts'
import { Bug } from '../../../core/errors.ts'
import { toSharedArrowTable } from '../../arrow/arrowBatches.ts'
import { streamOf } from '../../arrow/arrowStream.ts'
import type { Lent } from '../../lent.ts'
import { bytesOfColumn, joinBatches, rowsOf } from '../../regroup.ts'
import { WasmFailure, withParquetWasm } from '../wasm.ts'
import { codedColumn } from './codedColumn.ts'
import { codesOf, hasCodes } from './codes.ts'
import { hasFewValues } from './fewValues.ts'
import { joinedColumns, type Opened, openedFile } from './joinedColumns.ts'

/** The options by which a row group is encoded. */
export interface GroupEncoding {
  readonly compression: ParquetCompression
  readonly compatibility?: 'v1'
  /** Most bytes of columns that are encoded together; one column alone may have more. */
  readonly pieceBytes?: number
  /** The number of rows from which dictionary codes are made here; with fewer, calling the encoder for each column costs more. */
  readonly numberedRows?: number
}

/** The encoder's names of the codecs. */
const CODECS = {
  snappy: 'SNAPPY',
  zstd: 'ZSTD',
  gzip: 'GZIP',
  brotli: 'BROTLI',
  lz4: 'LZ4_RAW',
  none: 'UNCOMPRESSED',
} as const satisfies Readonly<Record<ParquetCompression, string>>

/** The default of `pieceBytes`; the encoder holds three or four times as many. */
const PIECE_BYTES = 2 ** 22

/** The size at which the encoder ends a dictionary; the values that follow are written plain. */
const DICTIONARY_BYTES = 2 ** 20

const NUMBERED_ROWS = 8192

/** Rows that become a row group. */
export interface GroupRows {
  readonly parts: readonly Batch[]
  readonly element: ElementType
}

/**
 * Encodes the columns of a row group a piece after another, so that the memory of the encoder does not grow with the row group. Before any
 * thread calls it, `loadParquet` was awaited on the caller's. `lent` makes the memory that columns are copied into, again for each piece.
 */
export function encodeGroup({ parts, element }: GroupRows, encoding: GroupEncoding, lent: Lent): Uint8Array {
  const rows = rowsOf(parts)
  const columns = fieldsOf(element).map((field, i): GroupColumn => {
    const own = parts.map((part) => part.columns[i] as Column) // a column for each field
    const bytes = own.reduce((sum, part) => sum + bytesOfColumn(part), 0)
    return { field, parts: own, bytes, ...dictionaryOf(field, own, encoding) }
  })
  const files = piecesOf(columns, rows === 0 ? Number.POSITIVE_INFINITY : (encoding.pieceBytes ?? PIECE_BYTES)).map((piece) => {
    const file = numbered(piece, encoding, lent.newArray) ?? encodedColumns(piece, encoding, lent.newArray)
    lent.again(file.body.length)
    return file
  })
  return joinedColumns(files, lent.newBytes)
}

/** A column of the row group, and how it is encoded. */
interface GroupColumn {
  readonly field: Field
  readonly parts: readonly Column[]
  readonly bytes: number
  /** Whether it gets a dictionary, which is the encoder's work unless it is numbered here. */
  readonly hasDictionary: boolean
  readonly isNumbered: boolean
}

/**
 * The choice of encoding for a column. A dictionary that would have nearly as many entries as the column values takes longer than all else,
 * and no less room. Codecs other than snappy still compress pages of codes, which are left to the encoder then.
 */
function dictionaryOf(
  { type }: Field,
  parts: readonly Column[],
  { compression, compatibility, numberedRows = NUMBERED_ROWS }: GroupEncoding,
): Pick<GroupColumn, 'hasDictionary' | 'isNumbered'> {
  const hasDictionary = compatibility !== 'v1' && hasFewValues(parts)
  const rows = parts.reduce((sum, { length }) => sum + length, 0)
  const isNumbered = hasDictionary && rows >= numberedRows && hasCodes(type) && (compression === 'snappy' || compression === 'none')
  return { hasDictionary, isNumbered }
}

/** Divides columns into pieces that are encoded together; a column whose codes are made here is alone in its piece. */
function piecesOf(columns: readonly GroupColumn[], most: number): readonly (readonly GroupColumn[])[] {
  const pieces: GroupColumn[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const column of columns) {
    if (pieces.length === 0 || column.isNumbered || bytes + column.bytes > most) {
      pieces.push([column])
      bytes = column.isNumbered ? Number.POSITIVE_INFINITY : column.bytes
    } else {
      pieces.at(-1)?.push(column)
      bytes += column.bytes
    }
  }
  return pieces
}

/** Encodes a column with dictionary codes made here; undefined where it is not chosen for that, or `codesOf` or `codedColumn` gives nothing. */
function numbered([column]: readonly GroupColumn[], encoding: GroupEncoding, newArray: NewArray): Opened | undefined {
  if (column?.isNumbered !== true) return undefined
  const codes = codesOf(column.parts, DICTIONARY_BYTES, newArray)
  if (codes === undefined) return undefined
  const file = encodedColumns([{ ...column, parts: [codes.values] }], encoding, newArray)
  return codedColumn(file, codes, { isNullable: column.field.nullable, isPacked: encoding.compression === 'snappy', newArray })
}

/** Encodes the columns of a piece by parquet-wasm, from copies in memory that `newArray` makes. */
function encodedColumns(piece: readonly GroupColumn[], { compression, compatibility }: GroupEncoding, newArray: NewArray): Opened {
  const element: ElementType = { kind: 'row', fields: piece.map(({ field }) => field) }
  const [first] = piece as readonly [GroupColumn] // there is one
  const batches = first.parts.map(
    (part, i): Batch => ({ element, length: part.length, columns: piece.map(({ parts }) => spelled(parts[i] as Column, newArray)) }),
  ) // as many parts each
  const group = joinBatches(batches, element, newArray)
  const ipc = streamOf(toSharedArrowTable(group), newArray)
  try {
    return withParquetWasm((wasm) => {
      const codec = wasm.Compression[CODECS[compression]]
      let builder = new wasm.WriterPropertiesBuilder()
        .setCompression(codec)
        .setWriterVersion(wasm.WriterVersion.V1)
        .setMaxRowGroupSize(Math.max(1, group.length))
      if (compatibility === 'v1') builder = builder.setDictionaryEnabled(false)
      else for (const { field, hasDictionary } of piece) if (!hasDictionary) builder = builder.setColumnDictionaryEnabled(field.name, false)
      return openedFile(wasm.writeParquet(wasm.Table.fromIPCStream(ipc), builder.build()))
    })
  } catch (error) {
    if (error instanceof WasmFailure) throw new Bug(`The Parquet encoder refused a row group: ${error.message}.`)
    throw error
  }
}

/** The column with its texts written out, where they come as dictionary codes. */
function spelled(column: Column, newArray: NewArray): Column {
  const { dictionary, values, length } = column
  if (dictionary === undefined) return column
  const entries = Int32Array.from({ length }, (_, row) => (isValid(column, row) ? (values?.[row] as number) : -1)) // a code for each row
  return takeColumn(dictionary, entries, newArray)
}
