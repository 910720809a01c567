/** parquet-wasm's files, in place of `io/parquet/parquetFiles.ts`: a module that holds them goes wherever the code goes. */
import { brotliDecompressSync } from 'node:zlib'
import type { ParquetFiles } from '../io/parquet/parquetFiles.ts'
import { glue, wasm } from './parquetText.ts'

export function parquetFiles(): ParquetFiles {
  const unpacked = (text: string): Uint8Array => brotliDecompressSync(Buffer.from(text, 'base64'))
  return { glue: unpacked(glue), wasm: unpacked(wasm) }
}
