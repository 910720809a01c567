/**
 * Reads elements of batches as JavaScript values with their keys.
 */

import type { Batch } from '../data/column.ts'
import { rowReader } from '../data/columnReaders.ts'
import { TaskError } from '../errors.ts'
import { isError } from '../isError.ts'
import type { Key } from './keys.ts'

/** Gives the keys of elements in order: the batch's own, or row numbers counted over all batches. */
export class KeyReader {
  #row = 0

  /** A function from the position in the batch to the key; batches must be asked for in order. */
  keysOf(batch: Batch): (index: number) => Key {
    const { keys } = batch
    if (keys !== undefined) return (index) => keys.map((axis) => axis[index] ?? 0)
    const from = this.#row
    this.#row += batch.length
    return (index) => [from + index]
  }
}

/** All elements of the batches, one after another. */
export function valuesOf(batches: readonly Batch[]): unknown[] {
  const values: unknown[] = []
  for (const batch of batches) {
    const read = rowReader(batch)
    for (let i = 0; i < batch.length; i++) values.push(read(i))
  }
  return values
}

/** The error of a user's function that threw at an element, on the caller's thread. */
export function failedAt(method: string, key: Key, cause: unknown): TaskError {
  const message = isError(cause) ? cause.message : String(cause)
  return new TaskError(`The function of ${method}() threw at key [${key.join(', ')}]: ${message}`, { cause, key })
}
