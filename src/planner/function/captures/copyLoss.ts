/**
 * The losses of copying a captured value, in one table: a copy is what `structuredClone` makes of it in another thread.
 *
 *     numbers, strings, booleans, bigints, null        nothing
 *     plain objects                                    accessors, hidden properties, symbols
 *     arrays                                           properties beside the elements
 *     dates, maps, sets, typed arrays, buffers         all properties of their own
 *     regular expressions                              the same, and where the next search begins
 *     functions, printed anew                          properties, another prototype (`functionLoss`)
 *     all else: instances, proxies, symbols            what they are
 *
 * Nothing is called and no getter read, and nothing of a Proxy is looked at.
 */
import { inspect, types } from 'node:util'
import { hasTraps } from './traps.ts'

/** The loss of a copy; `whole`: there is no copy; otherwise `what` the copy would not have. */
export type Loss = { readonly kind: 'whole' } | { readonly kind: 'part'; readonly what: string }

const WHOLE: Loss = { kind: 'whole' }

interface Copied {
  readonly prototype: object
  readonly is: (value: unknown) => boolean
  /** Returns what the copy lacks of the object itself; undefined for nothing. */
  readonly loses: (value: object) => string | undefined
  /** Returns the values inside, which are copied as well. */
  readonly inside: (value: object) => Iterable<unknown>
}

const NOTHING_INSIDE = (): readonly unknown[] => []

const COPIED: readonly Copied[] = [
  { prototype: Object.prototype, is: () => true, loses: (value) => hiddenIn(value, []), inside: valuesOf },
  { prototype: Array.prototype, is: Array.isArray, loses: besideElements, inside: valuesOf },
  { prototype: Date.prototype, is: types.isDate, loses: (value) => anyOwn(value, []), inside: NOTHING_INSIDE },
  { prototype: RegExp.prototype, is: types.isRegExp, loses: searchState, inside: NOTHING_INSIDE },
  { prototype: Map.prototype, is: types.isMap, loses: (value) => anyOwn(value, []), inside: entriesOf },
  { prototype: Set.prototype, is: types.isSet, loses: (value) => anyOwn(value, []), inside: entriesOf },
  { prototype: ArrayBuffer.prototype, is: types.isArrayBuffer, loses: (value) => anyOwn(value, []), inside: NOTHING_INSIDE },
  // a process without them is told so when a session starts
  ...(typeof SharedArrayBuffer === 'undefined'
    ? []
    : [
        {
          prototype: SharedArrayBuffer.prototype,
          is: types.isSharedArrayBuffer,
          loses: (value: object) => anyOwn(value, []),
          inside: NOTHING_INSIDE,
        },
      ]),
  { prototype: DataView.prototype, is: types.isDataView, loses: (value) => anyOwn(value, []), inside: NOTHING_INSIDE },
  ...[
    Float64Array,
    Float32Array,
    Int32Array,
    Uint32Array,
    Int16Array,
    Uint16Array,
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    BigInt64Array,
    BigUint64Array,
  ].map((array) => ({ prototype: array.prototype, is: types.isTypedArray, loses: besideNumbers, inside: NOTHING_INSIDE })),
]
const COPIED_BY: ReadonlyMap<unknown, Copied> = new Map(COPIED.map((one) => [one.prototype, one]))

/** Returns the first loss of a copy of the value, and of all that it holds; undefined where the copy is as good. */
export function copyLoss(value: unknown, seen: Set<object> = new Set()): Loss | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return WHOLE
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  if (hasTraps(value)) return WHOLE
  const copied = COPIED_BY.get(Object.getPrototypeOf(value))
  if (copied === undefined || !copied.is(value)) return WHOLE
  const what = copied.loses(value)
  if (what !== undefined) return { kind: 'part', what }
  for (const inside of copied.inside(value)) {
    const loss = copyLoss(inside, seen)
    if (loss !== undefined) return loss
  }
  return undefined
}

