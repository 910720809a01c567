/** The views of `env`'s arrays in loop bodies. Types only: kernels make the views, or `exec/loops` for bodies that run as they stand. */
import type { Key } from '../arrays/keys.ts'

/** A row of a DistArray inside a loop body: reads and writes go to the array. */
export interface RowView {
  [k: number]: number
  /** The extent of the last axis. */
  readonly length: number
  /** The same as `w[k]`, for code under noUncheckedIndexedAccess. */
  get(k: number): number
  /** The same as `w[k] = value`. */
  set(k: number, value: number): void
  /** Adds to an element; see `ArrayView.add`. */
  add(k: number, delta: number): void
  /** Folds the elements in order: calls `f` with its last result and each element. */
  reduce<A>(f: (sofar: A, value: number, k: number, row: RowView) => A, init: A): A
  forEach(f: (value: number, k: number, row: RowView) => void): void
  /** Writes the value to the elements from `from` on, before `to`; both count from the end where they are negative. */
  fill(value: number, from?: number, to?: number): RowView
  /** The elements from `from` on, before `to`, where they lie: what is written to the part is written to the row. */
  subarray(from?: number, to?: number): RowView
  [Symbol.iterator](): IterableIterator<number>
}

/** An array of `env` inside a loop body. Keys outside the array are errors. */
export interface ArrayView<T, K extends Key> {
  /** The element; for an absent key of a sparse array 0 if it holds numbers, else undefined. */
  get(...key: K): T
  /** Writes an element as the array's typed array does: i32 and u8 wrap, f32 rounds. Inserts into a sparse array. */
  set(...args: [...K, value: T]): void
  /** Adds to an element; two iterations that add to the same one do not depend on each other. */
  add(...args: [...K, delta: number]): void
  /** All elements under the keys that start with `prefix`, of a dense array. */
  row(...prefix: readonly number[]): RowView
  /** Whether a sparse array has an element there; always true of a dense one. */
  has(...key: K): boolean
  /** The extents, one per axis. */
  readonly shape: K
}
