/** A batch as a Parquet file of one row group, made by parquet-wasm. */
import type { Batch, Column } from '../../core/data/column.ts'
import type { NewArray } from '../../core/data/columnSlices.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import type { ParquetCompression } from '../../core/engine.ts'
import { Bug } from '../../core/errors.ts'
import { toSharedArrowTable } from '../arrow/arrowBatches.ts'
import { streamOf } from '../arrow/arrowStream.ts'
import { hasFewValues } from './fewValues.ts'
import { WasmFailure, withParquetWasm } from './wasm.ts'

/** How a row group is encoded. */
export interface GroupEncoding {
  readonly compression: ParquetCompression
  readonly compatibility?: 'v1'
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

/** What the encoder is given is made by `newArray`. Whoever asks for it, on whatever thread, has awaited `loadParquet` on the caller's. */
export function encodeGroup(group: Batch, { compression, compatibility }: GroupEncoding, newArray: NewArray): Uint8Array {
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