/** Returns the loss of a function printed anew; undefined for none. */
export function functionLoss(f: (...args: never[]) => unknown): Loss | undefined {
  if (hasTraps(f)) return WHOLE
  if (!FUNCTION_PROTOTYPES.has(Object.getPrototypeOf(f))) return { kind: 'part', what: 'its prototype' }
  for (const name of Reflect.ownKeys(f)) if (!OF_EVERY_FUNCTION.has(name)) return { kind: 'part', what: `its property ${String(name)}` }
  const prototype: unknown = Object.getOwnPropertyDescriptor(f, 'prototype')?.value
  if (typeof prototype !== 'object' || prototype === null) return undefined
  if (hasTraps(prototype)) return WHOLE
  const method = Reflect.ownKeys(prototype).find((name) => name !== 'constructor')
  if (method !== undefined) return { kind: 'part', what: `${String(method)} of its prototype` }
  const made = Object.getOwnPropertyDescriptor(prototype, 'constructor')
  const isOwn = made === undefined ? GENERATORS.has(Object.getPrototypeOf(prototype)) : made.value === f
  return isOwn && (made === undefined || Object.getPrototypeOf(prototype) === Object.prototype)
    ? undefined
    : { kind: 'part', what: 'its prototype' }
}

const OF_EVERY_FUNCTION: ReadonlySet<string | symbol> = new Set(['length', 'name', 'prototype', 'arguments', 'caller'])
const functions = [() => undefined, async () => undefined, function* () {}, async function* () {}]
const FUNCTION_PROTOTYPES: ReadonlySet<unknown> = new Set(functions.map((f) => Object.getPrototypeOf(f) as unknown))
/** The prototypes of the prototypes of generator functions. */
const GENERATORS: ReadonlySet<unknown> = new Set(
  functions.flatMap((f) => (f.prototype === undefined ? [] : [Object.getPrototypeOf(f.prototype) as unknown])),
)

function anyOwn(value: object, usual: readonly string[]): string | undefined {
  const name = Reflect.ownKeys(value).find((one) => typeof one === 'symbol' || !usual.includes(one))
  return name === undefined ? undefined : `its property ${String(name)}`
}

/** Returns the first property that is not plain and visible; undefined for none. */
function hiddenIn(value: object, usual: readonly string[]): string | undefined {
  for (const name of Reflect.ownKeys(value)) {
    if (typeof name === 'string' && usual.includes(name)) continue
    const own = Object.getOwnPropertyDescriptor(value, name)
    if (typeof name === 'symbol' || own?.enumerable !== true) return `its hidden property ${String(name)}`
    if (!('value' in own)) return `its accessor ${name}`
  }
  return undefined
}

function besideElements(value: object): string | undefined {
  const hidden = hiddenIn(value, ['length'])
  if (hidden !== undefined) return hidden
  const name = Object.keys(value).at(-1) // names of elements come first
  return name === undefined || /^(0|[1-9]\d*)$/.test(name) ? undefined : `its property ${name}`
}

/** Returns the loss of a typed array; for a long one, its printed form tells of other properties without as many names. */
function besideNumbers(value: object): string | undefined {
  if (Object.getOwnPropertySymbols(value).length > 0) return 'its properties'
  const numbers = value as Float64Array // or another of its kind
  if (numbers.length <= 256) return Reflect.ownKeys(value).length === numbers.length ? undefined : 'its properties'
  const text = inspect(value, { maxArrayLength: 0, depth: 0, customInspect: false })
  return /^\w+\(\d+\) \[\s*\.\.\. \d+ more items?\s*\]$/.test(text) ? undefined : 'its properties'
}

function searchState(value: object): string | undefined {
  const expression = value as RegExp // by its prototype
  const own = anyOwn(value, ['lastIndex'])
  if (own !== undefined) return own
  return expression.global || expression.sticky || expression.lastIndex !== 0 ? 'where its next search begins' : undefined
}

function* valuesOf(value: object): Iterable<unknown> {
  for (const name of Object.keys(value)) yield Object.getOwnPropertyDescriptor(value, name)?.value
}

function* entriesOf(value: object): Iterable<unknown> {
  if (types.isSet(value)) yield* value
  else for (const [key, item] of value as Map<unknown, unknown>) yield* [key, item] // the value is a Map or a Set
}
