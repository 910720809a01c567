/**
 * Errors of loop bodies on their way to the caller: only their class, message and stack travel between threads.
 */

import type { Key } from '../../core/arrays/keys.ts'
import { PlanError, TaskError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'

export interface WireError {
  readonly name: string
  readonly message: string
  readonly stack?: string
}

export function errorToWire(error: unknown): WireError {
  if (!isError(error)) return { name: 'Error', message: String(error) }
  return { name: error.name, message: error.message, ...(error.stack === undefined ? {} : { stack: error.stack }) }
}

const CLASSES: Readonly<Record<string, new (message: string) => Error>> = {
  PlanError,
  RangeError,
  TypeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
}

export function wireToError(wire: WireError): Error {
  const error = new (CLASSES[wire.name] ?? Error)(wire.message)
  if (error.name !== wire.name) error.name = wire.name
  if (wire.stack !== undefined) error.stack = wire.stack
  return error
}

/** The error a failed pass is rejected with. */
export function bodyError(loop: string, key: Key, cause: unknown): TaskError {
  const message = isError(cause) ? cause.message : String(cause)
  return new TaskError(`The body of ${loop} threw at key [${key.join(', ')}]: ${message}`, { key, cause })
}

/** The error of a user's function that is called outside of bodies: `combine` of an accumulator, `combine` or `apply` of a buffer. */
export function helperError(what: string, cause: unknown): TaskError {
  return new TaskError(`${what} threw: ${isError(cause) ? cause.message : String(cause)}`, { cause })
}
