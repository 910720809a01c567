/** Sets and Maps of a loop's body as values: what is one, and what its members are. */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../../lower/lowering.ts'
import type { Site, Stored, Value } from '../../lower/value.ts'
import { partOf } from '../stored.ts'

/** A Set or a Map as locals and arrays. */
export type Collection = Stored & { readonly site: Site }

/** The prototype by which objects whose names are computed are known (`dictionaries.ts`): they are Maps in another dress. */
export const NAMES: object = Object.freeze({})

export function isCollection(value: Value): value is Collection {
  if (value.kind !== 'stored' || value.storage.kind !== 'fields') return false
  const { prototype } = value.storage
  return prototype === Set.prototype || prototype === Map.prototype || prototype === NAMES
}

export function isMap({ storage }: Collection): boolean {
  return storage.kind === 'fields' && storage.prototype !== Set.prototype
}

export function isDictionary(value: Value): value is Collection {
  return value.kind === 'stored' && value.storage.kind === 'fields' && value.storage.prototype === NAMES
}

/** Notes that the names of an object are computed, if it is a plain one that the body makes: the next try makes a dictionary. */
export function noteDictionary(l: Lowering, of: Value): void {
  const isPlain = of.kind === 'record' ? of.prototype === undefined : of.kind === 'stored' && of.storage.kind === 'fields'
  const isOfClass = of.kind === 'stored' && of.storage.kind === 'fields' && of.storage.prototype !== undefined
  if (l.context.kind !== 'loop' || !isPlain || isOfClass) return
  if ((of.kind === 'record' || of.kind === 'stored') && of.site !== undefined) l.foundKeyed.push({ site: of.site, as: 'names' })
}

/** Lowers the number of entries; other members are refused, or are methods. Undefined for other values, and in the methods themselves. */
export function collectionMember(l: Lowering, of: Value, name: string, node: AnyNode): Value | undefined {
  if (!isCollection(of) || l.frame.isLibrary === true) return undefined
  return name === 'size' ? partOf(of, 'size', l.span(node)) : l.refuse('unknown-method', node, name)
}
