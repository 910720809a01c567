/**
 * What can be sent to another thread: values that `structuredClone` copies faithfully.
 */
import { hasTraps } from './traps.ts'

/** Whether a value survives a structured clone as it is: no functions, symbols, classes, getters or hidden prototypes. */
export function isCloneable(value: unknown, seen: Set<object> = new Set()): boolean {
  if (typeof value === 'function' || typeof value === 'symbol') return false
  if (typeof value !== 'object' || value === null) return true
  if (hasTraps(value)) return false
  if (seen.has(value)) return true
  seen.add(value)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return !Buffer.isBuffer(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Date.prototype || prototype === RegExp.prototype) return true
  if (prototype === Map.prototype)
    return [...(value as Map<unknown, unknown>)].every(([k, v]) => isCloneable(k, seen) && isCloneable(v, seen)) // by its prototype
  if (prototype === Set.prototype) return [...(value as Set<unknown>)].every((item) => isCloneable(item, seen)) // by its prototype
  if (prototype !== Array.prototype && prototype !== Object.prototype) return false
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  return Object.values(Object.getOwnPropertyDescriptors(value)).every((own) => 'value' in own && isCloneable(own.value, seen))
}

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
