/**
 * The rows of a dense array: pieces of its last axis, which lie in one piece each.
 *
 * Rows are visited in key order. `first` is the row-major position of a row's first element, padding not counted.
 */

import { sizeOfShape } from '../../core/arrays/indexSpace.ts'
import type { DenseStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'

/** Calls `visit` with every row; neighbouring rows come together where there is no padding between them. */
export function eachRow(storage: DenseStorage, visit: (row: TypedArray, first: number) => void): void {
  const size = sizeOfShape(storage.shape)
  if (size === 0) return
  if (isCompact(storage)) {
    visit(storage.data.subarray(0, size), 0)
    return
  }
  const width = storage.shape.at(-1) ?? 1
  const stride = storage.strides.at(-2) ?? width
  // only rows are padded: all outer strides are multiples of the row stride
  for (let first = 0, at = 0; first < size; first += width, at += stride) visit(storage.data.subarray(at, at + width), first)
}

/** Calls `visit` for stretches of elements of a dense array, padding included, of which each lies in one piece; without asking for all of it. */
export function eachStretch(storage: DenseStorage, from: number, to: number, visit: (elements: TypedArray, at: number) => void): void {
  if (storage.parts === undefined) visit(storage.data.subarray(from, to), from)
  else storage.parts.eachPiece(from, to, visit, { writes: false })
}

/** Whether elements lie without gaps, in row-major order. */
export function isCompact(storage: DenseStorage): boolean {
  return storage.shape.length < 2 || storage.strides.at(-2) === storage.shape.at(-1)
}

/** The place in `data` (or `objects`) of the element at a row-major position. */
export function placeOf(storage: DenseStorage, position: number): number {
  if (isCompact(storage)) return position
  const width = storage.shape.at(-1) ?? 1
  return Math.floor(position / width) * (storage.strides.at(-2) ?? width) + (position % width)
}
