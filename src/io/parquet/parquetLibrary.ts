/**
 * parquet-wasm, loaded by the first use of Parquet in a process: by the thread that opens files, for all of them.
 */
import { Bug } from '../../core/errors.ts'
import { shareBytes, sharedBytes } from '../../core/sharedBytes.ts'

const GLUE = 'parquet-wasm, glue'
const WASM = 'parquet-wasm, module'

/** Whoever reads or writes Parquet, on whatever thread, does so after this. */
export async function loadParquet(): Promise<void> {
  if (sharedBytes(WASM) !== undefined) return
  const { parquetFiles } = await import('./parquetFiles.ts')
  const { glue, wasm } = parquetFiles()
  shareBytes(GLUE, glue)
  shareBytes(WASM, wasm)
}

export function parquetLibrary(): { readonly glue: string; readonly wasm: Uint8Array } {
  const glue = sharedBytes(GLUE)
  const wasm = sharedBytes(WASM)
  if (glue === undefined || wasm === undefined) throw new Bug('parquet-wasm was not loaded.')
  return { glue: Buffer.from(glue).toString(), wasm }
}
