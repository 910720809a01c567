/**
 * Type annotations of a file: those that the decoder is told, and the conversions that are done here instead.
 *
 * A schema element keeps its structure; annotations are reduced to those the decoder knows. What it cannot say comes
 * back as a *leaf change*, applied to types and columns alike: uuids become text, INT96 microseconds, whole numbers decimals.
 */
import { type Column, isValid } from '../../core/data/column.ts'
import { columnFromValues } from '../../core/data/columnBuilder.ts'
import { valueReader } from '../../core/data/columnReaders.ts'
import { type DecimalForm, decimalForm } from '../../core/data/decimals.ts'
import { type ColumnType, type TimeUnit, typeText } from '../../core/data/schema.ts'
import { columnError, inside, type Place } from '../arrow/arrowTypes.ts'
import { float64OfUnscaled } from '../decimals.ts'
import { unitRatio } from './ownSchema.ts'
import { i32, intOf, structOf, type ThriftField, type ThriftStruct } from './thrift.ts'

export type LeafChange =
  | { readonly kind: 'uuid' }
  /** Decimals stored as integers of 32 or 64 bits, with precision and scale. */
  | ({ readonly kind: 'decimal' } & DecimalForm)
  /** A timestamp or time in another unit than Parquet can say. */
  | { readonly kind: 'time'; readonly unit: TimeUnit; readonly timezone?: string }
  /** The same values, of a type that Parquet cannot say: a time zone, categories. */
  | { readonly kind: 'type'; readonly type: ColumnType }

const INT32 = 1
const INT64 = 2
const INT96 = 3
const CONVERTED = { utf8: 0, enum: 4, decimal: 5, json: 19, bson: 20, interval: 21 } as const
const LOGICAL = { string: 1, enum: 4, decimal: 5, json: 12, bson: 13, uuid: 14, float16: 15, variant: 16 } as const
/** Fields of a schema element that carry structure: type, length, repetition, name, children, annotation, scale, precision. */
const STRUCTURE = [1, 2, 3, 4, 5, 6, 7, 8, 10]
/** The fields among these that mark an integer as a decimal. */
const DECIMAL = [6, 7, 8, 10]

/** The schema element as the decoder is to see it, with the change to make afterwards. Throws SourceError for a type that no column holds. */
export function plainElement(
  element: ThriftStruct,
  place: Place,
): { readonly element: ThriftStruct; readonly change?: LeafChange; readonly int96: boolean } {
  const plain: ThriftStruct = new Map()
  for (const field of STRUCTURE) {
    const value = element.get(field)
    if (value !== undefined) plain.set(field, value)
  }
  const logical = structOf(element, 10)
  const id = logical === undefined ? undefined : [...logical.keys()][0]
  const converted = intOf(element, 6)
  if (converted === CONVERTED.interval)
    throw columnError(place, 'values of the Parquet type INTERVAL are not read. Leave the column out with { columns }.')
  if (id === LOGICAL.variant)
    throw columnError(place, 'values of the Parquet type VARIANT are not read. Leave the column out with { columns }.')
  if (converted === CONVERTED.enum || converted === CONVERTED.json || id === LOGICAL.enum || id === LOGICAL.json) {
    plain.set(6, i32(CONVERTED.utf8))
    plain.set(10, { type: 12, value: new Map<number, ThriftField>([[LOGICAL.string, { type: 12, value: new Map() }]]) })
  } else if (id !== undefined && id >= LOGICAL.bson && id !== LOGICAL.float16) plain.delete(10)
  if (converted === CONVERTED.bson) plain.delete(6)
  const physical = intOf(element, 1)
  const int96 = physical === INT96
  const form = formOfDecimal(element)
  if (form !== undefined && (physical === INT32 || physical === INT64)) {
    // told of a decimal, the decoder would make 128-bit numbers, which would be narrowed again here
    for (const field of DECIMAL) plain.delete(field)
    return { element: plain, change: { kind: 'decimal', ...form }, int96 }
  }
  return id === LOGICAL.uuid ? { element: plain, change: { kind: 'uuid' }, int96 } : { element: plain, int96 }
}

