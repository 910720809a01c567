/**
 * Modules by their bytes: the same bytes are compiled once, whatever asks for them, so that another captured number, or
 * another array of the same kind, compiles nothing.
 */
export interface KeyedModule {
  /** Tells modules apart: the bytes, one character each. */
  readonly key: string
  readonly module: WebAssembly.Module
}

/** Those used longest ago are let go. */
const KEPT_MODULES = 256
const modules = new Map<string, WebAssembly.Module>()
let compiled = 0

export function moduleOf(bytes: Uint8Array<ArrayBuffer>): KeyedModule {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  let module = modules.get(key)
  if (module === undefined) {
    module = new WebAssembly.Module(bytes)
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
