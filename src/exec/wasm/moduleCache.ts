/**
 * Modules by their bytes: the same bytes are compiled once, whatever asks for them, so that another captured number, or
 * another array of the same kind, compiles nothing.
 */
import { type AddressType, globalsOf, type KernelModule } from '../kir/kernelModule.ts'
import { withAddresses } from '../kir/passes/wideAddresses.ts'
import { moduleBytes } from './wasmEncoder.ts'

export interface KeyedModule {
  /** Tells modules apart: the bytes for addresses of 32 bits, one character each, and before them what makes them differ for others. */
  readonly key: string
  readonly module: WebAssembly.Module
}

/** Those used longest ago are let go. */
const KEPT_MODULES = 256
const modules = new Map<string, WebAssembly.Module>()
let compiled = 0

/** The module over a memory of such addresses. */
export function moduleOf(kernel: KernelModule, addresses: AddressType): KeyedModule {
  const written = writtenOf(kernel)
  const key = addresses === 'i32' ? written : `${addresses} ${typesIn(kernel)} ${written}`
  let module = modules.get(key)
  if (module === undefined) {
    module = new WebAssembly.Module(moduleBytes(withAddresses(kernel, addresses)))
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

/** The bytes of a kernel, one character each; encoded once, however often it is bound. */
function writtenOf(kernel: KernelModule): string {
  let written = writtenKernels.get(kernel)
  if (written === undefined) {
    const bytes = moduleBytes(kernel)
    written = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    writtenKernels.set(kernel, written)
  }
  return written
}

/** Which of what comes in are addresses and strides: other addresses make other modules of that. */
function typesIn(kernel: KernelModule): string {
  return [...kernel.parameters, ...globalsOf(kernel).map(({ type }) => type)].join()
}

/** How many modules this thread has compiled. */
export function modulesCompiled(): number {
  return compiled
}