/** Precision and scale of a decimal; undefined where the element is none, does not state both, or has more than MOST_DIGITS digits. */
function formOfDecimal(element: ThriftStruct): DecimalForm | undefined {
  const logical = structOf(element, 10)
  const own = logical === undefined ? undefined : structOf(logical, LOGICAL.decimal)
  if (own === undefined && (logical !== undefined || intOf(element, 6) !== CONVERTED.decimal)) return undefined
  const scale = own === undefined ? (intOf(element, 7) ?? 0) : intOf(own, 1)
  const precision = own === undefined ? intOf(element, 8) : intOf(own, 2)
  if (scale === undefined || precision === undefined) return undefined
  return precision <= MOST_DIGITS ? decimalForm(precision, scale) : undefined
}
/** The decimal digits that an integer of 64 bits always holds. */
const MOST_DIGITS = 18

/** A change for each leaf below a type, in depth-first order; undefined for leaves that stay as the decoder makes them. */
export type LeafChanges = readonly (LeafChange | undefined)[]

export function leafTypes(type: ColumnType): ColumnType[] {
  if (type.kind === 'list') return leafTypes(type.item)
  if (type.kind === 'struct') return type.fields.flatMap((field) => leafTypes(field.type))
  return [type]
}

export function changedType(type: ColumnType, changes: LeafChanges): ColumnType {
  let next = 0
  const visit = (at: ColumnType): ColumnType => {
    if (at.kind === 'list') return { kind: 'list', item: visit(at.item) }
    if (at.kind === 'struct') return { kind: 'struct', fields: at.fields.map((field) => ({ ...field, type: visit(field.type) })) }
    const change = changes[next++]
    return change === undefined ? at : changedLeafType(at, change)
  }
  return visit(type)
}

function changedLeafType(type: ColumnType, change: LeafChange): ColumnType {
  switch (change.kind) {
    case 'uuid':
      return { kind: 'utf8' }
    case 'decimal':
      return { kind: 'f64', decimal: { precision: change.precision, scale: change.scale } }
    case 'type':
      return change.type
    case 'time':
      if (type.kind === 'time') return { kind: 'time', unit: change.unit }
      return { kind: 'timestamp', unit: change.unit, ...(change.timezone === undefined ? {} : { timezone: change.timezone }) }
  }
}

export function changedColumn(column: Column, changes: LeafChanges, place: Place): Column {
  if (changes.every((change) => change === undefined)) return column
  let next = 0
  const visit = (at: Column, here: Place): Column => {
    const { type } = at
    if (type.kind === 'list') {
      const children = (at.children ?? []).map((child) => visit(child, inside(here, '[]')))
      return { ...at, type: { kind: 'list', item: children[0]?.type ?? type.item }, children }
    }
    if (type.kind === 'struct') {
      const children = (at.children ?? []).map((child, i) => visit(child, inside(here, `.${type.fields[i]?.name ?? i}`)))
      return {
        ...at,
        type: { kind: 'struct', fields: type.fields.map((field, i) => ({ ...field, type: children[i]?.type ?? field.type })) },
        children,
      }
    }
    const change = changes[next++]
    return change === undefined ? at : changedLeaf(at, change, here)
  }
  return visit(column, place)
}

function changedLeaf(column: Column, change: LeafChange, place: Place): Column {
  const type = changedLeafType(column.type, change)
  switch (change.kind) {
    case 'uuid': {
      const read = valueReader(column)
      return columnFromValues(
        Array.from({ length: column.length }, (_, i) => uuidText(read(i))),
        type,
      )
    }
    case 'decimal':
      return { ...column, type, values: float64OfUnscaled(column, change.scale, place) }
    case 'type':
      return { ...column, type }
    case 'time': {
      const ratio = unitRatio(type, column.type)
      const values = (column.values as BigInt64Array).slice(0, column.length)
      for (let i = 0; i < values.length; i++) {
        const value = values[i] ?? 0n
        if (value % ratio !== 0n && isValid(column, i))
          throw columnError(place, `its writer says it is ${typeText(type)}, and the value at row ${i} of its row group is finer.`)
        values[i] = value / ratio
      }
      return { ...column, type, values }
    }
  }
}

function uuidText(bytes: unknown): string | null {
  if (!(bytes instanceof Uint8Array)) return null
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
