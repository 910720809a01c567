/**
 * Dense arrays of which a process has as much as it needs, and makes the rest when somebody asks for all of it.
 *
 *     ....|=======|..........[==]....     `lying`: rows in one piece, which kernels reach; pages: what came beside it
 *
 * Statement: what lies nowhere is as the array was made, or as it was when it was put aside. Whoever has the last values of an element
 * elsewhere sees to it that nobody asks for it here (`exec/gang/movement/residence.ts`).
 */

import { ARRAY_OF_DTYPE, type DenseParts, type DenseStorage, type Lying, paddedLength, stridesOf } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { MemoryError } from '../../core/errors.ts'
import type { Arena } from '../memory/arena.ts'
import { type Lease, leaseBlocks } from '../memory/lease.ts'
import { fillerOf, type MadeSpec } from './makeArray.ts'

const ALIGNED_BYTES = 64
const PAGE_ELEMENTS = 512

/** Elements in a block of their own. */
interface Piece extends Lying {
  readonly lease: Lease
}

/** The source of elements that do not lie in this process. */
export interface Rest {
  readonly fill: (row: TypedArray, first: number) => void
  /** Called when nobody will ask any more. */
  readonly remove?: () => void
}

export class Parts implements DenseParts {
  readonly length: number
  readonly #spec: MadeSpec
  readonly #strides: readonly number[]
  readonly #arena: Arena
  #rest: Rest
  #lying: Lying | Piece
  /** The pages by their numbers. */
  readonly #pages = new Map<number, Piece>()
  #isWhole = false
  /** The number of passes under way that reach the piece, and the pieces outgrown meanwhile, which they may still read. */
  #passes = 0
  #outgrown: Lease[] = []
  /** Whether elements were written in place; set by who writes. */
  isWritten = false

