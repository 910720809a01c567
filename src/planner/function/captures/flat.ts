/**
 * Whether what is read from an object can itself be changed.
 */
import { hasTraps } from './traps.ts'

/** Whether an object holds primitives only, so that what is read from it cannot be changed. */
export function isFlat(value: object): boolean {
  if (hasTraps(value)) return false
  if (ArrayBuffer.isView(value) || value instanceof Date) return true
  const isPrimitive = (item: unknown): boolean => (typeof item !== 'object' && typeof item !== 'function') || item === null
  if (value instanceof Map) return [...value].every(([k, v]) => isPrimitive(k) && isPrimitive(v))
  if (value instanceof Set) return [...value].every(isPrimitive)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Array.prototype && prototype !== Object.prototype) return false
  return Object.values(Object.getOwnPropertyDescriptors(value)).every((own) => 'value' in own && isPrimitive(own.value))
}
