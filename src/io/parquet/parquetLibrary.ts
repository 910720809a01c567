/**
 * parquet-wasm, loaded and compiled by the first use of Parquet in a process: by the thread that opens files, for all of them.
 */
import { Bug } from '../../core/errors.ts'
import { sharedPart, sharePart } from '../../core/sharedParts.ts'
import { withGivenMemory } from './givenMemory.ts'

const GLUE = 'parquet-wasm, glue'
const MODULE = 'parquet-wasm, module'

/** Loads parquet-wasm for all threads of the process. Every read or write of Parquet, on any thread, comes after it. */
export async function loadParquet(): Promise<void> {
  if (sharedPart(MODULE) !== undefined) return
  const { parquetFiles } = await import('./parquetFiles.ts')
  const { glue, wasm } = parquetFiles()
  const module = await WebAssembly.compile(withGivenMemory(wasm))
  sharePart(GLUE, glue)
  sharePart(MODULE, module)
}

export interface ParquetLibrary {
  readonly glue: string
  readonly module: WebAssembly.Module
}

export function parquetLibrary(): ParquetLibrary {
  const glue = sharedPart(GLUE)
  const module = sharedPart(MODULE)
  if (!(glue instanceof Uint8Array) || !(module instanceof WebAssembly.Module)) throw new Bug('parquet-wasm was not loaded.')
  return { glue: Buffer.from(glue).toString(), module }
}
