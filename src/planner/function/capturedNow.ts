/**
 * What a function captures, as far as two readings of it can be compared without lowering the function: primitives,
 * typed arrays and handles of the session by identity, and the platform.
 */
import { type AnyFunction, freeNamesOf, isPlatform } from './unit.ts'

/**
 * The values by name; undefined where a change might not show in them: in the properties of a captured object, or in
 * what a captured function captures.
 */
export function capturedNow(
  f: AnyFunction,
  env: Readonly<Record<string, unknown>>,
  isHandle: (value: unknown) => boolean,
): ReadonlyMap<string, unknown> | undefined {
  const values = new Map<string, unknown>()
  const isComparable = (value: unknown): boolean =>
    value === null || (typeof value !== 'object' && typeof value !== 'function') || ArrayBuffer.isView(value) || isHandle(value)
  for (const [name, value] of Object.entries(env)) {
    if (!isComparable(value)) return undefined
    values.set(`env.${name}`, value)
  }
  const free = freeNamesOf(f)
  if (typeof free === 'string') return undefined
  for (const [name, meaning] of free.meanings) {
    if (meaning.kind === 'absent') return undefined
    if (!isComparable(meaning.value) && !(meaning.kind === 'global' && isPlatform(name))) return undefined
    values.set(name, meaning.value)
  }
  return values
}

export function sameCaptures(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a].every(([name, value]) => b.has(name) && Object.is(b.get(name), value))
}
