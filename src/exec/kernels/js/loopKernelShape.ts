/**
 * The shape of a loop kernel, on which its text depends besides the IR, and the binding with which it is instantiated.
 *
 * The text contains no captured number; extents and strides are bound, so that a kernel's text is the same for
 * arrays of other sizes as long as the same subscripts are proved in bounds.
 */

import type { IterationRng } from '../../../core/arrays/random.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'

/** The representation of an array in the body's `env`. */
export type ArrayShape =
  | {
      readonly kind: 'dense'
      readonly dtype: DType
      readonly extents: readonly number[]
      readonly strides: readonly number[]
      /** The target of `Add`: the array itself, or the lane's copy of it (touched: with marks of its elements; combined: by a function). */
      readonly adds: 'direct' | 'lane' | 'lane-touched' | 'lane-combined'
      /** Whether the body makes the array, anew in each iteration, so that nothing else reads it. */
      readonly isLocal?: true
    }
  /** A sparse array or a table, behind an object with get, field, has, set, add. */
  | { readonly kind: 'keyed'; readonly extents: readonly number[] }

/** The representation of a column of the iterated elements. */
export type ColumnShape = {
  readonly name: string
  /** How a value is read: numbers straight from the buffer, booleans as bytes, everything else by a reader. */
  readonly form: 'number' | 'bool' | 'reader'
  readonly nullable: boolean
  /** The type of the array that holds numbers or booleans; absent for other values. */
  readonly dtype?: DType
}

export type ElementShape =
  | { readonly kind: 'none' }
  /** The elements of a dense array. */
  | { readonly kind: 'dense'; readonly dtype: DType; readonly rank: number }
  | { readonly kind: 'scalar'; readonly column: ColumnShape }
  | { readonly kind: 'row'; readonly columns: readonly ColumnShape[] }

export interface KernelShape {
  readonly space: 'box' | 'sparse' | 'rows'
  readonly extents: readonly number[]
  /** By axis, the number of rows from which an iteration takes the one of its key; 0 where consecutive iterations take consecutive rows. */
  readonly reach: readonly number[]
  /** Whether the element of a place is at the position that `order` has for it. */
  readonly permuted: boolean
  readonly element: ElementShape
  readonly arrays: ReadonlyMap<string, ArrayShape>
  readonly accumulators: ReadonlyMap<string, 'sum' | 'min' | 'max' | 'count' | 'custom'>
  readonly parameters: ReadonlyMap<string, Primitive>
}

/** The access of kernels to a sparse array or a table. */
export interface KeyedArray {
  get(...key: number[]): unknown
  field(name: string, ...key: number[]): unknown
  has(...key: number[]): boolean
  set(...keyAndValue: unknown[]): void
  add(...keyAndDelta: unknown[]): void
}

/** A log of added values, which are written to `values` from `length` on; `grow` replaces `values` by a longer array. */
export interface SumLog {
  values: Float64Array
  length: number
  /** Makes room for `more` values; returns `length`. */
  reserve(more: number): number
  grow(): Float64Array
}
export interface CustomLog {
  readonly values: unknown[]
}
export interface Extreme {
  value: number
}

/** The arguments of a kernel's factory; lists are in the order of the shape's maps. */
export interface KernelBinding {
  readonly arrays: readonly ArrayBinding[]
  readonly accumulators: readonly (SumLog | CustomLog | Extreme)[]
  readonly rngs: readonly IterationRng[]
  readonly tables: readonly ArrayLike<Primitive>[]
  readonly order: Int32Array | undefined
  readonly keys: readonly Int32Array[]
  readonly element: ElementBinding
  /** Throws the error for a key outside of array number `array`. */
  readonly outside: (array: number, key: readonly unknown[]) => never
  /** Receives the place inside the block at which the kernel threw. */
  readonly at: { place: number }
}

export type ArrayBinding =
  | {
      readonly kind: 'dense'
      readonly data: TypedArray
      readonly extents: readonly number[]
      readonly strides: readonly number[]
      readonly lanes?: TypedArray
      readonly touched?: Uint8Array
      /** The number of elements in one lane's copy. */
      readonly laneLength: number
      readonly combine?: (a: number, b: number) => number
    }
  | { readonly kind: 'keyed'; readonly keyed: KeyedArray; readonly extents: readonly number[] }

export interface ElementBinding {
  readonly data?: TypedArray
  readonly strides?: readonly number[]
  readonly columns: readonly ColumnBinding[]
}

export interface ColumnBinding {
  readonly values?: TypedArray | BigUint64Array
  readonly validity?: Uint8Array
  readonly read: (position: number) => unknown
}

/**
 * Runs the places `from` to `to` (exclusive) of a block. `box` has the lower and upper bounds of a box block; `lane` is the number
 * of the block's reduction copy; `parameters` are the captured primitives, in the order of the IR.
 */
export type LoopKernel = (box: ArrayLike<number>, from: number, to: number, lane: number, parameters: readonly Primitive[]) => void
