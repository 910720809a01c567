/** Storage to batches, in key order, for plans that read it. */

import { keyAt, type Shape, sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type Storage } from '../../core/arrays/storage.ts'
import type { Batch, Column } from '../../core/data/column.ts'
import { sliceColumn } from '../../core/data/columnSlices.ts'
import { eachStretch, isCompact, placeOf } from './rows.ts'

/**
 * Batches of at most `rowsPerBatch` elements; one empty batch when there are none. Values are views of the storage
 * where they lie in one piece, and copies where row padding is in between; they must not be used once the storage is
 * freed or written.
 */
export function batchesFromStorage(storage: Storage, options: { readonly rowsPerBatch: number }): Batch[] {
  const length = lengthOf(storage)
  const batches: Batch[] = []
  for (let from = 0; from < length || batches.length === 0; from += options.rowsPerBatch) {
    batches.push(batchOf(storage, from, Math.min(from + options.rowsPerBatch, length)))
  }
  return batches
}

/** The number of elements. */
export function lengthOf(storage: Storage): number {
  return storage.kind === 'dense' ? sizeOfShape(storage.shape) : storage.length
}

/** Elements `from` to `to` (exclusive) in key order. */
export function batchOf(storage: Storage, from: number, to: number): Batch {
  const length = to - from
  switch (storage.kind) {
    case 'dense': {
      const column = denseColumn(storage, from, to)
      return {
        element: { kind: 'scalar', type: column.type, nullable: false },
        length,
        columns: [column],
        keys: keysBetween(storage.shape, from, to),
      }
    }
    case 'sparse': {
      const columns = storage.columns.map((column) => sliceColumn(column, from, to))
      return { element: storage.element, length, columns, keys: storage.keys.map((keys) => keys.subarray(from, to)) }
    }
    case 'table':
      return { element: storage.element, length, columns: storage.columns.map((column) => sliceColumn(column, from, to)) }
  }
}

function denseColumn(storage: DenseStorage, from: number, to: number): Column {
  const { dtype, data, objects } = storage
  const length = to - from
  if (dtype === 'object') return { type: { kind: 'object' }, length, objects: objects?.slice(from, to) ?? [] }
  if (isCompact(storage)) return { type: { kind: dtype }, length, values: data.subarray(from, to) }
  const values = new ARRAY_OF_DTYPE[dtype](length)
  copyElements(storage, from, to, values)
  return { type: { kind: dtype }, length, values }
}

/** Copies elements `from` to `to` of a dense array of numbers, without padding. */
export function copyElements(storage: DenseStorage, from: number, to: number, target: { set(values: never, at: number): void }): void {
  if (isCompact(storage)) {
    eachStretch(storage, from, to, (elements, at) => target.set(elements as never, at - from))
    return
  }
  const width = storage.shape.at(-1) ?? 1
  for (let at = from; at < to; ) {
    const length = Math.min(width - (at % width), to - at)
    const place = placeOf(storage, at)
    const shift = at - from - place
    eachStretch(storage, place, place + length, (elements, first) => target.set(elements as never, first + shift))
    at += length
  }
}

/** The keys at row-major positions `from` to `to` of a shape: a column per axis. */
export function keysBetween(shape: Shape, from: number, to: number): Int32Array[] {
  const keys = shape.map(() => new Int32Array(to - from))
  if (to <= from) return keys
  const key = keyAt(from, shape)
  for (let i = 0; i < to - from; i++) {
    for (let axis = 0; axis < shape.length; axis++) keys[axis]![i] = key[axis]!
    // the next key: the last axis runs fastest
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++key[axis]! < shape[axis]!) break
      key[axis] = 0
    }
  }
  return keys
}
