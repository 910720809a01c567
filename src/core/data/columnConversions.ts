/** Unification of column types, and conversion of columns to another type. */

import { PlanError } from '../errors.ts'
import type { Column } from './column.ts'
import { columnFromValues } from './columnBuilder.ts'
import { valueReader } from './columnReaders.ts'
import { emptyColumn, nullColumn } from './columnSlices.ts'
import { fieldsByName, positionsOf } from './fieldPositions.ts'
import { FIXED_FORMS, isFixedKind } from './fixedValues.ts'
import { type ColumnType, type Field, numberOfBoth, sameType, typeText } from './schema.ts'
import { mixedKinds, valueText } from './valueKinds.ts'

/** Kinds of columns whose values JavaScript reads as numbers. */
export const NUMBERS: ReadonlySet<ColumnType['kind']> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
const FINER = { s: 0, ms: 1, us: 2, ns: 3 } as const

/** The one type that holds the values of both; throws PlanError naming the column when there is none. */
export function unifyTypes(a: ColumnType, b: ColumnType, name: string): ColumnType {
  if (sameType(a, b)) return a
  if (a.kind === 'unknown') return b
  if (b.kind === 'unknown') return a
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (a.kind === 'object' || b.kind === 'object') return { kind: 'object' }
  if (NUMBERS.has(a.kind) && NUMBERS.has(b.kind)) return numberOfBoth(a, b)
  if (a.kind === 'utf8' && b.kind === 'utf8') return { kind: 'utf8' }
  if (a.kind === 'timestamp' && b.kind === 'timestamp') return FINER[a.unit] >= FINER[b.unit] ? a : b
  // a day is its first instant in UTC, which is what JavaScript shows of both
  if (a.kind === 'date' && b.kind === 'timestamp') return b
  if (a.kind === 'timestamp' && b.kind === 'date') return a
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', item: unifyTypes(a.item, b.item, `${name}[]`) }
  if (a.kind === 'struct' && b.kind === 'struct') return { kind: 'struct', fields: unifyFields(a.fields, b.fields, name) }
  throw mixedKinds(name, kindText(a), kindText(b))
}

/** The name that `mixedKinds` prints for values of a type. */
function kindText(type: ColumnType): string {
  switch (type.kind) {
    case 'f64':
      return 'number'
    case 'i64':
      return 'bigint'
    case 'bool':
      return 'boolean'
    case 'utf8':
      return 'string'
    case 'timestamp':
      return 'Date'
    case 'binary':
      return 'Uint8Array'
    case 'list':
      return 'array'
    case 'struct':
      return 'object'
    default:
      return typeText(type)
  }
}

/** The fields of both in order of first appearance; those that one side lacks are nullable. */
export function unifyFields(a: readonly Field[], b: readonly Field[], name = ''): readonly Field[] {
  const path = (field: string) => (name === '' ? field : `${name}.${field}`)
  const known = positionsOf(a)
  const others = fieldsByName(b)
  const merged = a.map((field): Field => {
    const other = others.get(field.name)
    if (other === undefined) return { ...field, nullable: true }
    return { name: field.name, type: unifyTypes(field.type, other.type, path(field.name)), nullable: field.nullable || other.nullable }
  })
  const added = b.filter((field) => !known.has(field.name))
  return [...merged, ...added.map((field) => ({ ...field, nullable: true }))]
}

/** Widens a column to a type that `unifyTypes` gave for it: no value changes. */
export function convertColumn(column: Column, type: ColumnType): Column {
  if (sameType(column.type, type)) return column
  if (column.type.kind === 'null' || column.type.kind === 'unknown') return nullColumn(type, column.length)
  if (type.kind === 'struct' && column.type.kind === 'struct') {
    const old = positionsOf(column.type.fields)
    const children = type.fields.map((field) => {
      const child = column.children?.[old.get(field.name) ?? -1]
      return child === undefined ? nullColumn(field.type, column.length) : convertColumn(child, field.type)
    })
    return { ...column, type, children }
  }
  if (type.kind === 'list' && column.type.kind === 'list') {
    const child = column.children?.[0] ?? emptyColumn(column.type.item)
    return { ...column, type, children: [convertColumn(child, type.item)] }
  }
  if ((type.kind === 'f64' || type.kind === 'utf8') && column.type.kind === type.kind) return { ...column, type }
  if (type.kind === 'f64' && column.values !== undefined) {
    // NUMBERS: every array class here holds numbers
    return { ...column, type, values: Float64Array.from(column.values as Float64Array) }
  }
  const read = valueReader(column)
  return columnFromValues(
    Array.from({ length: column.length }, (_, i) => read(i)),
    type,
  )
}

/** Writes the range of values that `castColumn` accepts for a type, for messages. */
function rangeText(type: ColumnType): string {
  return isFixedKind(type.kind) ? `Values of ${type.kind} are ${FIXED_FORMS[type.kind].range}.` : ''
}

/**
 * Converts every value to `type`; throws PlanError naming the first value that does not fit and its place.
 * Digits are never lost except from f64 to f32, which rounds.
 */
export function castColumn(column: Column, type: ColumnType, placeOf = (i: number): string => `row ${i}`): Column {
  if (sameType(column.type, type)) return column
  if (column.type.kind === 'null') return nullColumn(type, column.length)
  if ((type.kind === 'f64' || type.kind === 'utf8') && column.type.kind === type.kind) return { ...column, type }
  const convert = castOf(column.type, type)
  if (convert === undefined) {
    throw new PlanError(
      `Cannot cast ${typeText(column.type)} to ${typeText(type)}. Convert the values with map, for example (v) => Number(v).`,
    )
  }
  const read = valueReader(column)
  const values: unknown[] = new Array(column.length)
  const store = isFixedKind(type.kind) ? FIXED_FORMS[type.kind].store : undefined
  for (let i = 0; i < column.length; i++) {
    const value = read(i)
    if (value === null) continue
    const converted = convert(value)
    if (converted === undefined || (store !== undefined && store(converted, type) === undefined)) {
      throw new PlanError(`Cannot cast ${valueText(value)} at ${placeOf(i)} to ${typeText(type)}. ${rangeText(type)}`)
    }
    values[i] = converted
  }
  return columnFromValues(values, type)
}

type Convert = (value: unknown) => unknown
const EXACT: ReadonlySet<ColumnType['kind']> = new Set(['i64', 'u64', 'time'])

function castOf(from: ColumnType, to: ColumnType): Convert | undefined {
  const numeric = NUMBERS.has(from.kind) || EXACT.has(from.kind) || from.kind === 'bool'
  if (!numeric) return undefined
  const asNumber: Convert = (value) => (typeof value === 'boolean' ? Number(value) : value)
  if (EXACT.has(to.kind)) return asNumber
  if (to.kind === 'bool') return (value) => (typeof value === 'bigint' ? Number(value) : value)
  if (!NUMBERS.has(to.kind)) return undefined
  const exact: Convert = (value) => {
    const number = typeof value === 'bigint' ? Number(value) : asNumber(value)
    return typeof value === 'bigint' && BigInt(number as number) !== value ? undefined : number
  }
  if (to.kind !== 'f32' || from.kind === 'f64') return exact
  return (value) => {
    const number = exact(value)
    return typeof number === 'number' && Number.isFinite(number) && Math.fround(number) !== number ? undefined : number
  }
}
