/** The kinds of JavaScript values that columns hold, and their text in messages. */
import { PlanError } from '../errors.ts'
import { type ColumnType, typeText } from './schema.ts'

/** The kind of a value that a column can hold; functions, symbols and class instances have none. */
export type ValueKind = 'null' | 'number' | 'bigint' | 'boolean' | 'string' | 'Date' | 'Uint8Array' | 'array' | 'object'

export function kindOfValue(value: unknown): ValueKind | undefined {
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'string':
      return typeof value as 'number' | 'bigint' | 'boolean' | 'string' // TypeScript does not narrow typeof of unknown
    case 'undefined':
      return 'null'
    case 'symbol':
    case 'function':
      return undefined
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return 'array'
      if (Object.getPrototypeOf(value) === Object.prototype && !ArrayBuffer.isView(value)) return 'object' // what most objects are
      if (value instanceof Date) return 'Date'
      if (value instanceof Uint8Array) return 'Uint8Array'
      if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return 'array'
      return isPlainObject(value) ? 'object' : undefined
  }
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** Writes a value for a message: short, strings quoted. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' && Object.is(value, -0)) return '-0'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  if (value instanceof Uint8Array) return 'a Uint8Array'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  if (typeof value === 'object' && value !== null) {
    const name = (value.constructor as { name?: string } | undefined)?.name
    return name === undefined || name === 'Object' ? 'an object' : `an instance of ${name}`
  }
  return String(value)
}

export function misfit(name: string, type: ColumnType, value: unknown, index: number): PlanError {
  return new PlanError(`Column "${name}" is ${typeText(type)}, and the value ${valueText(value)} at row ${index} does not fit it.`)
}

/** The error of a column whose values are of two kinds. */
export function mixedKinds(name: string, a: string, b: string): PlanError {
  const lists = name.endsWith('[]')
  return new PlanError(
    `Column "${name}" mixes ${a} and ${b}. A column holds values of one kind${lists ? ', and so does an array in it' : ''}: convert one of them, for example with String(…)${lists ? ', or return an object, whose fields may differ, as ({ name: r.name, size: r.size })' : ''}.`,
  )
}
