/** Whether a value is an error, of whatever realm: a test runner that gives each file a global object of its own has its own Error, and Node's are of another. */
import { types } from 'node:util'

export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value)
}
