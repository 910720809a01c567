/**
 * Collects all variables that running a function may change: those that it names, its helpers name, and the methods and getters
 * of what they capture name, by their names and by the objects in them. Nothing is called.
 *
 *     const counter = { get next() { return ++count } }
 *     (row) => row.a + counter.next                           counter, its object, count
 */
import { behindEnv } from '../../../core/ir/withEnv.ts'
import { isPlatformFunction } from '../portable.ts'
import { type AnyFunction, freeNamesOf } from '../unit.ts'
import { hasTraps } from './traps.ts'

/** Most functions and properties that are looked into; beyond them anything may be changed. */
const MOST_FUNCTIONS = 100
const MOST_PROPERTIES = 2_000

/** Returns names and objects; undefined where there may be others. */
export function variablesBehind(f: AnyFunction): ReadonlySet<unknown> | undefined {
  const found = new Set<unknown>()
  const seen = new Set<unknown>()
  let functions = 0
  let properties = 0
  const ofFunction = (one: AnyFunction): boolean => {
    if (++functions > MOST_FUNCTIONS) return false
    const free = freeNamesOf(one)
    // a class is searched like an object; nothing is known of other functions without a text
    if (typeof free === 'string') return free === 'class' && ofObject(one)
    for (const [name, meaning] of free.meanings) {
      if (meaning.kind === 'global') continue
      const isFunction = meaning.kind === 'captured' && typeof meaning.value === 'function'
      if (!isFunction && behindEnv(one) === undefined) found.add(name)
      if (meaning.kind === 'captured' && !ofValue(meaning.value)) return false
    }
    return ofObject(one)
  }
  const ofValue = (value: unknown): boolean => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value)) return true
    seen.add(value)
    if (isPlatformFunction(value as AnyFunction)) return true
    if (hasTraps(value)) return false
    if (typeof value === 'function') return ofFunction(value as AnyFunction) // callable, and only its text is looked at
    found.add(value)
    return ArrayBuffer.isView(value) || ofObject(value)
  }
  const ofObject = (object: object): boolean => {
    const names = Reflect.ownKeys(object)
    properties += names.length
    if (properties > MOST_PROPERTIES) return false
    for (const name of names) {
      const own = Object.getOwnPropertyDescriptor(object, name)
      if (![own?.value, own?.get, own?.set].every(ofValue)) return false
    }
    const prototype: unknown = Object.getPrototypeOf(object)
    return OF_THE_PLATFORM.has(prototype) || ofValue(prototype)
  }
  return ofValue(f) ? found : undefined
}

/** Prototypes whose methods change nothing but their objects. */
const OF_THE_PLATFORM: ReadonlySet<unknown> = new Set(
  [
    Object,
    Function,
    Array,
    Map,
    Set,
    Date,
    RegExp,
    Error,
    Promise,
    WeakMap,
    WeakSet,
    Intl.NumberFormat,
    Intl.DateTimeFormat,
    Intl.Collator,
  ].map(({ prototype }): unknown => prototype),
)
