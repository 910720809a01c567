import { types } from 'node:util'

/** Whether a value is a Date without own properties, which a function can only use as a number. */
export function isPlainDate(value: unknown): value is Date {
  return types.isDate(value) && Object.getPrototypeOf(value) === Date.prototype && Reflect.ownKeys(value).length === 0
}
