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
  /** The type of its addresses: 64 bits where the budget is above 4 GiB. */
  readonly addresses: AddressType
  readonly budgetBytes: number
  readonly usedBytes: number
  /** Reserves a zeroed block, aligned to 64 bytes; from any thread. Throws MemoryError naming `operator` when over the budget. */
  allocate(bytes: number, operator: string): number
  /** Reserves a block that is not zeroed, for who writes all of it. */
  reserve(bytes: number, operator: string): number
  /** Gives a block back; `offset` is what `allocate` returned. */
  free(offset: number): void
  /** A typed array over a block. */
  view(dtype: DType, offset: number, length: number): TypedArray
  /** Frees the blocks of objects that are garbage; returns whether there were any. Absent where only another thread knows the objects. */
  readonly onPressure?: (() => boolean) | undefined
  /** Whether a buffer is a view of this arena. */
  owns(buffer: ArrayBufferView): boolean
}

/** The handle by which another thread attaches to the arena; structured-cloneable. */
export interface ArenaHandle {
  readonly memory: WebAssembly.Memory
}

export interface ArenaOptions {
  readonly budgetBytes?: number
  /** The type of addresses; where absent, the budget decides. */
  readonly addresses?: AddressType
}
