/**
 * A writer of Arrow files whose buffers are compressed, as `arrowPacked.ts` reads them.
 *
 *     zstd   a frame, as the encoder makes it
 *     lz4    a frame of blocks of 4 MiB, around what the encoder makes of each
 *
 * https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
 */
import type { ArrowCompression } from '../../core/engine.ts'
import { pageGroups } from '../bytes/pageGroups.ts'
import { packedPages } from '../parquet/writing/packedPages.ts'
import { PREFIX_BYTES } from './arrowLayout.ts'
import { BufferRegion, CompressionType, RecordBatchFileWriter } from './arrowLibrary.ts'

const BLOCK_BYTES = 4 * 2 ** 20
/** The header of a frame: magic, version 1, blocks that stand alone, of up to 4 MiB; then the checksum of the two bytes before. */
const LZ4_HEADER: Uint8Array = Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73)
/** The bit in the length of a block that says that it is not packed. */
const AS_IT_WAS = 0x80000000
const EMPTY = new Uint8Array(0)

/** Makes such a writer. Whoever writes with it has awaited `loadParquet`. */
export function packingWriter(codec: ArrowCompression): RecordBatchFileWriter {
  // the library's own writes how long the packed bytes are, where the format has what they unpack to
  class PackingWriter extends RecordBatchFileWriter {
    protected override _compressBodyBuffers(buffers: readonly ArrayBufferView[]) {
      const bytes = buffers.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))
      const packed = stored(bytes, codec)
      let byteLength = 0
      const bufferRegions = packed.map(({ length }) => {
        const region = new BufferRegion(byteLength, length)
        byteLength += (length + 7) & ~7
        return region
      })
      return { byteLength, bufferRegions, buffers: packed.flatMap((bytes) => [bytes, EMPTY]) } // it writes two by two
    }
  }
  return new PackingWriter({ compressionType: codec === 'zstd' ? CompressionType.ZSTD : CompressionType.LZ4_FRAME })
}

/** Buffers as they are stored: what they unpack to, then the bytes; -1 before bytes that packing makes no shorter. */
function stored(buffers: readonly Uint8Array[], codec: ArrowCompression): readonly Uint8Array[] {
  const some = buffers.filter(({ length }) => length > 0)
  const frames = pageGroups(some, ({ length }) => length).flatMap((group) =>
    codec === 'zstd' ? packedPages(group, 'ZSTD') : lz4Frames(group),
  )
  let next = 0
  return buffers.map((buffer) => {
    if (buffer.length === 0) return EMPTY
    const frame = frames[next++] ?? buffer
    const isShorter = frame.length < buffer.length
    const bytes = new Uint8Array(PREFIX_BYTES + (isShorter ? frame : buffer).length)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(isShorter ? buffer.length : -1), true)
    bytes.set(isShorter ? frame : buffer, PREFIX_BYTES)
    return bytes
  })
}

function lz4Frames(parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const blocks = parts.map((part) =>
    Array.from({ length: Math.ceil(part.length / BLOCK_BYTES) }, (_, i) => part.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES)),
  )
  const pages = packedPages(blocks.flat(), 'LZ4_RAW')
  let next = 0
  return blocks.map((own) => {
    const pieces = own.flatMap((block) => {
      const page = pages[next++] ?? block
      return page.length < block.length ? [word(page.length), page] : [word(block.length | AS_IT_WAS), block]
    })
    return Buffer.concat([LZ4_HEADER, ...pieces, word(0)])
  })
}

function word(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value >>> 0, true)
  return bytes
}
