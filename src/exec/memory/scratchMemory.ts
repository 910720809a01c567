/**
 * Memory for what a task reads and has copied before it ends: the next task on the thread uses it again, and the garbage
 * collector has nothing to do with it.
 */
import type { NewArray } from '../../core/data/columnSlices.ts'
import type { Scratch } from '../../core/ports.ts'

const ALIGNED = 8
/** Larger ones are not kept. */
const KEPT_BYTES = 2 ** 26
/** Tasks on the caller's thread may be under way at the same time. */
const KEPT = 2

class ScratchMemory implements Scratch {
  private memory = new ArrayBuffer(0)
  private used = 0
  private wanted = 0

  bytes(length: number): Uint8Array {
    const room = Math.ceil(length / ALIGNED) * ALIGNED
    this.wanted += room
    if (this.used + room > this.memory.byteLength) return new Uint8Array(length)
    const found = new Uint8Array(this.memory, this.used, length)
    this.used += room
    return found
  }

  /** All of it can be used again; next time there is room for as much as was asked for. */
  reset(): void {
    if (this.wanted > this.memory.byteLength && this.wanted <= KEPT_BYTES) this.memory = new ArrayBuffer(this.wanted)
    this.used = 0
    this.wanted = 0
  }
}

const free: ScratchMemory[] = []

/** New arrays that lie in it. */
export function arraysIn(scratch: Scratch): NewArray {
  return (of, length) => {
    const { buffer, byteOffset } = scratch.bytes(length * bytesOfOne(of))
    const ArrayOf = of as unknown as new (buffer: ArrayBufferLike, byteOffset: number, length: number) => InstanceType<typeof of> // of the classes that columns have
    return new ArrayOf(buffer, byteOffset, length)
  }
}

function bytesOfOne(of: object): number {
  return (of as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT // such a class says so
}

/** What `use` gives, which must not lie in the memory that it was lent. */
export async function withScratch<T>(use: (scratch: Scratch) => Promise<T>): Promise<T> {
  const scratch = free.pop() ?? new ScratchMemory()
  try {
    return await use(scratch)
  } finally {
    scratch.reset()
    if (free.length < KEPT) free.push(scratch)
  }
}
