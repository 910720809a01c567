/**
 * Tells whether looking at a value runs code of the user: a Proxy, or an object that inherits from one.
 *
 *     const settings = new Proxy({ rate: 0 }, { get: () => 0.5 })        settings.rate is 0.5, its own property is 0
 *     const mine = Object.create(settings)                               mine.rate is 0.5
 *
 * Nothing may be read past its traps, and no analysis may call them: they can have effects. So a function that reaches
 * one runs as JavaScript, where it is. Only this file tells, and it calls no trap itself.
 */
import { types } from 'node:util'

/** Whether a value or one of its prototypes is a Proxy; primitives have no traps. */
export function hasTraps(value: unknown): boolean {
  for (let at: unknown = value; at !== null; at = Object.getPrototypeOf(at)) {
    if (typeof at !== 'object' && typeof at !== 'function') return false
    if (types.isProxy(at)) return true
  }
  return false
}
