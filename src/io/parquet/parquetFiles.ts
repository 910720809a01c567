/**
 * The two files of parquet-wasm, its WebAssembly module and the JavaScript around it, as they lie in its package. The build puts
 * a module here instead that holds them, compressed, so that whatever moves the library's code elsewhere takes them along.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export interface ParquetFiles {
  readonly glue: Uint8Array
  readonly wasm: Uint8Array
}

/** The package's main file. */
export function parquetPath(): string {
  return createRequire(import.meta.url).resolve('parquet-wasm')
}

export function parquetFiles(): ParquetFiles {
  const glue = parquetPath()
  return { glue: readFileSync(glue), wasm: readFileSync(glue.replace(/\.js$/, '_bg.wasm')) }
}
