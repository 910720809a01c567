/**
 * Messages between threads whose arena has 64-bit addresses: V8 (13) writes where a view begins, and how long its buffer
 * is, with 32 bits into a message, so views of such an arena travel as numbers.
 *
 *     { values: Float64Array at 5 GiB }     becomes     { values: {} }, and beside it: that object is a Float64Array at 5 GiB
 *
 * A message holds them in plain objects, arrays, maps and sets. What holds none travels as it is: the user's values, and
 * whatever refers to itself, are among that.
 */
import type { TypedArray } from '../../core/data/column.ts'
import type { Arena } from '../memory/arena.ts'

/** The part of an arena that messages need. */
type Seen = Pick<Arena, 'addresses' | 'owns' | 'view'>
type View = TypedArray | BigUint64Array

type ClassName = `${'Float64' | 'Float32' | 'BigInt64' | 'BigUint64' | 'Int32' | 'Uint32' | 'Int16' | 'Uint16' | 'Int8' | 'Uint8'}Array`
type ViewClass = { readonly BYTES_PER_ELEMENT: number } & (new (buffer: ArrayBufferLike, offset: number, length: number) => View)

const CLASSES: { readonly [N in ClassName]: ViewClass } = {
  Float64Array,
  Float32Array,
  BigInt64Array,
  BigUint64Array,
  Int32Array,
  Uint32Array,
  Int16Array,
  Uint16Array,
  Int8Array,
  Uint8Array,
}

/** A view that was taken out of a message; `instead` is the object that stands in its place. */
interface ViewPlace {
  readonly instead: object
  readonly of: ClassName
  readonly offset: number
  readonly length: number
}

export interface Message {
  readonly value: unknown
  readonly views: readonly ViewPlace[]
}

/** The message that travels instead of the value. */
export function toMessage(value: unknown, arena: Seen): Message {
  if (arena.addresses === 'i32') return { value, views: [] }
  const taking = new Taking(arena)
  return { value: taking.without(value), views: taking.views }
}

/** The value that was sent. It is the message's own, and is completed in place. */
export function fromMessage({ value, views }: Message, arena: Seen): unknown {
  if (views.length === 0) return value
  const made = new Map<unknown, View>(views.map(({ instead, of, offset, length }) => [instead, viewAt(arena, of, offset, length)]))
  const seen = new Set<unknown>()
  const complete = (part: unknown): unknown => {
    const view = made.get(part)
    if (view !== undefined) return view
    if (!isContainer(part) || seen.has(part)) return part
    seen.add(part)
    if (part instanceof Map) for (const [key, one] of part) part.set(key, complete(one))
    else if (part instanceof Set) refill(part, [...part].map(complete))
    else for (const [key, one] of Object.entries(part)) (part as Record<string, unknown>)[key] = complete(one)
    return part
  }
  return complete(value)
}

function viewAt(arena: Seen, of: ClassName, offset: number, length: number): View {
  const bytes = arena.view('u8', offset, length * CLASSES[of].BYTES_PER_ELEMENT)
  return new CLASSES[of](bytes.buffer, offset, length)
}

/** Replaces the elements of a set, which keep their order. */
function refill(set: Set<unknown>, values: readonly unknown[]): void {
  set.clear()
  for (const value of values) set.add(value)
}

class Taking {
  readonly views: ViewPlace[] = []
  readonly #arena: Seen
  readonly #done = new Map<unknown, unknown>()

  constructor(arena: Seen) {
    this.#arena = arena
  }

  /** The value itself where it holds no views, else one with the views taken out. What is one object stays one. */
  without(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    const done = this.#done.get(value)
    if (done !== undefined) return done
    this.#done.set(value, value) // what refers to itself holds no views
    const made = this.#made(value)
    this.#done.set(value, made)
    return made
  }

  #made(value: object): unknown {
    if (ArrayBuffer.isView(value)) return this.#arena.owns(value) ? this.#placed(value as View) : value // columns and arrays have typed arrays
    if (!isContainer(value)) return value
    if (Array.isArray(value)) return this.#changed(value, value, (made) => made)
    if (value instanceof Map) return this.#changed(value, [...value].flat(1), (made) => new Map(pairsOf(made)))
    if (value instanceof Set) return this.#changed(value, [...value], (made) => new Set(made))
    const keys = Object.keys(value)
    const values = keys.map((key) => (value as Record<string, unknown>)[key])
    return this.#changed(value, values, (made) => Object.fromEntries(keys.map((key, i) => [key, made[i]])))
  }

  #changed(value: object, parts: readonly unknown[], make: (made: unknown[]) => object): object {
    const made = parts.map((part) => this.without(part))
    return made.every((one, i) => one === parts[i]) ? value : make(made)
  }

  #placed(view: View): object {
    const instead = {}
    this.views.push({ instead, of: view.constructor.name as ClassName, offset: view.byteOffset, length: view.length }) // one of the arena's
    return instead
  }
}

function pairsOf(parts: readonly unknown[]): [unknown, unknown][] {
  return Array.from({ length: parts.length / 2 }, (_, i) => [parts[2 * i], parts[2 * i + 1]])
}

/** Whether a value is a container of the kinds that messages are made of. */
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
