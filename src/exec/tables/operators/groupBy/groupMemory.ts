/** Blocks of the arena for the inputs and outputs of kernels, held until a task ends; and the layout of the frame of group-by kernels. */

import type { Column } from '../../../../core/data/column.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import {
  FOLD_COLUMN_BYTES,
  FRAME,
  frameBytes,
  isAddressField,
  type KernelType,
  type KeyPart,
  PART,
  PART_BYTES,
} from '../../../kernels/tables/groupFrame.ts'
import type { KernelModule } from '../../../kir/kernelModule.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import type { Arena } from '../../../memory/arena.ts'
import { copyInto } from '../../../memory/shareColumns.ts'
import { arenaKernel } from '../arenaKernels.ts'
import { stridesOf, type Window } from '../hashing/keyWindows.ts'

export type Kernel = (frame: number, from: number, to: number) => void

export class GroupMemory {
  private readonly arena: Arena
  private readonly operator: string
  private readonly held: number[] = []
  private readonly copies = new Map<ArrayBufferView, number>()
  constructor(arena: Arena, operator: string = 'HashAggregateExec') {
    this.arena = arena
    this.operator = operator
  }

  /** The address of a zeroed block, held until `end`. */
  block(bytes: number): number {
    const offset = this.arena.allocate(bytes, this.operator)
    this.held.push(offset)
    return offset
  }

  /** The address of a block that is not zeroed, held until `end`: for memory that is written before it is read. */
  room(bytes: number): number {
    const offset = this.arena.reserve(bytes, this.operator)
    this.held.push(offset)
    return offset
  }

  /** Frees a block before `end`. */
  release(offset: number): void {
    const at = this.held.indexOf(offset)
    if (at < 0) return
    this.held.splice(at, 1)
    this.arena.free(offset)
  }

  frame(folds: number): { readonly at: number; readonly words: Int32Array } {
    const at = this.block(frameBytes(folds))
    return { at, words: this.integers(at, frameBytes(folds) / 4) }
  }

  /** The address of a buffer, which is copied into the arena until `end` if it lies elsewhere; 0 for an empty one or none. */
  addressOf(buffer: NonNullable<Column['values']> | undefined): number {
    if (buffer === undefined || buffer.length === 0) return 0
    if (this.arena.owns(buffer)) return buffer.byteOffset
    let copy = this.copies.get(buffer)
    if (copy === undefined) {
      copy = copyInto(this.arena, buffer, this.operator).byteOffset
      this.held.push(copy)
      this.copies.set(buffer, copy)
    }
    return copy
  }

  /** The buffer as one in the arena: copied there until `end` if it lies elsewhere. */
  copied<B extends NonNullable<Column['values']>>(buffer: B): B {
    if (this.owns(buffer) || buffer.length === 0) return buffer
    const ArrayOfBuffer = buffer.constructor as new (memory: ArrayBufferLike, byteOffset: number, length: number) => B // a typed array's own class
    const at = this.addressOf(buffer)
    return new ArrayOfBuffer(this.bytes(at, buffer.byteLength).buffer, at, buffer.length)
  }

  /** The width of addresses in kernels. */
  get addresses(): Arena['addresses'] {
    return this.arena.addresses
  }

  owns(buffer: ArrayBufferView): boolean {
    return this.arena.owns(buffer)
  }

  integers(offset: number, length: number): Int32Array {
    return this.arena.view('i32', offset, length) as Int32Array
  }

  bytes(offset: number, length: number): Uint8Array {
    return this.arena.view('u8', offset, length) as Uint8Array
  }

  longs(offset: number, length: number): BigInt64Array {
    return this.arena.view('i64', offset, length) as BigInt64Array
  }

  floats(offset: number, length: number): Float64Array {
    return this.arena.view('f64', offset, length) as Float64Array
  }

  /** The kernel of `module` over the arena; kernels are kept by `key`, which must tell different modules apart. */
  kernel(key: string, module: () => KernelModule): Kernel {
    return arenaKernel(this.arena, key, module)
  }

  end(): void {
    for (const offset of this.held.splice(0)) this.arena.free(offset)
    this.copies.clear()
  }
}

/** The type as which kernels read a column's values; undefined for types that they do not read. */
export function kernelType(kind: ColumnType['kind']): KernelType | undefined {
  switch (kind) {
    case 'f64':
    case 'f32':
    case 'i64':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return kind
    case 'bool':
      return 'u8'
    case 'date':
      return 'i32'
    case 'u64':
    case 'time':
    case 'timestamp':
      return 'i64'
    case 'utf8':
    case 'binary':
    case 'null':
    case 'list':
    case 'struct':
    case 'object':
    case 'unknown':
      return undefined
  }
}

/** Writes fields of a group-by kernel's frame. */
export function fill(words: Int32Array, values: Readonly<Partial<Record<keyof typeof FRAME, number>>>): void {
  for (const [name, value] of Object.entries(values)) {
    const field = name as keyof typeof FRAME // by type
    if (isAddressField(field)) putAddress(words, FRAME[field] / 4, value)
    else words[FRAME[field] / 4] = value
  }
}

/** The index in the frame, in words, of the two addresses of fold `f`. */
export function foldWord(f: number): number {
  return (FRAME.folds + FOLD_COLUMN_BYTES * f) / 4
}

/** The types as which kernels read the parts of a key that is its own code. */
export function kernelParts(parts: readonly Column[]): readonly KeyPart[] {
  return parts.map(({ type, validity }) => ({ type: kernelType(type.kind) ?? 'i32', nullable: validity !== undefined }))
}

/** Writes the addresses of a key's parts into a frame. */
export function fillParts(words: Int32Array, parts: readonly Column[], memory: GroupMemory): void {
  for (const [p, { values, validity }] of parts.entries()) {
    putAddress(words, partWord(p, 'key'), memory.addressOf(values))
    putAddress(words, partWord(p, 'bits'), memory.addressOf(validity))
  }
}

/** Writes the dense key ranges of a key's parts into a frame. */
export function fillWindows(words: Int32Array, windows: readonly Window[]): void {
  const strides = stridesOf(windows)
  for (const [p, { base, span }] of windows.entries()) {
    words[partWord(p, 'base')] = base
    words[partWord(p, 'span')] = span
    words[partWord(p, 'stride')] = strides[p] as number // one a window
  }
}

/** The index in the frame, in words, of a field of part `p` of the key. */
export function partWord(p: number, name: keyof typeof PART): number {
  return (FRAME.parts + PART_BYTES * p + PART[name]) / 4
}
