/**
 * Collects the handles that a function's free variables hold, and those of the functions that it captures: what a refused body may touch
 * without lowering having met it.
 */

import { type AnyFunction, freeNamesOf } from '../unit.ts'
import { hasTraps } from './traps.ts'

/** Most functions that are looked into; more are no loop body's helpers. */
const MOST_FUNCTIONS = 64

/** Returns the handles, with the name of the variable that was found first to hold each. */
export function capturedHandles(f: AnyFunction, isHandle: (value: unknown) => boolean): ReadonlyMap<unknown, string> {
  const found = new Map<unknown, string>()
  const seen = new Set<AnyFunction>()
  const visit = (g: AnyFunction): void => {
    if (seen.has(g) || seen.size >= MOST_FUNCTIONS) return
    seen.add(g)
    const free = freeNamesOf(g)
    if (typeof free === 'string') return
    for (const [name, meaning] of free.meanings) {
      if (meaning.kind !== 'captured' || hasTraps(meaning.value)) continue
      if (typeof meaning.value === 'function')
        visit(meaning.value as AnyFunction) // callable, and only its text is looked at
      else if (isHandle(meaning.value) && !found.has(meaning.value)) found.set(meaning.value, name)
    }
  }
  visit(f)
  return found
}
