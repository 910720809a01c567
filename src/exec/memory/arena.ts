/**
 * The arena: one shared WebAssembly memory a session, in which columns and arrays lie where every thread and kernel
 * sees them without a copy.
 */
import type { TypedArray } from '../../core/column.ts'
import type { DType } from '../../core/schema.ts'

export interface Arena {
  readonly memory: WebAssembly.Memory
  readonly budgetBytes: number
  readonly usedBytes: number
  /** Reserves a zeroed block, aligned to 64 bytes; from any thread. Throws MemoryError naming `operator` when over the budget. */
  allocate(bytes: number, operator: string): number
  /** Gives a block back; `offset` is what `allocate` returned. */
  free(offset: number): void
  /** A typed array over a block. */
  view(dtype: DType, offset: number, length: number): TypedArray
  /** Whether a buffer is a view of this arena. */
  owns(buffer: ArrayBufferView): boolean
}
