/**
 * Lowers captured objects that a row lambda finds by a key to what their fields hold, each a lookup of its own:
 *
 *     rates.get(r.currency)?.rate     a Map of objects with primitives   -->   rates has currency ? (a Map of their rates).get(currency) : undefined
 *     towns[r.town].zone              an object of such objects
 */
import type { AnyNode } from 'acorn'
import type { Expr, Primitive } from '../../../core/ir/functionIr.ts'
import { ownerOf } from '../lists/stored.ts'
import type { Lowering } from '../lower/lowering.ts'
import { type Data, exprValue, type Value } from '../lower/value.ts'
import { isPlainRecord } from './capturedLookups.ts'

/** How a collection is asked for a key. */
export interface Lookups {
  /** Whether it has the key. */
  readonly has: Expr
  /** What it has for the key, of other values in place of its own; `as` tells them apart. */
  readonly found: (values: (object: object) => Primitive, as: string) => Expr
}

/** Returns the names of the fields of all these values where they are plain objects that hold primitives only; undefined for others. */
export function fieldsOfObjects(values: readonly unknown[]): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  for (const value of values) {
    if (!isPlainRecord(value)) return undefined
    for (const name of Reflect.ownKeys(value)) {
      const own = Object.getOwnPropertyDescriptor(value, name)
      if (typeof name !== 'string' || name in Object.prototype || own?.enumerable !== true || !isPrimitive(own.value)) return undefined
      if (!('value' in own)) return undefined
      names.add(name)
    }
  }
  return names.size === 0 || names.size > MOST_FIELDS ? undefined : names
}

/** Most fields of objects that are looked up one by one. */
const MOST_FIELDS = 32

/** Returns the object that a collection has for a key, if any, as its fields, which nothing may assign. */
export function foundObject(l: Lowering, { name }: Data, names: ReadonlySet<string>, lookups: Lookups, node: AnyNode): Value {
  const span = l.span(node)
  const there = l.newName('there')
  l.emit({ kind: 'Let', local: there, init: lookups.has, span })
  const fields = Array.from(names, (field) => {
    const value = lookups.found((object) => (object as Record<string, Primitive>)[field], `field ${field}`)
    return { name: field, storage: { kind: 'fixed', value: exprValue(value) } } as const
  })
  const owner = ownerOf(l, name, node, { isVariable: false, site: undefined })
  owner.isNamed = true
  return { kind: 'stored', storage: { kind: 'optional', there, absent: undefined, of: { kind: 'fields', fields } }, owner, isPart: false }
}

export function isPrimitive(value: unknown): value is Primitive {
  return value === null || (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol')
}
