/** The blocks of the arena that a result is written to: all kept, or all freed where it cannot be finished. */
import type { Batch, Column } from '../../../core/data/column.ts'
import { FIXED_FORMS } from '../../../core/data/fixedValues.ts'
import { type ComputedType, computedType } from '../../kernels/columns/programShape.ts'
import type { Arena } from '../../memory/arena.ts'
import { mapBuffers } from '../../memory/shareColumns.ts'
import type { Block } from '../block.ts'

type Buffer = NonNullable<Column['values']>

export class ResultBlocks {
  readonly arena: Arena
  private readonly operator: string
  /** The bytes of each block, by its offset. */
  private readonly offsets = new Map<number, number>()

  constructor(arena: Arena, operator: string) {
    this.arena = arena
    this.operator = operator
  }

  /** A buffer of the same class for so many elements, not zeroed: the caller writes all of them. */
  like<B extends Buffer>(buffer: B, length: number): B {
    const bytes = length * buffer.BYTES_PER_ELEMENT
    const offset = this.arena.reserve(bytes, this.operator)
    this.offsets.set(offset, bytes)
    const ArrayOfLike = buffer.constructor as new (memory: ArrayBufferLike, byteOffset: number, length: number) => B // a typed array's own class
    return new ArrayOfLike(this.arena.view('u8', offset, bytes).buffer, offset, length)
  }

  /** A column of doubles, integers, booleans or timestamps, with a bitmap where it is nullable; neither is zeroed. */
  column(kind: Exclude<ComputedType, 'utf8'>, length: number, { nullable }: { readonly nullable: boolean }): Column {
    const type = computedType(kind)
    const values = this.like<Buffer>(new FIXED_FORMS[kind].array(0), length)
    // kernels write bitmaps in words, which blocks are made of
    return { type, length, values, ...(nullable ? { validity: this.like(new Uint8Array(), (length + 7) >> 3) } : {}) }
  }

  /** A bitmap of zeros, in whole words. */
  emptyBits(length: number): Uint8Array {
    return this.like(new Uint8Array(), 4 * Math.ceil(length / 32))
      .fill(0)
      .subarray(0, (length + 7) >> 3)
  }

  copy(column: Column): Column {
    return mapBuffers(column, (buffer) => this.copyOf(buffer))
  }

  copyOf<B extends Buffer>(buffer: B): B {
    const copy = this.like(buffer, buffer.length)
    copy.set(buffer as never) // of one class
    return copy
  }

  /** Frees the block of a buffer, if it is one of these. */
  free(buffer: Buffer | undefined): void {
    if (buffer !== undefined && this.offsets.delete(buffer.byteOffset)) this.arena.free(buffer.byteOffset)
  }

  /** The column without its bitmap, in which all bits are set; the bitmap's block is freed. */
  withoutValidity({ validity, ...column }: Column): Column {
    this.free(validity)
    return column
  }

  /** The batch with buffers that are these blocks copied into ordinary memory. */
  copiedOut(batch: Batch): Batch {
    const out = <B extends Buffer>(buffer: B): B =>
      this.offsets.has(buffer.byteOffset) && this.arena.owns(buffer) ? (buffer.slice() as B) : buffer // of one class
    return { ...batch, columns: batch.columns.map((column) => mapBuffers(column, out)) }
  }

  /** Returns all blocks, which the caller owns from now on. */
  handedOver(): readonly Block[] {
    const blocks = [...this.offsets].map(([offset, bytes]) => ({ offset, bytes }))
    this.offsets.clear()
    return blocks
  }

  freeAll(): void {
    for (const offset of this.offsets.keys()) this.arena.free(offset)
    this.offsets.clear()
  }
}
