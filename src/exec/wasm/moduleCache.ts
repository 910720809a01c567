/**
 * Cache of compiled modules by their bytes: equal bytes are compiled once, whoever asks for them, so that another captured number, or
 * another array of the same kind, compiles nothing.
 */
import { type AddressType, globalsOf, type KernelModule } from '../kir/kernelModule.ts'
import { withAddresses } from '../kir/passes/wideAddresses.ts'
import { moduleBytes } from './wasmEncoder.ts'

export interface KeyedModule {
  /** The identity of the module: its 32-bit code, one character a byte; for 64-bit addresses preceded by its address types. */
  readonly key: string
  readonly module: WebAssembly.Module
}

/** The most modules that are kept; the least recently used are dropped. */
const KEPT_MODULES = 256
const modules = new Map<string, WebAssembly.Module>()
let compiled = 0

/** Returns the compiled module of a kernel for a memory with addresses of this width. */
export function moduleOf(kernel: KernelModule, addresses: AddressType): KeyedModule {
  const written = writtenOf(kernel)
  const key = addresses === 'i32' ? written : `${addresses} ${typesIn(kernel)} ${written}`
  let module = modules.get(key)
  if (module === undefined) {
    const bytes = addresses === 'i32' ? Buffer.from(written, 'latin1') : moduleBytes(withAddresses(kernel, addresses))
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

const writtenKernels = new WeakMap<KernelModule, string>()

/** Returns the bytes of a kernel, one character each; they are encoded once, however often the kernel is bound. */
function writtenOf(kernel: KernelModule): string {
  let written = writtenKernels.get(kernel)
  if (written === undefined) {
    const bytes = moduleBytes(kernel)
    written = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    writtenKernels.set(kernel, written)
  }
  return written
}

/** Lists the types of parameters and imported numbers: equal 32-bit code with other addresses and strides widens differently. */
function typesIn(kernel: KernelModule): string {
  return [...kernel.parameters, ...globalsOf(kernel).map(({ type }) => type)].join()
}

/** Returns how many modules this thread has compiled. */
export function modulesCompiled(): number {
  return compiled
}
