/**
 * The platform as it was when this module was loaded, and what the program has changed of it since: a seeded
 * `Math.random`, a faked clock, a polyfill on `Array.prototype`. Other threads have the platform as it was, and so has
 * what functions are compiled to.
 *
 * Every property of the shared globals, of their prototypes and of the iterators is compared, which takes some 50
 * microseconds: once for an action, not once for a row or a function. Getters are compared, not called.
 */

/** Globals that every thread of Node has with the same meaning. */
export const SHARED_GLOBALS: ReadonlySet<string> = new Set(
  'AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean Buffer DataView Date Error EvalError Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Intl JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape isFinite isNaN parseFloat parseInt structuredClone undefined unescape'.split(
    ' ',
  ),
)

type Name = string | symbol

/** Changes of the platform, by the name of the property. */
export type Changed = ReadonlyMap<Name, Change>

export interface Change {
  /** The property as a program names it: `Math.random`. */
  readonly called: string
  /** Whether a method of a prototype was replaced, so that the library's own printing and compiling may call it as well. */
  readonly isEverywhere: boolean
}

interface Watched {
  readonly object: object
  readonly called: string
  readonly prototype: object | null
  readonly own: ReadonlyMap<Name, PropertyDescriptor>
}

const watched: readonly Watched[] = [...namedObjects()].map(([object, called]) => ({
  object,
  called,
  prototype: Object.getPrototypeOf(object) as object | null,
  own: new Map(Reflect.ownKeys(object).map((name) => [name, Reflect.getOwnPropertyDescriptor(object, name) as PropertyDescriptor])), // its own names
}))
const globals: readonly (readonly [string, unknown])[] = [...SHARED_GLOBALS].map((name) => [name, globalValue(name)])

interface Property {
  readonly object: object
  readonly name: Name
  readonly is: unknown
}
const properties = watched.flatMap(({ object, own }) => [...own].map(([name, is]) => ({ object, name, is })))
const values: readonly Property[] = properties.flatMap(({ object, name, is }) => ('value' in is ? [{ object, name, is: is.value }] : []))
const getters: readonly Property[] = properties.flatMap(({ object, name, is }) => ('value' in is ? [] : [{ object, name, is: is.get }]))

/** Returns what the program has changed of the platform; undefined where that is nothing. */
export function changedPlatform(): Changed | undefined {
  return isUnchanged() ? undefined : changes()
}

let wasUnchanged = false

/**
 * Returns the changes for callers that ask again at the call of an action: while the program builds a chain within one turn of the event
 * loop, the platform is compared for the first function alone.
 */
export function changedBeforeAction(): Changed | undefined {
  if (wasUnchanged) return undefined
  const changed = changedPlatform()
  if (changed === undefined) {
    wasUnchanged = true
    queueMicrotask(() => {
      wasUnchanged = false
    })
  }
  return changed
}

function isUnchanged(): boolean {
  for (const { object, name, is } of values) if (!Object.is((object as Record<Name, unknown>)[name], is)) return false // any object can be asked for any name
  for (const { object, name, is } of getters) if (Reflect.getOwnPropertyDescriptor(object, name)?.get !== is) return false
  for (const { object, prototype, own } of watched) {
    if (Object.getPrototypeOf(object) !== prototype || Reflect.ownKeys(object).length !== own.size) return false
  }
  for (const [name, value] of globals) if (!Object.is(globalValue(name), value)) return false
  return true
}

function changes(): Changed {
  const found = new Map<Name, Change>()
  for (const [name, value] of globals) if (!Object.is(globalValue(name), value)) found.set(name, { called: name, isEverywhere: false })
  for (const { object, called, own, prototype } of watched) {
    for (const name of new Set([...own.keys(), ...Reflect.ownKeys(object)])) {
      const [now, was] = [Reflect.getOwnPropertyDescriptor(object, name), own.get(name)]
      const same = now !== undefined && was !== undefined && Object.is(now.value, was.value) && now.get === was.get
      if (same || (found.has(name) && was === undefined)) continue
      const isEverywhere = was !== undefined && called.endsWith('prototype')
      found.set(name, { called: `${called}${typeof name === 'symbol' ? `[${String(name)}]` : `.${name}`}`, isEverywhere })
    }
    if (Object.getPrototypeOf(object) === prototype) continue
    found.set(Symbol.for('distarray.prototype'), { called: `the prototype of ${called}`, isEverywhere: true })
  }
  return found
}

function globalValue(name: string): unknown {
  return Reflect.get(globalThis, name) as unknown
}

/** Returns the shared globals that are objects, their prototypes and those of iterators, each with a name for messages. */
function namedObjects(): ReadonlyMap<object, string> {
  const found = new Map<object, string>()
  const add = (value: unknown, called: string): void => {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || found.has(value)) return
    found.set(value, called)
    add(Object.getPrototypeOf(value), `the prototype of ${called}`)
  }
  const named = [...SHARED_GLOBALS].map((name) => [name, globalValue(name)] as const)
  // prototypes first, so that each gets its own name
  for (const [name, value] of named) if (typeof value === 'function' && 'prototype' in value) add(value.prototype, `${name}.prototype`)
  for (const [name, value] of named) add(value, name)
  const iterated = [[].values(), ''[Symbol.iterator](), new Map().entries(), new Set().values(), 'a'.matchAll(/a/g), (function* () {})()]
  for (const iterator of iterated) add(Object.getPrototypeOf(iterator), 'an iterator')
  return found
}
