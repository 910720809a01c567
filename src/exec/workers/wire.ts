/**
 * Errors between threads, with class, message, stack, fields and causes.
 *
 * Structured cloning alone loses the class and the fields of an error. Classes that both sides know come back as
 * themselves; a user's own class comes back as an Error with its name and fields. What cannot be cloned is left out,
 * and a thrown value that is no error and cannot be cloned becomes its text.
 */

import { Bug, GangError, LoopError, MemoryError, PlanError, SourceError, SpillError, TaskError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'

export type WireError =
  | {
      readonly kind: 'error'
      /** The nearest class that both sides know. */
      readonly of: string
      readonly message: string
      readonly stack?: string
      readonly fields: Readonly<Record<string, unknown>>
      readonly cause?: WireError
      /** The errors of an AggregateError. */
      readonly errors?: readonly WireError[]
    }
  | { readonly kind: 'value'; readonly value: unknown }

type ErrorClass = abstract new (...args: never[]) => Error

/** The classes that both sides know: subclasses before Error, which is the last resort. */
const KNOWN: Readonly<Record<string, ErrorClass>> = {
  PlanError,
  LoopError,
  SourceError,
  TaskError,
  MemoryError,
  SpillError,
  GangError,
  Bug,
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  Error,
}

/** Most causes of causes: deeper ones are cut, and so is a circle. */
const DEEPEST_CAUSE = 8

export function errorToWire(thrown: unknown, depth = 0): WireError {
  if (!isError(thrown)) return { kind: 'value', value: isCloneable(thrown) ? thrown : textOf(thrown) }
  const of = Object.keys(KNOWN).find((name) => thrown instanceof (KNOWN[name] as ErrorClass)) ?? 'Error'
  const fields: { name?: unknown; [field: string]: unknown } = {}
  // a name set on the class's prototype counts as well
  if (thrown.name !== of) fields.name = String(thrown.name)
  for (const name of Object.keys(thrown)) {
    const value: unknown = (thrown as unknown as Readonly<Record<string, unknown>>)[name] // any own field
    if (name !== 'cause' && name !== 'errors' && isCloneable(value)) fields[name] = value
  }
  const deeper = depth < DEEPEST_CAUSE
  return {
    kind: 'error',
    of,
    message: String(thrown.message),
    ...(typeof thrown.stack === 'string' ? { stack: thrown.stack } : {}),
    fields,
    ...(deeper && thrown.cause !== undefined ? { cause: errorToWire(thrown.cause, depth + 1) } : {}),
    ...(deeper && thrown instanceof AggregateError ? { errors: thrown.errors.map((error) => errorToWire(error, depth + 1)) } : {}),
  }
}

export function wireToError(wire: WireError): unknown {
  if (wire.kind === 'value') return wire.value
  // made by Error itself for the class's prototype, so that no constructor adds to the message again
  const error = Reflect.construct(Error, [wire.message], KNOWN[wire.of] ?? Error) as Error
  for (const [name, value] of Object.entries(wire.fields)) define(error, name, value, true)
  if (wire.cause !== undefined) define(error, 'cause', wireToError(wire.cause), false)
  if (wire.errors !== undefined) define(error, 'errors', wire.errors.map(wireToError), false)
  if (wire.stack !== undefined) define(error, 'stack', wire.stack, false)
  return error
}

function define(error: Error, name: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, name, { value, enumerable, writable: true, configurable: true })
}

function isCloneable(value: unknown): boolean {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol')) return true
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value that cannot be printed'
  }
}
