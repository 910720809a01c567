/** The blocks of the arena that a result is written to: all kept, or all freed when it cannot be finished. */
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
  /** Offsets of the blocks, and their bytes. */
  private readonly offsets = new Map<number, number>()

  constructor(arena: Arena, operator: string) {
    this.arena = arena
    this.operator = operator
  }

  /** A buffer of the same class for so many elements, which are all going to be written. */
  like<B extends Buffer>(buffer: B, length: number): B {
    const bytes = length * buffer.BYTES_PER_ELEMENT
    const offset = this.arena.reserve(bytes, this.operator)
    this.offsets.set(offset, bytes)
    const ArrayOfLike = buffer.constructor as new (memory: ArrayBufferLike, byteOffset: number, length: number) => B // a typed array's own class
    return new ArrayOfLike(this.arena.view('u8', offset, bytes).buffer, offset, length)
  }

  /** A column of doubles, of integers, of truth in bytes or of timestamps, with room for its nulls. */
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

  /** Frees the block that a buffer is. */
  free(buffer: Buffer | undefined): void {
    if (buffer !== undefined && this.offsets.delete(buffer.byteOffset)) this.arena.free(buffer.byteOffset)
  }

  /** The column without its bitmap, in which all bits are set. */
  withoutValidity({ validity, ...column }: Column): Column {
    this.free(validity)
    return column
  }

  /** The batch with what lies in these blocks copied into ordinary buffers. */
  copiedOut(batch: Batch): Batch {
    const out = <B extends Buffer>(buffer: B): B =>
      this.offsets.has(buffer.byteOffset) && this.arena.owns(buffer) ? (buffer.slice() as B) : buffer // of one class
    return { ...batch, columns: batch.columns.map((column) => mapBuffers(column, out)) }
  }

  /** All blocks, which are the caller's from now on. */
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
