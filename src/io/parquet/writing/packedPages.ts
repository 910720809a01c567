/**
 * Bytes packed by the encoder's codecs: the inverse of `../unpackedPages.ts`.
 *
 *     bytes of any lengths        one after another
 *     what the encoder sees       one row, with a column for each of them
 *     what is taken of its file   the body of the one page of each column
 */
import { Bug } from '../../../core/errors.ts'
import { Field, FixedSizeBinary, makeData, RecordBatch, Schema, Struct, Table, tableToIPC } from '../../arrow/arrowLibrary.ts'
import { decodeThrift, intOf, structOf, structsOf, ThriftReader } from '../thrift.ts'
import { WasmFailure, withParquetWasm } from '../wasm.ts'

/** Packs each of `parts`, in their order; none of them may be empty. Callers have awaited `loadParquet`. */
export function packedPages(parts: readonly Uint8Array[], codec: 'ZSTD' | 'LZ4_RAW'): readonly Uint8Array[] {
  const row = rowOf(parts)
  try {
    return withParquetWasm((wasm) => {
      const properties = new wasm.WriterPropertiesBuilder()
        .setCompression(wasm.Compression[codec])
        .setWriterVersion(wasm.WriterVersion.V1)
        .setDictionaryEnabled(false)
        .setStatisticsEnabled(wasm.EnabledStatistics.None)
        .build()
      return pagesOf(wasm.writeParquet(wasm.Table.fromIPCStream(row), properties), parts.length)
    })
  } catch (error) {
    if (error instanceof WasmFailure) throw new Bug(`The encoder refused bytes to pack: ${error.message}.`)
    throw error
  }
}

function rowOf(parts: readonly Uint8Array[]): Uint8Array {
  const schema = new Schema(parts.map((part, i) => new Field(`${i}`, new FixedSizeBinary(part.length), false)))
  const children = parts.map((part) => makeData({ type: new FixedSizeBinary(part.length), length: 1, nullCount: 0, data: part }))
  const struct = makeData({ type: new Struct(schema.fields), length: 1, nullCount: 0, children })
  return tableToIPC(new Table(schema, [new RecordBatch(schema, struct)]), 'stream')
}

function pagesOf(file: Uint8Array, count: number): readonly Uint8Array[] {
  const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true)
  const [group] = structsOf(decodeThrift(file.subarray(file.length - 8 - length, file.length - 8)), 4) ?? []
  const chunks = (group && structsOf(group, 1)) ?? []
  if (chunks.length !== count) throw new Bug('The encoder wrote other columns than it was given.')
  return chunks.map((chunk) => {
    const meta = structOf(chunk, 3)
    const reader = new ThriftReader(file, (meta && intOf(meta, 9)) ?? 0)
    const bytes = intOf(reader.struct(), 3) ?? 0
    return file.subarray(reader.offset, reader.offset + bytes)
  })
}
