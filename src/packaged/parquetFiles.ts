/** parquet-wasm's files, in place of `io/parquet/parquetFiles.ts`: a module that holds them goes wherever the code goes. */
import { brotliDecompressSync } from 'node:zlib'
import type { ParquetFiles } from '../io/parquet/parquetFiles.ts'
import { glue, wasm } from './parquetText.ts'

/** Either file is smaller, and so is unpacked in one piece: many leave holes in the heap of the C library. */
const ROOM_BYTES = 2 ** 23

export function parquetFiles(): ParquetFiles {
  const unpacked = (text: string): Uint8Array => brotliDecompressSync(Buffer.from(text, 'base64'), { chunkSize: ROOM_BYTES })
  return { glue: unpacked(glue), wasm: unpacked(wasm) }
}
