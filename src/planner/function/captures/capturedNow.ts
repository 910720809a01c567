/**
 * Reads what a function captures, as far as two readings can be compared without lowering the function: primitives, typed
 * arrays and handles of the session by identity, plain objects, instances and arrays by identity and by what they hold, functions by
 * identity and by what they capture, classes by their members too, and the platform.
 *
 *     const settings = { rate: 0.1 }                       settings, 'rate', 0.1,
 *     const helper = (x) => x * factor            -->      helper, 2
 *     body captures both, factor is 2
 *
 * How many items follow an item is told by those before it, so that lists with the same items say the same.
 */
import { types } from 'node:util'
import type { ClassExpression } from 'acorn'
import type { Free } from '../free.ts'
import { LONGEST_INCLUDES } from '../lower/calls.ts'
import { isPlainRegex } from '../lower/regexes.ts'
import { isPlatformFunction } from '../portable.ts'
import type { FunctionNode } from '../source/ast.ts'
import { resolveNames } from '../source/scope.ts'
import { type ClassSource, classSourceOf } from '../source/source.ts'
import { type AnyFunction, freeNamesOf, isPlatform, meaningsIn } from '../unit.ts'
import { hasTraps } from './traps.ts'

export type CapturedState = readonly unknown[]

/** Most items, properties and functions that are compared; beyond them it is faster to lower the function again. */
const MOST_ITEMS = 20_000
const MOST_PROPERTIES = 500
const MOST_FUNCTIONS = 8
/** Most methods with free names, of which most capture what their class does and take a look of the inspector all the same. */
const MOST_METHODS = 32

/**
 * Returns the state of the function's captures and its `env`; undefined where a change might not show in it: in an object with a prototype
 * of its own, or behind a getter.
 */
export function capturedNow(
  f: AnyFunction,
  env: Readonly<Record<string, unknown>>,
  isHandle: (value: unknown) => boolean,
): CapturedState | undefined {
  const inEnv = Object.entries(env)
  const reading: Reading = { items: [inEnv.length], isHandle, seen: new Set(), properties: 0, functions: 0, methods: 0 }
  for (const [name, value] of inEnv) {
    reading.items.push(name)
    if (!readValue(reading, value)) return undefined
  }
  return readFunction(reading, f) ? reading.items : undefined
}

export function sameCaptures(a: CapturedState, b: CapturedState): boolean {
  return a.length === b.length && a.every((item, i) => Object.is(item, b[i]))
}

interface Reading {
  readonly items: unknown[]
  readonly isHandle: (value: unknown) => boolean
  readonly seen: Set<unknown>
  properties: number
  functions: number
  methods: number
}

/** Notes a value and what it holds; false where some of that cannot be compared. */
function readValue(reading: Reading, value: unknown): boolean {
  const { items, seen } = reading
  items.push(value)
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return true
  if (hasTraps(value)) return false
  if (ArrayBuffer.isView(value)) {
    items.push(value.byteLength, value instanceof Float64Array || value instanceof Float32Array ? holdsNaN(value) : false)
    return true
  }
  if (reading.isHandle(value) || seen.has(value)) return true
  seen.add(value)
  if (typeof value === 'function') return readFunction(reading, value as AnyFunction) // callable, and only its text is looked at
  if (Array.isArray(value)) return readElements(reading, value)
  return types.isMap(value) || types.isSet(value) ? readEntries(reading, value) : readProperties(reading, value)
}

/** Whether a short list holds NaN, on which the lowering of `includes` depends. Other elements of typed arrays are read by each pass. */
function holdsNaN(values: Float64Array | Float32Array): boolean {
  return values.length > 0 && values.length <= LONGEST_INCLUDES && values.some((value) => Number.isNaN(value))
}

function readElements(reading: Reading, array: readonly unknown[]): boolean {
  if (reading.items.length + array.length > MOST_ITEMS || Object.getPrototypeOf(array) !== Array.prototype) return false
  reading.items.push(array.length)
  for (let i = 0; i < array.length; i++) if (!readValue(reading, array[i])) return false // holes count
  return true
}

/** Notes the keys and values of a Map or a Set of the platform's own class; false for others, and for large ones. */
function readEntries(reading: Reading, held: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): boolean {
  const prototype: unknown = Object.getPrototypeOf(held)
  if ((prototype !== Map.prototype && prototype !== Set.prototype) || Reflect.ownKeys(held).length > 0) return false
  if (reading.items.length + 2 * held.size > MOST_ITEMS) return false
  reading.items.push(held.size)
  for (const [key, value] of held.entries()) if (!readValue(reading, key) || !readValue(reading, value)) return false
  return true
}

