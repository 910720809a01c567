/** Batches as a Parquet file of one row group, made by parquet-wasm. */
import type { Batch, Column } from '../../../core/data/column.ts'
import type { NewArray } from '../../../core/data/columnSlices.ts'
import { type ElementType, type Field, fieldsOf } from '../../../core/data/schema.ts'
import type { ParquetCompression } from '../../../core/engine.ts'
import { Bug } from '../../../core/errors.ts'
import { toSharedArrowTable } from '../../arrow/arrowBatches.ts'
import { streamOf } from '../../arrow/arrowStream.ts'
import type { Lent } from '../../lent.ts'
import { bytesOfColumn, joinBatches } from '../../regroup.ts'
import { WasmFailure, withParquetWasm } from '../wasm.ts'
import { hasFewValues } from './fewValues.ts'
import { joinedColumns } from './joinedColumns.ts'

/** How a row group is encoded. */
export interface GroupEncoding {
  readonly compression: ParquetCompression
  readonly compatibility?: 'v1'
  /** Columns that are encoded together have so many bytes at most, or are one. */
  readonly pieceBytes?: number
}

/** The names that the encoder has for them. */
const CODECS = {
  snappy: 'SNAPPY',
  zstd: 'ZSTD',
  gzip: 'GZIP',
  brotli: 'BROTLI',
  lz4: 'LZ4_RAW',
  none: 'UNCOMPRESSED',
} as const satisfies Readonly<Record<ParquetCompression, string>>

/** Of which the encoder holds three or four times as many. */
const PIECE_BYTES = 2 ** 22

/** Rows that become a row group. */
export interface GroupRows {
  readonly parts: readonly Batch[]
  readonly element: ElementType
}

/**
 * Some columns after others, so that the memory of the encoder does not grow with the row group. Whoever asks for it, on whatever
 * thread, has awaited `loadParquet` on the caller's. `lent`: what columns are copied into, once for each piece.
 */
export function encodeGroup({ parts, element }: GroupRows, encoding: GroupEncoding, lent: Lent): Uint8Array {
  const pieces = piecesOf({ parts, element }, encoding.pieceBytes ?? PIECE_BYTES).map((fields) => {
    const of = fields.map((field) => fieldsOf(element)[field] as Field) // their places
    const some: ElementType = { kind: 'row', fields: of }
    const columnsOf = (part: Batch): Batch => ({ ...part, element: some, columns: fields.map((field) => part.columns[field] as Column) }) // a column for each field
    const columns = joinBatches(parts.map(columnsOf), some, lent.newArray)
    const file = encodedColumns(columns, encoding, lent.newArray)
    lent.again(file.length)
    return file
  })
  return joinedColumns(pieces, lent.newBytes)
}

/** The places of the columns that are encoded together. */
function piecesOf({ parts, element }: GroupRows, most: number): readonly (readonly number[])[] {
  const pieces: number[][] = []
  let bytes = 0
  for (let field = 0; field < fieldsOf(element).length; field++) {
    const own = parts.reduce((sum, { columns }) => sum + bytesOfColumn(columns[field] as Column), 0) // a column for each field
    const last = pieces.at(-1)
    if (last === undefined || bytes + own > most) {
      pieces.push([field])
      bytes = own
    } else {
      last.push(field)
      bytes += own
    }
  }
  return pieces
}

/** What the encoder is given is made by `newArray`. */
function encodedColumns(group: Batch, { compression, compatibility }: GroupEncoding, newArray: NewArray): Uint8Array {
  const ipc = streamOf(toSharedArrowTable(group), newArray)
  try {
    return withParquetWasm((wasm) => {
      const codec = wasm.Compression[CODECS[compression]]
      let builder = new wasm.WriterPropertiesBuilder()
        .setCompression(codec)
        .setWriterVersion(wasm.WriterVersion.V1)
        .setMaxRowGroupSize(Math.max(1, group.length))
      if (compatibility === 'v1') builder = builder.setDictionaryEnabled(false)
      else for (const name of manyValued(group)) builder = builder.setColumnDictionaryEnabled(name, false)
      return wasm.writeParquet(wasm.Table.fromIPCStream(ipc), builder.build())
    })
  } catch (error) {
    if (error instanceof WasmFailure) throw new Bug(`The Parquet encoder refused a row group: ${error.message}.`)
    throw error
  }
}

/** Names of columns of which a dictionary would have nearly as many entries as the column values: it takes longer than all else, and no less room. */
function manyValued({ element, columns }: Batch): string[] {
  return fieldsOf(element).flatMap(({ name }, i) => (hasFewValues(columns[i] as Column) ? [] : [name])) // one for each field
}