  constructor(spec: MadeSpec, arena: Arena) {
    this.#spec = spec
    this.#arena = arena
    this.#strides = stridesOf(spec.shape, spec.dtype)
    this.length = paddedLength(spec.shape, this.#strides)
    this.#rest = { fill: fillerOf(spec) }
    this.#lying = nowhere(spec.dtype)
  }

  get strides(): readonly number[] {
    return this.#strides
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  get lying(): Lying {
    return this.#lying
  }

  /** All elements; from then on they lie in one piece. */
  whole(): TypedArray {
    if (!this.#isWhole) this.#lie(0, this.length)
    return this.#lying.data
  }

  /** Makes rows `from` up to `to` of the first axis lie in one piece with those that it has. */
  hold(from: number, to: number): void {
    if (this.#isWhole || from >= to) return
    const row = this.#strides[0] ?? 1
    const { data, first } = this.#lying
    const isThere = data.length > 0
    const [low, high] = [from * row, to * row]
    if (isThere && first <= low && high <= first + data.length) return
    const start = isThere ? Math.min(low, first) : low
    // as aligned as in the whole
    const own = start - (start % (ALIGNED_BYTES / data.BYTES_PER_ELEMENT))
    this.#lie(own, isThere ? Math.max(high, first + data.length) : high)
  }

  /** Keeps the piece where it is for a pass that reads or writes it, whoever asks for a larger one; returns what ends that. */
  stay(): () => void {
    this.#passes++
    return () => {
      if (--this.#passes === 0) for (const lease of this.#outgrown.splice(0)) lease.free()
    }
  }

  /** Gives all elements the values with which the array was made, or put aside. */
  reset(): void {
    this.isWritten = false
    for (const { lease } of this.#pages.values()) lease.free()
    this.#pages.clear()
    this.#make(this.#lying)
  }

  /** Frees all elements, unless the whole array lies here. */
  empty(): void {
    if (this.#isWhole) return
    this.#free()
    this.#lying = nowhere(this.#spec.dtype)
  }

  /** Takes elements from what has been put aside, instead of those that lie here. */
  putAside(rest: Rest): void {
    this.#rest.remove?.()
    this.#rest = rest
    this.reset()
  }

  /** Calls `visit` for the pieces of a stretch of elements, with where each begins; writing makes pages, and reading does not. */
  eachPiece(from: number, to: number, visit: (piece: TypedArray, first: number) => void, { writes }: { readonly writes: boolean }): void {
    for (let at = from; at < to; ) {
      const { data, first } = this.#lying
      const end = first + data.length
      if (first <= at && at < end) {
        const next = Math.min(to, end)
        visit(data.subarray(at - first, next - first), at)
        at = next
        continue
      }
      const number = Math.floor(at / PAGE_ELEMENTS)
      const next = Math.min(to, (number + 1) * PAGE_ELEMENTS, first > at ? first : to)
      const page = this.#pages.get(number) ?? (writes ? this.#page(number) : undefined)
      if (page !== undefined) visit(page.data.subarray(at - page.first, next - page.first), at)
      else {
        const made = { data: new ARRAY_OF_DTYPE[this.#spec.dtype](next - at), first: at }
        this.#make(made)
        visit(made.data, at)
      }
      at = next
    }
  }

  /** Frees the pages in which none of these rows has an element. */
  keepPages(rows: readonly (readonly [from: number, to: number])[]): void {
    const row = this.#strides[0] ?? 1
    for (const [number, { lease }] of this.#pages) {
      const [first, end] = [number * PAGE_ELEMENTS, (number + 1) * PAGE_ELEMENTS]
      if (rows.some(([from, to]) => from * row < end && to * row > first)) continue
      lease.free()
      this.#pages.delete(number)
    }
  }

  free(): void {
    this.#free()
    this.#rest.remove?.()
  }

  #free(): void {
    for (const { lease } of this.#pages.values()) lease.free()
    this.#pages.clear()
    if ('lease' in this.#lying) this.#lying.lease.free()
    for (const lease of this.#outgrown.splice(0)) lease.free()
  }

  /** Makes elements `first` up to `end` lie in one piece, with the values that are known here. */
  #lie(first: number, end: number): void {
    const { next, old } = this.#inPlaceOf(this.#lying, first, end)
    this.#make(next)
    for (const [number, page] of this.#pages) {
      const [from, to] = [Math.max(first, page.first), Math.min(end, page.first + page.data.length)]
      if (from < to) next.data.set(page.data.subarray(from - page.first, to - page.first) as never, from - first) // of one class
      if (first <= page.first && page.first + page.data.length <= end) {
        page.lease.free()
        this.#pages.delete(number)
      }
    }
    next.data.set(old.data as never, old.data.length === 0 ? 0 : old.first - first)
    if (old.lease !== undefined && this.#passes > 0) this.#outgrown.push(old.lease)
    else old.lease?.free()
    this.#lying = next
    this.#isWhole = first === 0 && end === this.length
  }

  /** Reserves a larger piece beside the old one, or in its place where memory is short: its elements then wait outside of the arena. */
  #inPlaceOf(old: Lying | Piece, first: number, end: number): { readonly next: Piece; readonly old: Lying & { readonly lease?: Lease } } {
    try {
      return { next: this.#reserve(first, end), old }
    } catch (error) {
      if (!(error instanceof MemoryError) || !('lease' in old) || this.#passes > 0) throw error
      const copy = { data: old.data.slice() as TypedArray, first: old.first }
      old.lease.free()
      try {
        return { next: this.#reserve(first, end), old: copy }
      } catch (again) {
        const same = this.#reserve(copy.first, copy.first + copy.data.length)
        same.data.set(copy.data as never) // of one class
        this.#lying = same
        throw again
      }
    }
  }

  #page(number: number): Piece {
    const first = number * PAGE_ELEMENTS
    const page = this.#reserve(first, Math.min(this.length, first + PAGE_ELEMENTS))
    this.#make(page)
    this.#pages.set(number, page)
    return page
  }

  #reserve(first: number, end: number): Piece {
    const { dtype, name } = this.#spec
    const offset = this.#arena.allocate((end - first) * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, name)
    return { data: this.#arena.view(dtype, offset, end - first), first, lease: leaseBlocks(this, this.#arena, [offset]) }
  }

  /** Fills a piece with elements from their source, leaving out the padding. */
  #make({ data, first }: Lying): void {
    const { shape } = this.#spec
    const { fill } = this.#rest
    const width = shape.at(-1) ?? 1
    const stride = shape.length < 2 ? width : (this.#strides.at(-2) ?? width)
    if (stride === width) {
      fill(data, first)
      return
    }
    for (let at = 0; at < data.length; ) {
      const row = Math.floor((first + at) / stride)
      const column = first + at - row * stride
      const end = Math.min(data.length, at + stride - column)
      if (column < width) fill(data.subarray(at, Math.min(end, at + width - column)), row * width + column)
      at = end
    }
  }
}

const NOWHERE = new SharedArrayBuffer(2 ** 15)
let nowheres = 0

/** A piece without elements, at a place of its own, by which plans tell arrays apart. */
function nowhere(dtype: DType): Lying {
  return { data: new ARRAY_OF_DTYPE[dtype](NOWHERE, (8 * nowheres++) % NOWHERE.byteLength, 0), first: 0 }
}

/** A dense array that nobody has any elements of yet. */
export function partedStorage(spec: MadeSpec, arena: Arena): DenseStorage {
  const parts = new Parts(spec, arena)
  const { shape, dtype } = spec
  const storage = { kind: 'dense', shape, dtype, strides: parts.strides, data: undefined as unknown as TypedArray } as const // put there below
  Object.defineProperty(storage, 'data', { enumerable: true, get: () => parts.whole() })
  // a copy of the storage is one of all elements, and has no parts
  return Object.defineProperty(storage, 'parts', { enumerable: false, value: parts })
}

export function partsOf(storage: { readonly parts?: DenseParts }): Parts | undefined {
  return storage.parts as Parts | undefined // made above
}
