/** Kernels that need nothing but the arena's memory, instantiated once in each thread. */

import type { KernelModule } from '../../kir/kernelModule.ts'
import type { Arena } from '../../memory/arena.ts'
import { moduleOf } from '../../wasm/moduleCache.ts'

export type ArenaKernel = (...values: readonly (number | bigint)[]) => void

const MOST_KERNELS = 256
const kernels = new WeakMap<WebAssembly.Memory, Map<string, ArenaKernel>>()

/** The kernel over the arena; the same key is the same kernel. */
export function arenaKernel({ memory, addresses }: Arena, key: string, module: () => KernelModule): ArenaKernel {
  let known = kernels.get(memory)
  if (known === undefined) kernels.set(memory, (known = new Map()))
  let kernel = known.get(key)
  if (kernel === undefined) {
    const { exports } = new WebAssembly.Instance(moduleOf(module(), addresses).module, { k: { memory } })
    kernel = exports.run as ArenaKernel // what every module exports
    if (known.size >= MOST_KERNELS) known.clear()
    known.set(key, kernel)
  }
  return kernel
}
