/**
 * The memory of an arena: of 32-bit addresses, which end at 4 GiB, or of 64-bit ones, for as much as the engine gives.
 * Those are there since Node 24; an engine that has none refuses the description. Kernels of 32-bit addresses need not
 * check them, so a memory has 64 bits only where its budget asks for more than 4 GiB.
 */
import { addressSpaceError, checkEnvironment } from '../../core/environment.ts'
import { once } from '../../core/once.ts'
import { type AddressType, MOST_PAGES } from '../kir/kernelModule.ts'
import { moduleBytes } from '../wasm/wasmEncoder.ts'

export const PAGE_BYTES = 65536

/** The bytes that addresses reach: 4 GiB, and the 16 GiB that V8 gives. */
export const MOST_BYTES: { readonly [A in AddressType]: number } = { i32: MOST_PAGES.i32 * PAGE_BYTES, i64: MOST_PAGES.i64 * PAGE_BYTES }

/** The largest budgets: the last page is left out, so that the end of every block is an address. */
export const LARGEST_BUDGET_BYTES: { readonly [A in AddressType]: number } = {
  i32: (MOST_PAGES.i32 - 1) * PAGE_BYTES,
  i64: (MOST_PAGES.i64 - 1) * PAGE_BYTES,
}

/** Whether the engine has shared memory of 64-bit addresses, and modules for it. */
export const hasWideMemory: () => boolean = once(() => {
  try {
    const memory = describedMemory('i64', 1)
    const isGrown = growBy(memory, 0, 'i64') === 1n
    return isGrown && WebAssembly.validate(moduleBytes({ imports: [], parameters: [], locals: [], body: [], addresses: 'i64' }))
  } catch {
    return false // TypeError: it reads no bigint, or knows no such memory
  }
})

/** The bytes that this engine's widest addresses reach. */
export function mostBytes(): number {
  return hasWideMemory() ? MOST_BYTES.i64 : MOST_BYTES.i32
}

/** A shared memory of one page that grows as far as its addresses reach. */
export function createMemory(addresses: AddressType): WebAssembly.Memory {
  checkEnvironment()
  try {
    return describedMemory(addresses, MOST_PAGES[addresses])
  } catch (error) {
    if (error instanceof RangeError) throw addressSpaceError(error)
    throw error
  }
}

/** Lengthens a memory by so many pages; returns the pages before, as the engine counts. Throws a RangeError where there is no room. */
export function growBy(memory: WebAssembly.Memory, pages: number, addresses: AddressType): unknown {
  return memory.grow(counted(pages, addresses))
}

function describedMemory(addresses: AddressType, maximum: number): WebAssembly.Memory {
  const limits = { shared: true, initial: counted(1, addresses), maximum: counted(maximum, addresses) }
  return new WebAssembly.Memory(addresses === 'i64' ? { address: 'i64', ...limits } : limits)
}

/** Pages as the engine takes them; its types know numbers only. */
function counted(pages: number, addresses: AddressType): number {
  return addresses === 'i64' ? (BigInt(pages) as unknown as number) : pages // the edge of the engine
}
