/**
 * Packed bytes, unpacked by the decoder's codecs.
 *
 *     packed bytes            of any origin, each with the length that it unpacks to
 *     what the decoder sees   one column of single bytes, of which these are the pages
 *     what it gives           the bytes that they unpack to, one page behind the other
 */
import type { PackedPage, Scratch } from '../../core/ports.ts'
import { onlyBytes } from './nativeColumns.ts'
import { singleGroupFile } from './singleGroup.ts'
import { encodeThrift, i32, STRUCT, type ThriftField, type ThriftStruct, text } from './thrift.ts'
import { withParquetDecoder } from './wasm.ts'

const FIXED_LEN_BYTE_ARRAY = 7
const [PLAIN, RLE] = [0, 3]

export interface Unpacking {
  /** Parquet's number for the codec. */
  readonly codec: number
  /** The limit of the decoder's memory. */
  readonly mostBytes: number
  readonly scratch?: Scratch | undefined
}

/**
 * Hands the unpacked bytes of the pages to `use`, which is done with them when it returns. Throws WasmFailure where a page does not unpack to
 * its stated size; returns undefined where the decoder gives anything but one array of single bytes.
 */
export function withUnpackedPages<R>(
  pages: readonly PackedPage[],
  { codec, mostBytes, scratch }: Unpacking,
  use: (unpacked: Uint8Array) => R,
): R | undefined {
  const length = pages.reduce((sum, page) => sum + page.unpackedBytes, 0)
  const small = singleGroupFile([bytesColumn(pages, codec, length)], length, { scratch })
  return withParquetDecoder(mostBytes, (wasm) => {
    const table = wasm.readParquet(small, { batchSize: length }).intoFFI()
    try {
      const [array, another] = table.arrayAddrs()
      if (array === undefined || another !== undefined) return undefined
      const memory = wasm.wasmMemory() as WebAssembly.Memory
      const unpacked = onlyBytes({ memory, schema: table.schemaAddr(), array }, length)
      return unpacked && use(unpacked)
    } finally {
      table.free()
    }
  })
}

/** A column whose values are single bytes and whose pages have these packed bytes as their bodies. */
function bytesColumn(pages: readonly PackedPage[], codec: number, values: number): Parameters<typeof singleGroupFile>[0][number] {
  const element: ThriftStruct = new Map<number, ThriftField>([
    [1, i32(FIXED_LEN_BYTE_ARRAY)],
    [2, i32(1)],
    [3, i32(0)],
    [4, text('bytes')],
  ])
  const parts = pages.flatMap((page) => [headerOf(page), page.bytes])
  return {
    elements: [element],
    chunks: [{ physical: FIXED_LEN_BYTE_ARRAY, path: ['bytes'], codec, values, uncompressedBytes: values, parts }],
  }
}

/** The encoded header of a page of plain values of one byte each. */
function headerOf({ bytes, unpackedBytes }: PackedPage): Uint8Array {
  const data: ThriftStruct = new Map<number, ThriftField>([
    [1, i32(unpackedBytes)],
    [2, i32(PLAIN)],
    [3, i32(RLE)],
    [4, i32(RLE)],
  ])
  const header: ThriftStruct = new Map<number, ThriftField>([
    [1, i32(0)],
    [2, i32(unpackedBytes)],
    [3, i32(bytes.length)],
    [5, { type: STRUCT, value: data }],
  ])
  return encodeThrift(header)
}
