/**
 * Instances of parquet-wasm whose memory has an end.
 *
 * What a file takes when decoded cannot be known from its headers: a dictionary, a prefix or a compressed page of a few
 * bytes becomes gigabytes. So the decoder's memory is given a largest size, which the WebAssembly engine itself keeps:
 * the package's module declares a memory without one, and gets it here, in the section that declares it.
 */
import { compileFunction } from 'node:vm'
import type * as ParquetWasm from 'parquet-wasm'
import { Bug } from '../../core/errors.ts'
import { parquetLibrary } from './parquetLibrary.ts'

const PAGE_BYTES = 65_536
const MEMORY_SECTION = 5

type Glue = (exports: object, require: (id: string) => unknown, directory: string, wasm: object, console: object) => void
let glue: { readonly run: Glue; readonly code: Uint8Array } | undefined
const compiled = new Map<number, WebAssembly.Module>()

/** A new instance whose memory ends at about `mostBytes`. It reports panics to `print`. */
export function newDecoder(mostBytes: number, print: (text: string) => void = () => undefined): typeof ParquetWasm {
  glue ??= loadGlue()
  const { run, code } = glue
  const module = compiled.get(mostBytes) ?? new WebAssembly.Module(withLargestMemory(code, mostBytes))
  compiled.set(mostBytes, module)
  const exports = {}
  // The package's glue reads its module from a file, and gets none; it is handed this one, compiled once for all instances.
  const noFiles = () => ({ readFileSync: () => undefined })
  const wasm = {
    Instance: WebAssembly.Instance,
    Module: function Module() {
      return module
    },
  }
  // a console of its own: the process's may be frozen, and is others' as well
  run(exports, noFiles, '', wasm, { ...console, error: (...parts: unknown[]) => print(parts.map(String).join(' ')) })
  return exports as typeof ParquetWasm // what the package's main file exports
}

function loadGlue(): NonNullable<typeof glue> {
  const library = parquetLibrary()
  const run = compileFunction(library.glue, ['exports', 'require', '__dirname', 'WebAssembly', 'console'], {
    filename: 'parquet_wasm.js',
  }) as Glue
  return { run, code: library.wasm }
}

/** The module with `mostBytes` as the largest size of its memory. */
export function withLargestMemory(code: Uint8Array, mostBytes: number): Uint8Array<ArrayBuffer> {
  const pages = Math.floor(mostBytes / PAGE_BYTES)
  let at = 8
  while (at < code.length) {
    const section = code[at]
    const size = varint(code, at + 1)
    const end = size.end + size.value
    if (section === MEMORY_SECTION) {
      const count = varint(code, size.end)
      const flags = code[count.end] ?? 0
      const least = varint(code, count.end + 1)
      if (count.value !== 1 || flags > 1) throw new Bug('The memory of parquet-wasm is declared in a form that is not known.')
      const body = [1, 1, ...varintBytes(least.value), ...varintBytes(Math.max(pages, least.value))]
      return Uint8Array.from(
        Buffer.concat([code.subarray(0, at + 1), Buffer.from([...varintBytes(body.length), ...body]), code.subarray(end)]),
      )
    }
    at = end
  }
  throw new Bug('parquet-wasm declares no memory.')
}

function varint(bytes: Uint8Array, from: number): { readonly value: number; readonly end: number } {
  let value = 0
  let at = from
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0
    value |= (byte & 127) << shift
    if (byte < 128) return { value: value >>> 0, end: at }
  }
}

function varintBytes(value: number): number[] {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128)
  bytes.push(left)
  return bytes
}
