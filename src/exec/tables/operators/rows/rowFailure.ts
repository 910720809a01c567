/**
 * An exception of a user's function on its way to the caller.
 *
 * A task knows the position of the element within its partition; the row number in the whole table is known only to
 * the executor, which makes the `TaskError` out of it.
 */

import type { Batch } from '../../../../core/data/column.ts'
import { Bug, PlanError, TaskError } from '../../../../core/errors.ts'
import { isError } from '../../../../core/isError.ts'

export interface RowContext {
  /** The method's name in messages, as `filter`. */
  readonly method: string
  /** Row number of the batch's first element, which functions see as its key; only for elements without explicit keys. */
  readonly firstRow: number
  /** Position of the batch's first element among what the operator gets in this task. */
  readonly position: number
}

export class RowFailure extends Error {
  readonly method: string
  position: number
  readonly key: readonly number[] | undefined
  /** The partition that the position counts in; absent where the position counts in all of the task's rows. */
  partition?: number
  /** The index of the step in its pipeline. */
  step = 0
  constructor(method: string, at: { readonly position: number; readonly key?: readonly number[] }, cause: unknown) {
    super(isError(cause) ? cause.message : String(cause), { cause })
    this.name = 'RowFailure'
    this.method = method
    this.position = at.position
    this.key = at.key
  }
}

/** The failure with the position of the element in which `error` was thrown; errors of this library stay as they are. */
export function rowFailure(error: unknown, batch: Batch, context: RowContext, index: number): Error {
  if (error instanceof PlanError || error instanceof RowFailure || error instanceof Bug) return error
  const position = context.position + index
  return new RowFailure(
    context.method,
    { position, ...(batch.keys === undefined ? {} : { key: batch.keys.map((axis) => axis[index] ?? 0) }) },
    error,
  )
}

/** The error for the user; `rowsBefore` is the number of elements before those of the task. */
export function taskErrorOf(failure: RowFailure, rowsBefore: number): TaskError {
  const { partition, position } = failure
  if (partition !== undefined)
    return new TaskError(`${failure.method}: the function threw at row ${position} of partition ${partition}: ${failure.message}`, {
      cause: failure.cause,
      partition,
    })
  const key = failure.key ?? [rowsBefore + position]
  const place = failure.key === undefined ? `row ${key[0]}` : `key [${key.join(', ')}]`
  return new TaskError(`${failure.method}: the function threw at ${place}: ${failure.message}`, { cause: failure.cause, key })
}

/** The failure with its position in the whole table, where `rowsBefore` has the number of rows before each partition. */
export function among(failure: RowFailure, rowsBefore: readonly number[] | undefined): RowFailure {
  const { partition } = failure
  if (partition === undefined || rowsBefore === undefined) return failure
  failure.position += rowsBefore[partition] ?? 0
  delete failure.partition
  return failure
}

/** The failure that a task was rejected with, whose class may have been lost between threads; undefined where it is another error. */
export function asRowFailure(error: unknown): RowFailure | undefined {
  if (error instanceof RowFailure) return error
  return isError(error) && error.name === 'RowFailure' && 'position' in error ? (error as RowFailure) : undefined
}
