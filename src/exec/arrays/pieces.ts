/**
 * Reads the elements of an array in pieces, dense and row-major, and puts such pieces into new storage.
 *
 * A file may have the first axis running fastest (Fortran's order), and not the last; then elements are put one by one.
 */

import { keyAt, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type SparseStorage, type Storage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { shapeOfStorage } from './query.ts'
import { isCompact, placeOf } from './rows.ts'
import { copyElements } from './toBatches.ts'

/** Elements of a piece, about a megabyte: larger writes of files are no faster per byte, and the copy is small. */
const PIECE_ELEMENTS = 2 ** 17

/** All elements, in copies; absent keys are 0. The dtype is that of the elements. */
export function* piecesOf(storage: Storage, dtype: DType): Generator<TypedArray, void, undefined> {
  const size = sizeOfShape(shapeOfStorage(storage))
  const present = { at: 0 }
  for (let from = 0; from < size; from += PIECE_ELEMENTS) {
    const values = new ARRAY_OF_DTYPE[dtype](Math.min(PIECE_ELEMENTS, size - from))
    if (storage.kind === 'dense') copyElements(storage, from, from + values.length, values)
    else if (storage.kind === 'table')
      values.set(storage.columns[0]?.values?.subarray(from, from + values.length) as never) // the one column, of this dtype
    else copyPresent(storage, from, values, present)
    yield values
  }
}

/** Copies the elements at the positions from `from` on. Keys are sorted: `present.at` is the first that was not copied yet. */
function copyPresent({ keys, shape, length, columns }: SparseStorage, from: number, values: TypedArray, present: { at: number }): void {
  const elements = columns[0]?.values as TypedArray // the one column of numbers
  for (; present.at < length; present.at++) {
    let position = 0
    for (let axis = 0; axis < shape.length; axis++) position = position * (shape[axis] ?? 1) + (keys[axis]?.[present.at] ?? 0)
    if (position >= from + values.length) return
    values[position - from] = elements[present.at] as never // of one class
  }
}

/** Puts elements under the keys at row-major positions from `from` on. */
export function putElements(storage: DenseStorage, from: number, values: TypedArray): void {
  if (isCompact(storage)) {
    storage.data.set(values as never, from) // of one class
    return
  }
  const width = storage.shape.at(-1) ?? 1
  for (let done = 0; done < values.length; ) {
    const at = from + done
    const length = Math.min(width - (at % width), values.length - done)
    storage.data.set(values.subarray(done, done + length) as never, placeOf(storage, at))
    done += length
  }
}

/** Puts elements at positions with the first axis fastest. Bits are moved as integers: NaN that JavaScript sees becomes another one. */
export function putTransposed({ shape, strides, data }: DenseStorage, from: number, values: TypedArray): void {
  const words = Math.max(1, values.BYTES_PER_ELEMENT / 4)
  const [source, target] = [wordsOf(values), wordsOf(data)]
  const key = keyAt(from, [...shape].reverse()).reverse()
  let place = key.reduce((sum, k, axis) => sum + k * (strides[axis] ?? 1), 0)
  for (let i = 0; i < values.length; i++) {
    for (let word = 0; word < words; word++) target[place * words + word] = source[i * words + word] as number // as many as there are elements
    for (let axis = 0; axis < shape.length; axis++) {
      const stride = strides[axis] as number // one an axis
      key[axis] = (key[axis] as number) + 1
      place += stride
      if ((key[axis] as number) < (shape[axis] as number)) break
      place -= stride * (shape[axis] as number)
      key[axis] = 0
    }
  }
}

/** Elements of four bytes or eight as one integer or two; smaller ones are integers. */
function wordsOf(values: TypedArray): Exclude<TypedArray, BigInt64Array> {
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = values
  return BYTES_PER_ELEMENT >= 4 || values instanceof BigInt64Array ? new Int32Array(buffer, byteOffset, byteLength / 4) : values
}
