/** What the kernels of a group-by need of the arena while a task runs: places for what they read, and for what they write. */

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

  /** A zeroed block until `end`. */
  block(bytes: number): number {
    const offset = this.arena.allocate(bytes, this.operator)
    this.held.push(offset)
    return offset
  }

  /** The same with whatever it held before, for what is written before it is read. */
  room(bytes: number): number {
    const offset = this.arena.reserve(bytes, this.operator)
    this.held.push(offset)
    return offset
  }

  /** A block that is not needed any more. */
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

  /** Where a buffer lies; one outside of the arena is copied there until `end`. */
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

  /** The buffer in the arena: one outside of it is copied there until `end`. */
  copied<B extends NonNullable<Column['values']>>(buffer: B): B {
    if (this.owns(buffer) || buffer.length === 0) return buffer
    const ArrayOfBuffer = buffer.constructor as new (memory: ArrayBufferLike, byteOffset: number, length: number) => B // a typed array's own class
    const at = this.addressOf(buffer)
    return new ArrayOfBuffer(this.bytes(at, buffer.byteLength).buffer, at, buffer.length)
  }

  /** How wide the addresses are that kernels use. */
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

  /** The kernel by these bytes over the arena; the same key is the same kernel. */
  kernel(key: string, module: () => KernelModule): Kernel {
    return arenaKernel(this.arena, key, module)
  }

  end(): void {
    for (const offset of this.held.splice(0)) this.arena.free(offset)
    this.copies.clear()
  }
}

/** How kernels read a type; undefined for what they do not. */
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

/** Writes what a frame has. */
export function fill(words: Int32Array, values: Readonly<Partial<Record<keyof typeof FRAME, number>>>): void {
  for (const [name, value] of Object.entries(values)) {
    const field = name as keyof typeof FRAME // by type
    if (isAddressField(field)) putAddress(words, FRAME[field] / 4, value)
    else words[FRAME[field] / 4] = value
  }
}

/** Where a frame has the two addresses of fold `f`, in words. */
export function foldWord(f: number): number {
  return (FRAME.folds + FOLD_COLUMN_BYTES * f) / 4
}

/** How kernels read the parts of a key, which have codes of their own. */
export function kernelParts(parts: readonly Column[]): readonly KeyPart[] {
  return parts.map(({ type, validity }) => ({ type: kernelType(type.kind) ?? 'i32', nullable: validity !== undefined }))
}

/** Writes where the parts of a key lie. */
export function fillParts(words: Int32Array, parts: readonly Column[], memory: GroupMemory): void {
  for (const [p, { values, validity }] of parts.entries()) {
    putAddress(words, partWord(p, 'key'), memory.addressOf(values))
    putAddress(words, partWord(p, 'bits'), memory.addressOf(validity))
  }
}

/** Writes the windows of a key's parts. */
export function fillWindows(words: Int32Array, windows: readonly Window[]): void {
  const strides = stridesOf(windows)
  for (const [p, { base, span }] of windows.entries()) {
    words[partWord(p, 'base')] = base
    words[partWord(p, 'span')] = span
    words[partWord(p, 'stride')] = strides[p] as number // one a window
  }
}

/** Where a frame has a word of part `p` of the key. */
export function partWord(p: number, name: keyof typeof PART): number {
  return (FRAME.parts + PART_BYTES * p + PART[name]) / 4
}
