/**
 * Modules by their bytes: the same bytes are compiled once, whatever asks for them, so that another captured number, or
 * another array of the same kind, compiles nothing.
 */
import type { AddressType } from './wasmEncoder.ts'
import { withAddresses } from './wideAddresses.ts'

export interface KeyedModule {
  /** Tells modules apart: the bytes as they were written, one character each, and before them what addresses have if it is not 32 bits. */
  readonly key: string
  readonly module: WebAssembly.Module
}

/** Those used longest ago are let go. */
const KEPT_MODULES = 256
const modules = new Map<string, WebAssembly.Module>()
let compiled = 0

/** The module over a memory of such addresses; the encoder writes it for those of 32 bits. */
export function moduleOf(bytes: Uint8Array<ArrayBuffer>, addresses: AddressType): KeyedModule {
  const written = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const key = addresses === 'i32' ? written : `${addresses} ${written}`
  let module = modules.get(key)
  if (module === undefined) {
    module = new WebAssembly.Module(withAddresses(bytes, addresses))
    compiled++
  }
  modules.delete(key)
  modules.set(key, module)
  for (const old of modules.keys()) {
    if (modules.size <= KEPT_MODULES) break
    modules.delete(old)
  }
  return { key, module }
}

/** How many modules this thread has compiled. */
export function modulesCompiled(): number {
  return compiled
}
