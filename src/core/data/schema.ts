/**
 * The types of columns and elements: Arrow's types as plain data.
 *
 * Numbers in columns have the dtype names of arrays (`f64`, `i32`, …). An element is one of two things: a row of named
 * columns, or a single value (a *scalar* element, kept in one column called `value`).
 */

import { type DecimalForm, widerDecimal } from './decimals.ts'

/** Element types of arrays that loops can write. */
export type DType = 'f64' | 'f32' | 'i64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8' | 'bool'
/** The integer types of dictionary codes in files. */
export type CategoryIndex = Exclude<DType, 'f64' | 'f32' | 'bool'> | 'u64'
/** The integers of 64 bits. */
export type IntegerKind = 'i64' | 'u64'
export type TimeUnit = 's' | 'ms' | 'us' | 'ns'

/**
 * A column type. JavaScript values: numbers for numeric dtypes but bigint for i64 and u64; boolean; string for utf8;
 * Uint8Array for binary; Date for timestamp (whatever the unit; the column keeps the unit and all digits) and date;
 * bigint for time (in its unit); arrays for list; plain objects for struct; null for null.
 */
export type ColumnType =
  | { readonly kind: Exclude<DType, 'f64'> }
  /**
   * `integers`: whole numbers within ±2^53 (from 0 on for u64), which a file has as 64-bit integers; `decimal`: numbers of at most 15
   * significant digits, which a file has as decimals of this form. A column has one of both at most. They are kept and computed with as
   * f64, and written as what they were. What is computed of them is plain f64, and so are scalar elements.
   */
  | { readonly kind: 'f64'; readonly integers?: IntegerKind; readonly decimal?: DecimalForm }
  | { readonly kind: 'u64' | 'binary' | 'null' }
  /** `category`: texts that a file keeps dictionary-encoded, with codes of this integer type. They are kept and computed with as texts, and written dictionary-encoded again. */
  | { readonly kind: 'utf8'; readonly category?: CategoryIndex }
  /** Days since the epoch, i32. */
  | { readonly kind: 'date' }
  /** i64 in `unit` since the epoch. */
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly timezone?: string }
  /** i64 in `unit` since midnight. */
  | { readonly kind: 'time'; readonly unit: TimeUnit }
  | { readonly kind: 'list'; readonly item: ColumnType }
  | { readonly kind: 'struct'; readonly fields: readonly Field[] }
  /** Structured-cloneable values that no column holds; arrays of dtype 'object' only, never compiled. */
  | { readonly kind: 'object' }
  /** A type that is not known before the data is computed, such as that of an opaque function's result. */
  | { readonly kind: 'unknown' }

export interface Field {
  readonly name: string
  readonly type: ColumnType
  readonly nullable: boolean
}

/** The type of an array's elements. */
export type ElementType =
  | { readonly kind: 'row'; readonly fields: readonly Field[] }
  | { readonly kind: 'scalar'; readonly type: ColumnType; readonly nullable: boolean }
  /** The element of an opaque function's results: rows or scalars, known once computed. */
  | { readonly kind: 'unknown' }

/** The name of the one column of scalar elements. */
export const VALUE_COLUMN = 'value'

/** The columns that an element is stored in: its fields, or one column called `value`. */
export function fieldsOf(element: ElementType): readonly Field[] {
  switch (element.kind) {
    case 'row':
      return element.fields
    case 'scalar':
      return [{ name: VALUE_COLUMN, type: element.type, nullable: element.nullable }]
    case 'unknown':
      return []
  }
}

/** Field names joined for messages, at most ten. */
export function namesText(fields: readonly Pick<Field, 'name'>[]): string {
  const names = fields.slice(0, 10).map((field) => field.name)
  return fields.length > 10 ? `${names.join(', ')}, … (${fields.length} columns)` : names.join(', ')
}

/** Writes a type on one line, as `list<struct<id: i64, name: utf8>>`. */
export function typeText(type: ColumnType): string {
  switch (type.kind) {
    case 'timestamp':
      return `timestamp(${type.unit}${type.timezone === undefined ? '' : `, ${type.timezone}`})`
    case 'time':
      return `time(${type.unit})`
    case 'list':
      return `list<${typeText(type.item)}>`
    case 'struct':
      return `struct<${type.fields.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`
    case 'f64':
      if (type.decimal !== undefined) return `decimal(${type.decimal.precision}, ${type.decimal.scale}) as number`
      return type.integers === undefined ? 'f64' : `${type.integers} as number`
    case 'utf8':
      return type.category === undefined ? 'utf8' : `category(${type.category})`
    case 'f32':
    case 'i64':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'bool':
    case 'u64':
    case 'binary':
    case 'null':
    case 'date':
    case 'object':
    case 'unknown':
      return type.kind
  }
}

export function sameType(a: ColumnType, b: ColumnType): boolean {
  return typeText(a) === typeText(b)
}

/** The common type of a column that two files have with these types; undefined where they differ. Categories with other codes agree on texts, decimals of other forms on a wider decimal or on numbers. */
export function agreedType(a: ColumnType, b: ColumnType): ColumnType | undefined {
  if (sameType(a, b)) return a
  if (a.kind === 'f64' && b.kind === 'f64' && a.integers === undefined && b.integers === undefined) return numberOfBoth(a, b)
  return a.kind === 'utf8' && b.kind === 'utf8' ? { kind: 'utf8' } : undefined
}

/** The f64 type that holds the numbers of both: a decimal where both are decimals and its digits suffice. */
export function numberOfBoth(a: ColumnType, b: ColumnType): ColumnType & { readonly kind: 'f64' } {
  const forms = [a, b].map((type) => (type.kind === 'f64' ? type.decimal : undefined))
  const decimal = forms[0] && forms[1] && widerDecimal(forms[0], forms[1])
  return decimal === undefined ? { kind: 'f64' } : { kind: 'f64', decimal }
}

/** The type as a scalar element has it: numbers and texts without their file's logical type (`integers`, `decimal`, `category`). */
export function scalarType(type: ColumnType): ColumnType {
  return type.kind === 'f64' || type.kind === 'utf8' ? plainType(type) : type
}

/** The type without the logical types of files, inside lists and structs too: values are kept and computed with in the same way. */
export function plainType(type: ColumnType): ColumnType {
  return mapLeaves(type, (leaf) => {
    if (leaf.kind === 'f64') return leaf.integers === undefined && leaf.decimal === undefined ? leaf : { kind: 'f64' }
    return leaf.kind === 'utf8' && leaf.category !== undefined ? { kind: 'utf8' } : leaf
  })
}

/** The type with its leaves, the types inside lists and structs, replaced by the results of `leaf`. */
export function mapLeaves(type: ColumnType, leaf: (type: ColumnType) => ColumnType): ColumnType {
  if (type.kind === 'list') return { kind: 'list', item: mapLeaves(type.item, leaf) }
  if (type.kind !== 'struct') return leaf(type)
  return { kind: 'struct', fields: type.fields.map((field): Field => ({ ...field, type: mapLeaves(field.type, leaf) })) }
}
