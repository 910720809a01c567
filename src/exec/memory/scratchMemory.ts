/**
 * Memory for what a task reads and has copied before it ends: the next task on the thread uses it again, and the garbage
 * collector has nothing to do with it.
 */
import type { NewArray } from '../../core/data/columnSlices.ts'
import type { Scratch } from '../../core/ports.ts'

const ALIGNED = 8
/** Memory comes in pieces of so many bytes, or in larger ones for what needs them. */
const PIECE_BYTES = 2 ** 25 + 2 ** 16
/** Most bytes of pieces that are kept for the next task. */
const KEPT_BYTES = 2 ** 26
/** Most scratch memories that are kept: tasks on the caller's thread may be under way at the same time. */
const KEPT = 2

/** Memory that can be used again before the task ends. */
export interface Resettable extends Scratch {
  /** Takes back all memory, to lend it again. */
  reset(): void
}

class ScratchMemory implements Resettable {
  private pieces: ArrayBuffer[] = []
  /** The number of the piece that is being used, and the bytes of it that are lent. */
  private at = 0
  private used = 0

  bytes(length: number): Uint8Array {
    const room = Math.ceil(length / ALIGNED) * ALIGNED
    let piece = this.pieces[this.at]
    while (piece !== undefined && this.used + room > piece.byteLength) {
      piece = this.pieces[++this.at]
      this.used = 0
    }
    if (piece === undefined) {
      piece = new ArrayBuffer(Math.max(room, PIECE_BYTES))
      this.pieces.push(piece)
    }
    const found = new Uint8Array(piece, this.used, length)
    this.used += room
    return found
  }

  reset(): void {
    let bytes = 0
    this.pieces = this.pieces.filter(({ byteLength }) => (bytes += byteLength) <= KEPT_BYTES)
    this.at = 0
    this.used = 0
  }
}

const free: ScratchMemory[] = []

/** Returns a maker of arrays that lie in the scratch memory. */
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

/** Lends memory to `use`; returns its result, which must not lie in that memory. */
export async function withScratch<T>(use: (scratch: Resettable) => Promise<T>): Promise<T> {
  const scratch = free.pop() ?? new ScratchMemory()
  try {
    return await use(scratch)
  } finally {
    scratch.reset()
    if (free.length < KEPT) free.push(scratch)
  }
}
