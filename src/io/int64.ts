/**
 * 64-bit integers of files as numbers, and back.
 *
 *     file  i64, u64  --read-->  f64 that knows what it was  --select, filter, sort, join, group-->  the same  --write-->  i64, u64
 *
 * Numbers hold every integer within ±2^53. One beyond is refused when its column is read, even where its lowest bits
 * happen to be zero: what a program may rely on should not depend on such luck.
 */
import { type Column, isValid } from '../core/data/column.ts'
import { LARGEST_WHOLE } from '../core/data/fixedValues.ts'
import { type ColumnType, type ElementType, type Field, type IntegerKind, mapLeaves } from '../core/data/schema.ts'
import { Bug } from '../core/errors.ts'
import { columnError, inside, type Place } from './arrow/arrowTypes.ts'

export type Int64 = 'number' | 'bigint'
export const INT64_OPTIONS: readonly Int64[] = ['number', 'bigint']

type RowElement = ElementType & { readonly kind: 'row' }

/** The type that a column of a file is read as. */
export function readType(type: ColumnType, int64: Int64): ColumnType {
  return int64 === 'bigint' ? type : mapLeaves(type, (leaf) => (isInteger(leaf) ? { kind: 'f64', integers: leaf.kind } : leaf))
}

function isInteger(type: ColumnType): type is ColumnType & { readonly kind: IntegerKind } {
  return type.kind === 'i64' || type.kind === 'u64'
}

export function readElement(element: RowElement, int64: Int64): RowElement {
  return { kind: 'row', fields: element.fields.map((field) => ({ ...field, type: readType(field.type, int64) })) }
}

/** The type that a column has in files. */
export function fileType(type: ColumnType): ColumnType {
  return mapLeaves(type, (leaf) => (leaf.kind === 'f64' && leaf.integers !== undefined ? { kind: leaf.integers } : leaf))
}

/** Gives the row that a value of a nested column belongs to; undefined where it is part of nothing that is there. */
type RowOf = (index: number) => number | undefined

/**
 * Converts a column of a file to the type that it is read as. Its first row is `firstRow` of the file, or it has the
 * `rows` behind that one. SourceError for an integer that no number holds.
 */
export function readColumn(column: Column, type: ColumnType, place: Place, firstRow = 0, rows?: Int32Array): Column {
  return asNumbers(column, type, place, (index) => firstRow + (rows?.[index] ?? index))
}

function asNumbers(column: Column, type: ColumnType, place: Place, rowOf: RowOf): Column {
  if (type.kind === 'list' && column.type.kind === 'list') {
    const { children: [child] = [], offsets } = column
    if (child === undefined) return column
    const item = asNumbers(child, type.item, inside(place, '[]'), (index) => {
      const list = offsets === undefined ? -1 : listOf(offsets, column.length, index)
      return list >= 0 && isValid(column, list) ? rowOf(list) : undefined
    })
    return item === child ? column : { ...column, type, children: [item] }
  }
  if (type.kind === 'struct' && column.type.kind === 'struct') {
    const old = column.children ?? []
    const present: RowOf = (index) => (isValid(column, index) ? rowOf(index) : undefined)
    const children = old.map((child, i) => {
      const field = type.fields[i] as Field // one a child
      return asNumbers(child, field.type, inside(place, `.${field.name}`), present)
    })
    return children.every((child, i) => child === old[i]) ? column : { ...column, type, children }
  }
  if (type.kind !== 'f64' || !isInteger(column.type)) return column
  return { ...column, type, values: numbersOf(column, column.type.kind, place, rowOf) }
}

/** The list that has the item: the last that does not begin behind it. */
function listOf(offsets: Int32Array, length: number, item: number): number {
  let [from, to] = [0, length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((offsets[middle + 1] as number) > item) to = middle
    else from = middle + 1
  }
  return from < length && (offsets[from] as number) <= item ? from : -1
}

const HALF = 2 ** 32
const INVERSE = 2 ** -32
/** The upper half of 2^53. */
const LARGEST_HIGH = LARGEST_WHOLE / HALF

/** The numbers of a column of integers, read by halves: reading a BigInt64Array makes an object of each value. */
function numbersOf(column: Column, kind: IntegerKind, place: Place, rowOf: RowOf): Float64Array {
  const integers = column.values as BigInt64Array | BigUint64Array // those of i64 and u64
  const halves = new Uint32Array(integers.buffer, integers.byteOffset, 2 * column.length)
  const values = new Float64Array(column.length)
  for (let i = 0; i < values.length; i++) {
    const low = halves[2 * i] as number // two halves a value
    const bits = halves[2 * i + 1] as number
    const high = kind === 'i64' ? bits | 0 : bits
    if (high >= LARGEST_HIGH ? high > LARGEST_HIGH || low !== 0 : high < -LARGEST_HIGH) {
      const row = isValid(column, i) ? rowOf(i) : undefined
      if (row === undefined) continue
      throw columnError(
        place,
        `the integer ${integers[i]} at row ${row} is beyond ±2^53, up to where numbers are exact. Read 64-bit integers as bigints with { int64: 'bigint' }.`,
      )
    }
    values[i] = high * HALF + low
  }
  return values
}

/** The integers that the numbers of a column are in files; 0 for nulls. */
export function integersOf(column: Column, kind: IntegerKind): BigInt64Array | BigUint64Array {
  const { length, validity } = column
  const values = column.values as Float64Array // that of f64
  const integers = kind === 'i64' ? new BigInt64Array(length) : new BigUint64Array(length)
  const halves = new Uint32Array(integers.buffer)
  const least = kind === 'i64' ? -LARGEST_WHOLE : 0
  for (let i = 0; i < length; i++) {
    if (validity !== undefined && !isValid(column, i)) continue
    const value = values[i] as number // i < length
    if (!(value >= least && value <= LARGEST_WHOLE && Math.floor(value) === value))
      throw new Bug(`A column of ${kind} as numbers holds ${value}.`)
    const high = Math.floor(value * INVERSE)
    halves[2 * i] = value - high * HALF
    halves[2 * i + 1] = high
  }
  return integers
}
