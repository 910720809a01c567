import { types } from 'node:util'

/** A Date without properties of its own, which is to a function the number that it is. */
export function isPlainDate(value: unknown): value is Date {
  return types.isDate(value) && Object.getPrototypeOf(value) === Date.prototype && Reflect.ownKeys(value).length === 0
}
