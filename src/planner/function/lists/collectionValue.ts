/** Sets and Maps of a loop's body as values: what is one, and what its members are. */
import type { AnyNode } from 'acorn'
import type { Lowering } from '../lower/lowering.ts'
import type { Site, Stored, Value } from '../lower/value.ts'
import { partOf } from './stored.ts'

/** A Set or a Map as locals and arrays. */
export type Collection = Stored & { readonly site: Site }

export function isCollection(value: Value): value is Collection {
  if (value.kind !== 'stored' || value.storage.kind !== 'fields') return false
  return value.storage.prototype === Set.prototype || value.storage.prototype === Map.prototype
}

export function isMap({ storage }: Collection): boolean {
  return storage.kind === 'fields' && storage.prototype === Map.prototype
}

/** Lowers the number of entries; other members are refused, or are methods. Undefined for other values, and in the methods themselves. */
export function collectionMember(l: Lowering, of: Value, name: string, node: AnyNode): Value | undefined {
  if (!isCollection(of) || l.frame.isLibrary === true) return undefined
  return name === 'size' ? partOf(of, 'size', l.span(node)) : l.refuse('unknown-method', node, name)
}
