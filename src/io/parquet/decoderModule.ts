/**
 * Instances of parquet-wasm with bounded memory.
 *
 * The decoded size of a file cannot be known from its headers: a dictionary, a prefix or a compressed page of a few
 * bytes becomes gigabytes. So the decoder's memory is given a largest size, which the WebAssembly engine itself keeps
 * (`givenMemory.ts`).
 */
import { compileFunction } from 'node:vm'
import type * as ParquetWasm from 'parquet-wasm'
import { instanceWith } from './givenMemory.ts'
import { parquetLibrary } from './parquetLibrary.ts'

type Glue = (exports: object, require: (id: string) => unknown, directory: string, wasm: object, console: object) => void
let glue: { readonly run: Glue; readonly module: WebAssembly.Module } | undefined

/** A new instance whose memory ends at about `mostBytes`. It reports panics to `print`. */
export function newDecoder(mostBytes: number, print: (text: string) => void = () => undefined): typeof ParquetWasm {
  glue ??= loadGlue()
  const { run, module } = glue
  const exports = {}
  // The package's glue would read its module from a file; it is handed the one that was compiled for all instances.
  const noFiles = () => ({ readFileSync: () => undefined })
  const wasm = {
    Instance: function Instance(of: WebAssembly.Module, imports: WebAssembly.Imports) {
      return instanceWith(mostBytes, of, imports)
    },
    Module: function Module() {
      return module
    },
  }
  // a console of its own: the process's may be frozen, and other code shares it
  run(exports, noFiles, '', wasm, { ...console, error: (...parts: unknown[]) => print(parts.map(String).join(' ')) })
  return exports as typeof ParquetWasm // what the package's main file exports
}

function loadGlue(): NonNullable<typeof glue> {
  const library = parquetLibrary()
  const run = compileFunction(library.glue, ['exports', 'require', '__dirname', 'WebAssembly', 'console'], {
    filename: 'parquet_wasm.js',
  }) as Glue
  return { run, module: library.module }
}
