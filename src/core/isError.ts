/** Whether a value is an error of any realm: a test runner may give each file its own global object, whose Error is not that of Node's errors. */
import { types } from 'node:util'

export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value)
}
