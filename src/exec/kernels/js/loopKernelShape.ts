/**
 * What the text of a loop kernel depends on besides the IR, and what it is bound to when it is instantiated.
 *
 * The text never holds a captured number; extents and strides are bound, so that a kernel's text is the same for
 * arrays of other sizes as long as the same subscripts are proved inside.
 */

import type { IterationRng } from '../../../core/arrays/random.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'

/** How the body's `env` arrays are reached. */
export type ArrayShape =
  | {
      readonly kind: 'dense'
      readonly dtype: DType
      readonly extents: readonly number[]
      readonly strides: readonly number[]
      /** Where `Add` goes: the array itself, or the lane's private copy. */
      readonly adds: 'direct' | 'lane' | 'lane-touched' | 'lane-combined'
    }
  /** Sparse arrays and tables, behind an object with get, field, has, set, add. */
  | { readonly kind: 'keyed'; readonly extents: readonly number[] }

/** How one column of the iterated elements is read. */
export type ColumnShape = {
  readonly name: string
  /** Numbers straight from the buffer, booleans as bytes, everything else by a reader. */
  readonly form: 'number' | 'bool' | 'reader'
  readonly nullable: boolean
  /** Of numbers and booleans that lie in an array of this type. */
  readonly dtype?: DType
}

export type ElementShape =
  | { readonly kind: 'none' }
  /** The iterated array is dense. */
  | { readonly kind: 'dense'; readonly dtype: DType; readonly rank: number }
  | { readonly kind: 'scalar'; readonly column: ColumnShape }
  | { readonly kind: 'row'; readonly columns: readonly ColumnShape[] }

export interface KernelShape {
  readonly space: 'box' | 'sparse' | 'rows'
  readonly extents: readonly number[]
  /** From how many rows an iteration takes one at a key, by the axis; 0 where the rows of iterations follow one another. */
  readonly reach: readonly number[]
  /** Elements are at the positions in `order`, not at their places. */
  readonly permuted: boolean
  readonly element: ElementShape
  readonly arrays: ReadonlyMap<string, ArrayShape>
  readonly accumulators: ReadonlyMap<string, 'sum' | 'min' | 'max' | 'count' | 'custom'>
  readonly parameters: ReadonlyMap<string, Primitive>
}

/** A sparse array or a table as kernels see it. */
export interface KeyedArray {
  get(...key: number[]): unknown
  field(name: string, ...key: number[]): unknown
  has(...key: number[]): boolean
  set(...keyAndValue: unknown[]): void
  add(...keyAndDelta: unknown[]): void
}

/** What added values are written to: `values` from `length` on; `grow` makes another, longer `values`. */
export interface SumLog {
  values: Float64Array
  length: number
  /** Room for so many more; gives `length`. */
  reserve(more: number): number
  grow(): Float64Array
}
export interface CustomLog {
  readonly values: unknown[]
}
export interface Extreme {
  value: number
}

/** Everything a kernel's factory is called with; lists are in the order of the shape's maps. */
export interface KernelBinding {
  readonly arrays: readonly ArrayBinding[]
  readonly accumulators: readonly (SumLog | CustomLog | Extreme)[]
  readonly rngs: readonly IterationRng[]
  readonly tables: readonly ArrayLike<Primitive>[]
  readonly order: Int32Array | undefined
  readonly keys: readonly Int32Array[]
  readonly element: ElementBinding
  /** Throws for a key outside array number `array`. */
  readonly outside: (array: number, key: readonly unknown[]) => never
  /** Where the kernel was when it threw: the place inside the block. */
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
      /** Elements of one lane. */
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
 * Runs the places `from` to `to` (exclusive) of a block. `box` has the lower and upper bounds of a box block; `lane`
 * is its lane; `parameters` are the captured primitives, in the order of the IR.
 */
export type LoopKernel = (box: ArrayLike<number>, from: number, to: number, lane: number, parameters: readonly Primitive[]) => void
