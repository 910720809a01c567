/**
 * Reads all that a row function captures as a list, so that an action can tell in some microseconds whether anything differs
 * from when the function was lowered; and copies what could change while it runs.
 *
 *     (r) => r.a > limits.low * rates[0]      limits, its prototype, 1, 'low', 3, rates, the bytes of rates
 *
 * How many items follow an item is told by those before it. Getters are compared by identity and not called.
 */
import { types } from 'node:util'
import type { Free } from '../free.ts'
import { meaningsOf } from '../literals.ts'
import { isPlatformFunction } from '../portable.ts'
import type { AnyFunction } from '../unit.ts'
import { hasTraps } from './traps.ts'

/** Most items, properties, functions and bytes that are read; beyond them, looking takes longer than lowering, or copying than running. */
const MOST_ITEMS = 20_000
const MOST_PROPERTIES = 2_000
const MOST_FUNCTIONS = 32
const MOST_BYTES = 2 ** 26

export interface RowCaptures {
  readonly items: readonly unknown[]
  /** Copies of captured typed arrays. */
  readonly copies: ReadonlyMap<unknown, ArrayLike<number | bigint>>
  /** Whether something is read as the function runs, since it is too large to copy, or shared. */
  readonly isLive: boolean
  /** Whether something cannot be looked at, so that its changes are not known. */
  readonly isOpaque: boolean
}

/** The meanings of the free names of functions. */
export type Meanings = ReadonlyMap<unknown, ReadonlyMap<string, Free>>

/** Reads what the function captures. `known`: meanings of functions that were just read. */
export function rowCaptures(f: AnyFunction, known: Meanings): RowCaptures {
  const reading = new Reading(undefined, known)
  reading.function(f)
  return reading
}

/** Returns the captured variable that has changed, with its values before and now, or twice the object that holds others; undefined where all are the same. */
export function changedCapture(f: AnyFunction, before: RowCaptures): Difference | undefined {
  const reading = new Reading(before.items, new Map())
  reading.function(f)
  return reading.changed
}

export interface Difference {
  readonly name: string
  readonly was: unknown
  readonly is: unknown
}

/** Reads what a function captures, either into a list, or comparing with a list that was read before. */
class Reading implements RowCaptures {
  readonly items: unknown[] = []
  readonly copies: Map<unknown, ArrayLike<number | bigint>> = new Map()
  isLive = false
  isOpaque = false
  changed: Difference | undefined
  readonly #before: readonly unknown[] | undefined
  readonly #known: Meanings
  readonly #seen = new Set<unknown>()
  #at = 0
  #properties = 0
  #functions = 0
  #variable = ''
  /** The object that the variable is, while what it holds is read. */
  #holder: object | undefined

  constructor(before: readonly unknown[] | undefined, known: Meanings) {
    this.#before = before
    this.#known = known
  }

  function(f: AnyFunction): void {
    if (isPlatformFunction(f)) return
    if (++this.#functions > MOST_FUNCTIONS) {
      this.isOpaque = true
      return
    }
    const [outer, holder] = [this.#variable, this.#holder]
    for (const [name, meaning] of this.#known.get(f) ?? meaningsOf(f) ?? []) {
      if (this.changed !== undefined) return
      this.#variable = name
      this.#holder = undefined
      this.#note(meaning.kind)
      if (meaning.kind === 'captured') this.#value(meaning.value)
      else if (meaning.kind === 'global') this.#note(meaning.value)
    }
    this.#variable = outer
    this.#holder = holder
    this.#beside(f)
  }

  /** Notes a function's own properties, and the size of its prototype. */
  #beside(f: AnyFunction): void {
    for (const name of Reflect.ownKeys(f)) {
      if (name === 'length' || name === 'name' || name === 'arguments' || name === 'caller') continue
      if (name === 'prototype') this.#note(Reflect.ownKeys(Object(Object.getOwnPropertyDescriptor(f, name)?.value)).length)
      else this.#property(f, name)
    }
  }

  #note(item: unknown): void {
    if (this.#before === undefined) this.items.push(item)
    else if (this.changed === undefined && !(this.#at < this.#before.length && Object.is(this.#before[this.#at], item))) this.#differs(item)
    this.#at++
  }

  #differs(is: unknown): void {
    const holder = this.#holder
    this.changed = { name: this.#variable, ...(holder === undefined ? { was: this.#before?.[this.#at], is } : { was: holder, is: holder }) }
  }

  #value(value: unknown): void {
    this.#note(value)
    if (this.changed !== undefined || value === null || (typeof value !== 'object' && typeof value !== 'function')) return
    if (this.#seen.has(value)) return
    this.#seen.add(value)
    this.#holder ??= value
    if (hasTraps(value)) this.isOpaque = true
    else if (typeof value === 'function')
      this.function(value as AnyFunction) // callable, and only its text is looked at
    else if (ArrayBuffer.isView(value)) this.#bytes(value)
    else if (this.#at > MOST_ITEMS) this.isLive = true
    else if (Array.isArray(value)) this.#elements(value)
    else this.#object(value)
  }

  #bytes(view: ArrayBufferView): void {
    const isShared = view.buffer instanceof SharedArrayBuffer
    if (isShared || view.byteLength > MOST_BYTES || view instanceof DataView) {
      this.isLive = true
      return
    }
    if (this.#before === undefined) {
      const copy = (view as Uint8Array).slice() // or another typed array, whose class it keeps
      this.copies.set(view, copy)
      this.items.push(bytesOf(copy))
    } else {
      const was = this.#before[this.#at]
      if (!(was instanceof Uint8Array && Buffer.compare(was, bytesOf(view)) === 0)) this.#differs(view)
    }
    this.#at++
  }

  #elements(array: readonly unknown[]): void {
    this.#note(array.length)
    if (this.#at + array.length > MOST_ITEMS) {
      this.isLive = true
      return
    }
    this.#note(Object.getPrototypeOf(array))
    this.#properties -= array.length
    this.#object(array)
  }

  #object(object: object): void {
    const names = Reflect.ownKeys(object)
    this.#properties += names.length
    if (this.#properties > MOST_PROPERTIES) {
      this.isOpaque = true
      return
    }
    this.#note(Object.getPrototypeOf(object))
    this.#note(names.length)
    for (const name of names) {
      if (this.changed !== undefined) return
      this.#property(object, name)
    }
    if (types.isDate(object)) this.#note(Date.prototype.getTime.call(object))
    else if (types.isMap(object)) this.#entries(Map.prototype.entries.call(object), object.size)
    else if (types.isSet(object)) this.#entries(Set.prototype.entries.call(object), object.size)
    else if (types.isRegExp(object)) this.#note(String(object))
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>, size: number): void {
    this.#note(size)
    if (this.#at + size > MOST_ITEMS) {
      this.isLive = true
      return
    }
    for (const [key, value] of entries) {
      if (this.changed !== undefined) return
      this.#value(key)
      this.#value(value)
    }
  }

  #property(object: object, name: string | symbol): void {
    const own = propertyOf(object, name)
    this.#note(name)
    if (own === undefined || 'value' in own) this.#value(own?.value)
    else this.#note(own.get)
  }
}

function propertyOf(object: object, name: string | symbol): PropertyDescriptor | undefined {
  try {
    return Object.getOwnPropertyDescriptor(object, name)
  } catch {
    return undefined // an export of a module that is not initialized yet
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
