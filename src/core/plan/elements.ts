/**
 * Element types of transformations: what an operation yields, known before any data is read.
 *
 * Where only running a function can tell, the element (or one of its columns) is `unknown`; nothing is guessed.
 */

import { unifyTypes } from '../data/columnConversions.ts'
import { fieldsByName, positionsOf } from '../data/fieldPositions.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, plainType, sameType, scalarType, typeText } from '../data/schema.ts'
import type { Keys } from './logicalPlan.ts'

export const UNKNOWN_ELEMENT: ElementType = { kind: 'unknown' }
export const F64: ColumnType = { kind: 'f64' }

/** The class of a value in JavaScript: types of one class can be compared with each other. */
export type ValueClass = 'number' | 'bigint' | 'string' | 'boolean' | 'Date' | 'other' | 'unknown'

export function valueClassOf(type: ColumnType): ValueClass {
  switch (type.kind) {
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return 'number'
    case 'i64':
    case 'u64':
    case 'time':
      return 'bigint'
    case 'utf8':
      return 'string'
    case 'bool':
      return 'boolean'
    case 'date':
    case 'timestamp':
      return 'Date'
    case 'null':
    case 'unknown':
    case 'object':
      return 'unknown'
    case 'binary':
    case 'list':
    case 'struct':
      return 'other'
  }
}

/** The element with the columns of `added` in place of those of the same names, and the others of them at its end. */
export function withFields(element: ElementType, added: readonly Field[]): ElementType {
  const old = fieldsOf(element)
  const replacing = fieldsByName(added)
  const names = positionsOf(old)
  const kept = old.map((field) => replacing.get(field.name) ?? field)
  return { kind: 'row', fields: [...kept, ...added.filter((field) => !names.has(field.name))] }
}

/** The type of a column that holds such elements: itself for scalars, a struct for rows. */
export function asColumnType(element: ElementType): { readonly type: ColumnType; readonly nullable: boolean } {
  switch (element.kind) {
    case 'row':
      return { type: { kind: 'struct', fields: element.fields }, nullable: false }
    case 'scalar':
      return { type: element.type, nullable: element.nullable }
    case 'unknown':
      return { type: { kind: 'unknown' }, nullable: true }
  }
}

/** The element for values of a column of this type: structs that are never null are rows. */
export function elementOfType(type: ColumnType, nullable: boolean): ElementType {
  if (type.kind === 'unknown') return UNKNOWN_ELEMENT
  if (type.kind === 'struct' && !nullable) return { kind: 'row', fields: type.fields }
  return arrayElement({ kind: 'scalar', type, nullable })
}

/** The element type of an array of such values: scalars lose their file's logical type (decimals, 64-bit integers, categories), since loops may write any value. */
export function arrayElement(element: ElementType): ElementType {
  if (element.kind !== 'scalar') return element
  const type = scalarType(element.type)
  return type === element.type ? element : { ...element, type }
}

/** The same for the columns of rows too: for arrays with keys of their own, whose elements are combined and written. */
export function plainElement(element: ElementType): ElementType {
  if (element.kind !== 'row') return arrayElement(element)
  return { kind: 'row', fields: element.fields.map((field) => ({ ...field, type: plainType(field.type) })) }
}

export function sameElement(a: ElementType, b: ElementType): boolean {
  return elementText(a) === elementText(b)
}

/** The element type of two arrays put one after another; undefined when kinds, columns or types do not go together. */
export function unifyElements(a: ElementType, b: ElementType): ElementType | undefined {
  if (a.kind === 'unknown' || b.kind === 'unknown') return UNKNOWN_ELEMENT
  if (a.kind !== b.kind) return undefined
  const left = fieldsOf(a)
  const right = fieldsOf(b)
  if (left.length !== right.length) return undefined
  const fields: Field[] = []
  const others = fieldsByName(right)
  for (const field of left) {
    const other = others.get(field.name)
    const type = other === undefined ? undefined : typeOfBoth(field.type, other.type)
    if (other === undefined || type === undefined) return undefined
    fields.push({ name: field.name, type, nullable: field.nullable || other.nullable })
  }
  const [value] = fields
  if (a.kind === 'row' || value === undefined) return { kind: 'row', fields }
  return { kind: 'scalar', type: value.type, nullable: value.nullable }
}

/** The type that holds values of both types; undefined where there is none. */
export function typeOfBoth(a: ColumnType, b: ColumnType): ColumnType | undefined {
  if (sameType(a, b)) return a
  if (a.kind === 'unknown' || b.kind === 'unknown') return { kind: 'unknown' }
  try {
    return unifyTypes(a, b, 'value')
  } catch {
    return undefined // the caller says which arrays do not go together
  }
}

/** Writes an element on one line: `{ user: i32, stars: f64? }`, `f64`; a question mark marks what may be null. */
export function elementText(element: ElementType): string {
  switch (element.kind) {
    case 'row':
      return element.fields.length === 0 ? '{}' : `{ ${element.fields.map(fieldText).join(', ')} }`
    case 'scalar':
      return `${typeText(element.type)}${element.nullable ? '?' : ''}`
    case 'unknown':
      return 'unknown'
  }
}

function fieldText(field: Field): string {
  return `${field.name}: ${typeText(field.type)}${field.nullable ? '?' : ''}`
}

/** Whether every column's type is known, nested ones included. */
export function isKnown(element: ElementType): boolean {
  return element.kind !== 'unknown' && fieldsOf(element).every((field) => isKnownType(field.type))
}

function isKnownType(type: ColumnType): boolean {
  if (type.kind === 'list') return isKnownType(type.item)
  if (type.kind === 'struct') return type.fields.every((field) => isKnownType(field.type))
  return type.kind !== 'unknown'
}

export const ROW_NUMBERS: Keys = { kind: 'rowNumber' }

/** The number of key axes: 1 for a table. */
export function rankOf(keys: Keys): number {
  return keys.kind === 'explicit' ? keys.rank : 1
}

/** The keys after elements were left out: tables are numbered anew, a dense array becomes sparse. */
export function thinned(keys: Keys): Keys {
  return keys.kind === 'explicit' ? { ...keys, dense: false } : keys
}

/** Writes keys on one line: `row number`, `[3, 4] dense`, `2 axes sparse`. */
export function keysText(keys: Keys): string {
  if (keys.kind === 'rowNumber') return 'row number'
  const shape = keys.shape === undefined ? `${keys.rank} axes` : `[${keys.shape.join(', ')}]`
  return `${shape} ${keys.dense ? 'dense' : 'sparse'}`
}