function readProperties(reading: Reading, object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (types.isDate(object) && prototype === Date.prototype) reading.items.push(Date.prototype.getTime.call(object))
  else if (types.isRegExp(object) && isPlainRegex(object)) reading.items.push(object.source, object.flags)
  else if (prototype !== Object.prototype && prototype !== null && !readClassOf(reading, object, prototype)) return false
  const names = Reflect.ownKeys(object)
  reading.properties += names.length
  if (reading.properties > MOST_PROPERTIES) return false
  reading.items.push(names.length)
  return names.every((name) => {
    const property = ownProperty(object, name)
    reading.items.push(name)
    return property !== undefined && 'value' in property && readValue(reading, property.value)
  })
}

/** Notes the class of an instance; false where it is none of the program's, or holds what nobody else sees. */
function readClassOf(reading: Reading, object: object, prototype: unknown): boolean {
  if (types.isDate(object) || types.isRegExp(object) || typeof prototype !== 'object' || prototype === null || hasTraps(prototype))
    return false
  const of: unknown = ownProperty(prototype, 'constructor')?.value
  if (typeof of !== 'function' || hasTraps(of) || of.prototype !== prototype || classSourceOf(of as AnyFunction) === undefined) return false
  reading.items.push(prototype)
  return readValue(reading, of)
}

/** The free names of classes, by what was parsed of their text. */
const FREE: WeakMap<ClassSource, ReadonlySet<string>> = new WeakMap()

/** Notes the members of a class, those of the class that it extends, and what its text captures. Private members cannot be read. */
function readClass(reading: Reading, f: AnyFunction, source: ClassSource): boolean {
  const base: unknown = Object.getPrototypeOf(f)
  const isOfProgram = base === Function.prototype || (typeof base === 'function' && classSourceOf(base as AnyFunction) !== undefined)
  if (source.text.includes('#') || !isOfProgram) return false
  if (!readMembers(reading, f, source, CLASS_ITSELF) || !readMembers(reading, f.prototype as object, source, PROTOTYPE_ITSELF)) return false
  if (base !== Function.prototype && !readValue(reading, base)) return false
  let names = FREE.get(source)
  if (names === undefined) {
    names = new Set([...resolveNames(giving(source)).free].map(({ name }) => name))
    FREE.set(source, names)
  }
  return readMeanings(reading, meaningsIn(f, names))
}

/** A function that gives the class, whose free names are those of the class. */
function giving({ node }: ClassSource): FunctionNode {
  const { start, end } = node
  return {
    type: 'ArrowFunctionExpression',
    params: [],
    body: node as ClassExpression,
    expression: true,
    async: false,
    generator: false,
    start,
    end,
  }
}

const CLASS_ITSELF: ReadonlySet<string | symbol> = new Set(['length', 'name', 'prototype'])
const PROTOTYPE_ITSELF: ReadonlySet<string | symbol> = new Set(['constructor'])

/** Notes functions with what they capture, and values. A method whose text stands in the class may have been made by another with that text. */
function readMembers(reading: Reading, of: object, { text }: ClassSource, without: ReadonlySet<string | symbol>): boolean {
  const names = Reflect.ownKeys(of).filter((name) => !without.has(name))
  reading.properties += names.length
  if (reading.properties > MOST_PROPERTIES || hasTraps(of)) return false
  reading.items.push(names.length)
  return names.every((name) => {
    const { value, get, set } = ownProperty(of, name) ?? {}
    reading.items.push(name)
    return [value, get, set].every((one: unknown) => {
      const isMethod = typeof one === 'function' && !hasTraps(one) && text.includes(Function.prototype.toString.call(one))
      return isMethod ? readMethod(reading, one as AnyFunction) : readValue(reading, one)
    })
  })
}

function readMethod(reading: Reading, method: AnyFunction): boolean {
  reading.items.push(method)
  if (reading.seen.has(method)) return true
  reading.seen.add(method)
  const free = freeNamesOf(method)
  return (
    typeof free !== 'string' && (free.names.free.size === 0 || (++reading.methods <= MOST_METHODS && readMeanings(reading, free.meanings)))
  )
}

function ownProperty(object: object, name: string | symbol): PropertyDescriptor | undefined {
  try {
    return Object.getOwnPropertyDescriptor(object, name)
  } catch {
    return undefined // an export of a module that is not initialized yet
  }
}

/** Notes what a function captures, which follows from its text and the scopes it was made in. */
function readFunction(reading: Reading, f: AnyFunction): boolean {
  if (isPlatformFunction(f)) return true
  if (++reading.functions > MOST_FUNCTIONS) return false
  const ofClass = classSourceOf(f)
  if (ofClass !== undefined) return readClass(reading, f, ofClass)
  const free = freeNamesOf(f)
  return typeof free !== 'string' && readMeanings(reading, free.meanings)
}

function readMeanings(reading: Reading, meanings: ReadonlyMap<string, Free>): boolean {
  for (const [name, meaning] of meanings) {
    if (meaning.kind === 'absent') return false
    if (meaning.kind === 'global' && isPlatform(name)) reading.items.push(meaning.value)
    else if (!readValue(reading, meaning.value)) return false
  }
  return true
}
