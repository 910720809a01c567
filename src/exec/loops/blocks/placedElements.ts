/**
 * Elements in the order in which a pass comes by them. Of a schedule that does not run in key order the keys are kept block
 * by block; with the values beside them a block is a straight scan, where each value would cost a cache line of its own:
 *
 *     order    0 2 5 | 1 3 | 4 6 7          positions of the blocks' elements
 *     values   a b c d e f g h              as stored, by position
 *     placed   a c f | b d | e g h          by place
 *
 * Legal where the loop does not write the array it iterates over: then a copy holds what the array holds, until something
 * else writes it, which its version tells.
 */

import { ARRAY_OF_DTYPE, type SparseStorage } from '../../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { Gather } from '../gather.ts'
import type { LoopInputs } from '../loopInputs.ts'

export interface PlacedElements {
  /** The array with its columns by place; its keys are those of the array. */
  readonly storage: SparseStorage
  /** The columns that have to be gathered before a pass: none while the array's version is that of the last copy. */
  readonly stale: (over: LoopInputs['over']) => readonly Gather[]
  /** Notes that they have been gathered. */
  readonly copied: (over: LoopInputs['over']) => void
}

/** Undefined where elements are read as stored: if all are here in key order, written by the loop, no plain numbers, or too many for the memory. */
export function placeElements(
  { over, analyzed, buffers }: LoopInputs,
  order: Int32Array | undefined,
  allocate: (dtype: DType, length: number) => TypedArray,
): PlacedElements | undefined {
  if (over.kind === 'range' || over.storage.kind !== 'sparse') return undefined
  const { storage, array, placed } = over
  if (placed !== undefined) return { storage, stale: () => [], copied: () => undefined }
  if (order === undefined) return undefined
  const isWritten = analyzed.writtenArrays.includes(array) || [...buffers.values()].some((buffer) => buffer.array === array)
  if (isWritten || !storage.columns.every(isPlain)) return undefined
  const pairs = withinBudget(() =>
    storage.columns.map((column) => {
      const values = column.values as TypedArray // plain
      return { column, values, placed: allocate(column.type.kind as DType, order.length) } // plain
    }),
  )
  if (pairs === undefined) return undefined
  const versionOf = (now: LoopInputs['over']): string | undefined => (now.kind === 'storage' ? now.version?.() : undefined)
  let copied: string | undefined
  return {
    storage: { ...storage, columns: pairs.map(({ column, placed }) => ({ ...column, values: placed })) },
    stale: (now) => {
      const version = versionOf(now)
      if (version !== undefined && version === copied) return []
      return pairs.map(({ values, placed }) => ({ from: values, order, to: placed }))
    },
    copied: (now) => {
      copied = versionOf(now)
    },
  }
}

/** Numbers or booleans, none of them null. */
export function isPlain({ type, values, validity }: Column): boolean {
  return values !== undefined && validity === undefined && type.kind in ARRAY_OF_DTYPE
}

/** A copy is a convenience: where there is no memory for it, elements are read as they are stored. */
function withinBudget<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  }
}
