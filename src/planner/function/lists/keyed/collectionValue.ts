/** Sets and Maps of a loop's body as values: what is one, and what its members are. */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import type { Lowering } from '../../lower/lowering.ts'
import type { Site, Stored, Value } from '../../lower/value.ts'
import type { Maker } from '../held/kinds.ts'
import { isList, isListOrObject, makerOfValue, noteObject } from '../held/notes.ts'
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

/** Returns the kind of the lists or objects that a Map holds; undefined where it holds numbers, texts or truth values. */
export function heldKind(l: Lowering, of: Collection): number | undefined {
  return isMap(of) ? l.held.at(makerOfValues(of)) : undefined
}

/** What stands for the values of a collection among the makers of lists: the place of what makes it, and a half. */
function makerOfValues({ site }: Collection): Maker {
  return { of: site.unit.f, place: site.start + 0.5 }
}

/** Whether a Map is given null or undefined among its lists or objects. */
export function holdsAbsent(l: Lowering, of: Collection): boolean {
  return l.isKeyed(of.site, 'absent values')
}

/** Notes that a Map is given a list or an object: the next try makes one of such. */
export function noteHeldValue(l: Lowering, of: Collection, value: Value): void {
  const maker = isList(l, value) || value.kind === 'tuple' ? makerOfValue(l, value) : undefined
  const kind = maker === undefined ? noteObject(l, value) : l.held.note(maker)
  if (kind !== undefined && isMap(of)) l.held.note(makerOfValues(of), kind)
}

/** Notes that what a Map may have given is replaced by a list or an object: it holds such. */
export function noteGotten(l: Lowering, from: Expr | undefined, value: Value): void {
  const of = from && (l.gotten.get(from) ?? (from.kind === 'Local' ? l.gottenLocals.get(from.name) : undefined))
  if (of !== undefined && isCollection(of) && isListOrObject(l, value)) noteHeldValue(l, of, value)
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
