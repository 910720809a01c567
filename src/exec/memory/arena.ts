/**
 * The arena: one shared WebAssembly memory a session, in which columns and arrays lie where every thread and kernel
 * sees them without a copy.
 *
 * Any thread may allocate and free: the allocator's own data lie in the memory too (`allocator.ts`), behind a lock
 * (`arenaLock.ts`). The memory grows on demand and never shrinks; freed blocks are used again, because the first touch
 * of a fresh page is dear.
 */
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import type { AddressType } from '../kir/kernelModule.ts'

export interface Arena {
  readonly memory: WebAssembly.Memory
  /** What addresses its bytes: 64 bits where the budget is above 4 GiB. */
  readonly addresses: AddressType
  readonly budgetBytes: number
  readonly usedBytes: number
  /** Reserves a zeroed block, aligned to 64 bytes; from any thread. Throws MemoryError naming `operator` when over the budget. */
  allocate(bytes: number, operator: string): number
  /** The same with whatever the block held before, for who writes all of it. */
  reserve(bytes: number, operator: string): number
  /** Gives a block back; `offset` is what `allocate` returned. */
  free(offset: number): void
  /** A typed array over a block. */
  view(dtype: DType, offset: number, length: number): TypedArray
  /** Lets go of garbage; returns whether there was any. Absent where only another thread knows. */
  readonly onPressure?: (() => boolean) | undefined
  /** Whether a buffer is a view of this arena. */
  owns(buffer: ArrayBufferView): boolean
}

/** What another thread needs to attach: structured-cloneable. */
export interface ArenaHandle {
  readonly memory: WebAssembly.Memory
}

export interface ArenaOptions {
  readonly budgetBytes?: number
  /** What the budget asks for where it does not say. */
  readonly addresses?: AddressType
}
