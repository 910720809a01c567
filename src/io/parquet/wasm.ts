/**
 * The instance of parquet-wasm in this thread.
 *
 * Only its synchronous functions are used: a panic in them is an exception here, where a panic in an asynchronous one
 * ends the process. After a panic, and when its memory has grown large (it never shrinks), the instance is replaced.
 */
import { createRequire } from 'node:module'
import type * as ParquetWasm from 'parquet-wasm'

const require = createRequire(import.meta.url)
/** Memory an instance may keep between calls. */
const KEPT_BYTES = 512 * 2 ** 20

/** A panic above this is taken for the end of memory, which says nothing about itself. */
const FULL_BYTES = 2 ** 30

let instance: typeof ParquetWasm | undefined

/** A decoder's or encoder's failure: an error it reported, or a panic. */
export class WasmFailure extends Error {
  readonly panic: boolean
  constructor(message: string, panic: boolean, cause: unknown) {
    super(message, { cause })
    this.name = 'WasmFailure'
    this.panic = panic
  }
}

/** Calls into parquet-wasm; throws WasmFailure. */
export function withParquetWasm<R>(use: (wasm: typeof ParquetWasm) => R): R {
  // require of the package's own CommonJS build: the require cache is what makes an instance replaceable
  instance ??= require('parquet-wasm') as typeof ParquetWasm
  const wasm = instance
  const printError = console.error
  const printed: string[] = []
  try {
    console.error = (...parts: unknown[]) => printed.push(parts.map(String).join(' ')) // where panics are reported
    return use(wasm)
  } catch (error) {
    const panic = error instanceof WebAssembly.RuntimeError || error instanceof RangeError
    const full = panic && memoryBytes(wasm) > FULL_BYTES
    if (panic) replace()
    const message = full
      ? 'its values take more memory than there is for one row group'
      : ((panic ? panicText(printed.join('\n')) : undefined) ?? (error instanceof Error ? error.message : String(error)))
    throw new WasmFailure(message, panic, error)
  } finally {
    console.error = printError
    if (instance !== undefined && memoryBytes(instance) > KEPT_BYTES) replace()
  }
}

function memoryBytes(wasm: typeof ParquetWasm): number {
  return (wasm.wasmMemory() as WebAssembly.Memory).buffer.byteLength
}

function replace(): void {
  instance = undefined
  delete require.cache[require.resolve('parquet-wasm')]
}

/** The sentence of a Rust panic, which comes on the line after its place. */
function panicText(printed: string): string | undefined {
  return printed
    .split('\n')
    .find((line, i) => i > 0 && line.trim() !== '')
    ?.trim()
}
