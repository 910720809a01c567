/**
 * The instances of parquet-wasm in this thread: one that encodes, and one that decodes for each limit of memory.
 *
 * Only synchronous functions are used: a panic in them is an exception here, where a panic in an asynchronous one
 * ends the process. The memory of an instance never shrinks: after a panic, and when it has grown large, an instance is replaced, and one
 * that is not called any more is let go of.
 */

import type * as ParquetWasm from 'parquet-wasm'
import { isError } from '../../core/isError.ts'
import { newDecoder } from './decoderModule.ts'

/** Memory an instance may keep between calls. */
const KEPT_BYTES = 512 * 2 ** 20

/** The encoder's memory ends where that of 32-bit addresses does. */
const ENCODER_BYTES = 2 ** 32
/** The memory size above which a panic of the encoder is taken for a lack of memory, which reports nothing itself. */
const FULL_BYTES = 2 ** 30

/** The instances by the limit of their memory in bytes; a session has two limits for decoding. */
const instances = new Map<number, Instance>()
/** Number of calls of other instances in a row after which one is let go of: a program that writes what it read before decodes no more. A row group that is written takes a call for each column. */
const CALLS_UNUSED = 64
let calls = 0

/** A decoder's or encoder's failure: an error it reported, or a panic. `full` when its memory came to an end. */
export class WasmFailure extends Error {
  readonly panic: boolean
  readonly full: boolean
  constructor(message: string, how: { readonly panic: boolean; readonly full: boolean }, cause: unknown) {
    super(message, { cause })
    this.name = 'WasmFailure'
    this.panic = how.panic
    this.full = how.full
  }
}

/** The failure of a column whose values take more memory than there is. */
export function fullFailure(cause?: unknown): WasmFailure {
  return new WasmFailure('its values take more memory than there is for one row group', { panic: cause !== undefined, full: true }, cause)
}

/** Calls `use` with the instance that encodes; throws WasmFailure. */
export function withParquetWasm<R>(use: (wasm: typeof ParquetWasm) => R): R {
  return inInstance(ENCODER_BYTES, use, ({ wasm }) => memoryBytes(wasm) > FULL_BYTES)
}

/** Calls `use` with the instance that decodes in `mostBytes` of memory; throws WasmFailure. */
export function withParquetDecoder<R>(mostBytes: number, use: (wasm: typeof ParquetWasm) => R): R {
  // An allocation that fails ends in a trap that prints nothing; all other panics print a message.
  return inInstance(mostBytes, use, ({ printed }) => printed.length === 0)
}

interface Instance {
  readonly wasm: typeof ParquetWasm
  /** Messages of panics during the latest call. */
  readonly printed: string[]
  /** Number of its latest call, counted over all instances. */
  last: number
}

function inInstance<R>(mostBytes: number, use: (wasm: typeof ParquetWasm) => R, isFull: (instance: Instance) => boolean): R {
  let instance = instances.get(mostBytes)
  if (instance === undefined) {
    const printed: string[] = []
    instance = { wasm: newDecoder(mostBytes, (text) => printed.push(text)), printed, last: 0 }
    instances.set(mostBytes, instance)
  }
  instance.last = ++calls
  for (const [bytes, { last }] of instances) if (calls - last > CALLS_UNUSED) instances.delete(bytes)
  const found = instance
  const { wasm, printed } = found
  printed.length = 0
  const replace = (): void => {
    instances.delete(mostBytes)
  }
  return called(wasm, use, { printed, replace, isFull: () => isFull(found) })
}

interface Keeping {
  /** Messages of panics. */
  readonly printed: readonly string[]
  readonly replace: () => void
  readonly isFull: () => boolean
}

function called<R>(wasm: typeof ParquetWasm, use: (wasm: typeof ParquetWasm) => R, { printed, replace, isFull }: Keeping): R {
  let panicked = false
  try {
    return use(wasm)
  } catch (error) {
    panicked = error instanceof WebAssembly.RuntimeError || error instanceof RangeError
    const full = panicked && isFull()
    if (full) throw fullFailure(error)
    const message = (panicked ? panicText(printed.join('\n')) : undefined) ?? (isError(error) ? error.message : String(error))
    throw new WasmFailure(message, { panic: panicked, full: false }, error)
  } finally {
    if (panicked || memoryBytes(wasm) > KEPT_BYTES) replace()
  }
}

function memoryBytes(wasm: typeof ParquetWasm): number {
  return (wasm.wasmMemory() as WebAssembly.Memory).buffer.byteLength
}

/** The sentence of a Rust panic, which comes on the line after its place. */
function panicText(printed: string): string | undefined {
  return printed
    .split('\n')
    .find((line, i) => i > 0 && line.trim() !== '')
    ?.trim()
}
