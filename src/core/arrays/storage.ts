/**
 * Storage of arrays: the buffers of a DistArray that owns its elements.
 *
 * Dense arrays are row-major with the last axis contiguous; rows of arrays with two or more axes are padded to 16
 * bytes, so `strides` need not be the products of the extents. Buffers are views of the session's shared memory,
 * which worker threads see without a copy.
 */
import type { Column, TypedArray } from '../data/column.ts'
import type { DType, ElementType } from '../data/schema.ts'
import type { Shape } from './indexSpace.ts'

/** Numbers (or objects) at every key of a shape. */
export interface DenseStorage {
  readonly kind: 'dense'
  readonly shape: Shape
  readonly dtype: DType | 'object'
  /** The distance in elements between neighbours along each axis; the last is 1. */
  readonly strides: readonly number[]
  /** The numbers, padding included; empty for dtype 'object'. */
  readonly data: TypedArray
  readonly objects?: unknown[]
  /** The part that this process of a gang holds, where that need not be the whole array; reading `data` then fetches or makes the rest. */
  readonly parts?: DenseParts
}

/** The part of a dense array that one process of a gang holds. */
export interface DenseParts {
  /** The number of elements of the whole array, padding included. */
  readonly length: number
  readonly isWhole: boolean
  readonly lying: Lying
  /** Calls `visit` for consecutive pieces of the elements `from` to `to`, with the first element of each. Elements not held are made for the call, or kept where it writes. */
  eachPiece(from: number, to: number, visit: (piece: TypedArray, first: number) => void, how: { readonly writes: boolean }): void
  free(): void
}

/** A contiguous run of elements in memory, whose first is element `first` of the whole array. */
export interface Lying {
  readonly data: TypedArray
  readonly first: number
}

/** The contiguous run of an array's elements that kernels reach. */
export function lyingOf(storage: DenseStorage): Lying {
  return storage.parts?.lying ?? { data: storage.data, first: 0 }
}

/** The number of elements of the whole array, padding included, however many lie in this process. */
export function lengthOf(storage: DenseStorage): number {
  return storage.parts?.length ?? storage.data.length
}

/**
 * Elements at some keys of a shape, sorted by key. Rows have a column per field, scalars one.
 * A table is the special case without `keys`: the key is the row number.
 */
export interface SparseStorage {
  readonly kind: 'sparse'
  readonly shape: Shape
  readonly element: ElementType
  readonly length: number
  /** The components of the keys, an array per axis; the keys are in lexicographic order. */
  readonly keys: readonly Int32Array[]
  readonly columns: readonly Column[]
}

export interface TableStorage {
  readonly kind: 'table'
  readonly element: ElementType
  readonly length: number
  readonly columns: readonly Column[]
}

export type Storage = DenseStorage | SparseStorage | TableStorage

/** The element type; `unknown` where a function that would have told it ran on no element. */
export function elementOfStorage(storage: Storage): ElementType {
  return storage.kind === 'dense' ? { kind: 'scalar', type: { kind: storage.dtype }, nullable: false } : storage.element
}

export type TypedArrayConstructor = {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray
  new (length: number): TypedArray
  readonly BYTES_PER_ELEMENT: number
}

/** The typed array of each dtype; bool is one byte of 0 or 1. */
export const ARRAY_OF_DTYPE: { readonly [D in DType]: TypedArrayConstructor } = {
  f64: Float64Array,
  f32: Float32Array,
  i64: BigInt64Array,
  i32: Int32Array,
  u32: Uint32Array,
  i16: Int16Array,
  u16: Uint16Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
}

/** The alignment of the starts of rows. */
export const ROW_ALIGNMENT_BYTES = 16

/** Strides of a dense array in elements: rows of arrays with two or more axes are padded to 16 bytes. */
export function stridesOf(shape: Shape, dtype: DType | 'object'): number[] {
  const strides = new Array<number>(shape.length).fill(1)
  const width = dtype === 'object' ? ROW_ALIGNMENT_BYTES : ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
  const perRow = ROW_ALIGNMENT_BYTES / width
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    const inner = (shape[axis + 1] ?? 1) * (strides[axis + 1] ?? 1)
    strides[axis] = axis === shape.length - 2 ? Math.ceil(inner / perRow) * perRow : inner
  }
  return strides
}

/** The number of elements of `data`, padding included. */
export function paddedLength(shape: Shape, strides: readonly number[]): number {
  return shape.some((extent) => extent === 0) ? 0 : (shape[0] ?? 0) * (strides[0] ?? 1)
}
