/**
 * Arrow's types and ours, both ways.
 *
 * Coming in, several Arrow types become one of ours: dictionaries become what they hold (those of texts are remembered), large and view forms the
 * plain ones, maps lists of { key, value }, f16 f32; decimals are f64 that know it. What has no counterpart (intervals, durations,
 * unions) is a SourceError that names the column.
 */
import type { Int32 as IndexType, Schema } from 'apache-arrow'
import { decimalForm } from '../../core/data/decimals.ts'
import { type CategoryIndex, type ColumnType, type ElementType, type Field, fieldsOf, type TimeUnit } from '../../core/data/schema.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import {
  Field as ArrowField,
  Binary,
  Bool,
  DataType,
  DateDay,
  Decimal,
  Dictionary,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Null,
  Struct,
  TimeMicrosecond,
  TimeMillisecond,
  TimeNanosecond,
  TimeSecond,
  Timestamp,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from './arrowLibrary.ts'
import { linearSchema } from './linearSchema.ts'

/** The place of a type or value, for messages: a file (or `fromArrow`) and a column, nested ones as `a.b[]`. */
export interface Place {
  readonly source: string
  readonly column: string
}

export function inside(place: Place, step: string): Place {
  return { source: place.source, column: `${place.column}${step}` }
}

/** A SourceError about one column of a file. */
export function columnError(place: Place, what: string, cause?: unknown): SourceError {
  return new SourceError(`${place.source}, column "${place.column}": ${what}`, place.source, cause === undefined ? {} : { cause })
}

/** Arrow's TimeUnit enum counts from seconds to nanoseconds. */
const UNITS: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns']

/** Scales of decimals that leave an f64 of 15 digits finite and not zero. */
const LARGEST_SCALE = 256

export function columnTypeOfArrow(type: DataType, place: Place): ColumnType {
  /** The error for parameters that a type has in no sound file. */
  const odd = (what: string) => columnError(place, `${what}, which is not read: the schema is damaged.`)
  if (DataType.isDictionary(type)) {
    const { indices } = type
    if (!DataType.isInt(indices) || !isWidth(indices.bitWidth))
      throw odd(`its dictionary indices are integers of ${indices?.bitWidth} bits`)
    return columnTypeOfArrow(type.dictionary as DataType, place)
  }
  if (DataType.isNull(type)) return { kind: 'null' }
  if (DataType.isInt(type)) {
    if (!isWidth(type.bitWidth)) throw odd(`it holds integers of ${type.bitWidth} bits`)
    return { kind: `${type.isSigned ? 'i' : 'u'}${type.bitWidth}` }
  }
  if (DataType.isFloat(type)) {
    if (![0, 1, 2].includes(type.precision)) throw odd(`it holds floats of precision ${type.precision}`)
    return { kind: type.precision === 2 ? 'f64' : 'f32' }
  }
  if (DataType.isBool(type)) return { kind: 'bool' }
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type)) return { kind: 'utf8' }
  if (DataType.isFixedSizeBinary(type) && !(type.byteWidth >= 0)) throw odd(`it holds values of ${type.byteWidth} bytes`)
  if (DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type) || DataType.isFixedSizeBinary(type)) {
    return { kind: 'binary' }
  }
  if (DataType.isDecimal(type)) {
    if (![32, 64, 128, 256].includes(type.bitWidth)) throw odd(`it holds decimals of ${type.bitWidth} bits`)
    if (!(Math.abs(type.scale) <= LARGEST_SCALE)) throw odd(`it holds decimals of scale ${type.scale}`)
    const decimal = decimalForm(type.precision, type.scale)
    return decimal === undefined ? { kind: 'f64' } : { kind: 'f64', decimal }
  }
  if (DataType.isDate(type)) {
    if (type.unit !== 0 && type.unit !== 1) throw odd(`it holds dates of the unit ${type.unit}`)
    return type.unit === 0 ? { kind: 'date' } : { kind: 'timestamp', unit: 'ms' }
  }
  if (DataType.isTime(type)) {
    const unit = UNITS[type.unit]
    if (unit === undefined) throw odd(`it holds times of the unit ${type.unit}`)
    if (type.bitWidth !== (unit === 's' || unit === 'ms' ? 32 : 64)) throw odd(`it holds times in ${unit} of ${type.bitWidth} bits`)
    return { kind: 'time', unit }
  }
  if (DataType.isTimestamp(type)) {
    const unit = UNITS[type.unit]
    if (unit === undefined) throw odd(`it holds timestamps of the unit ${type.unit}`)
    return typeof type.timezone === 'string' && type.timezone !== ''
      ? { kind: 'timestamp', unit, timezone: type.timezone }
      : { kind: 'timestamp', unit }
  }
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type) || DataType.isMap(type)) {
    const child = type.children?.[0] as ArrowField | null | undefined
    if (child === undefined || child === null) throw columnError(place, 'the list has no item type.')
    if (DataType.isFixedSizeList(type) && !(type.listSize >= 0)) throw odd(`it holds lists of ${type.listSize} items`)
    if (!DataType.isMap(type)) return { kind: 'list', item: columnTypeOfArrow(child.type, inside(place, '[]')) }
    const names = ['key', 'value'] // the standard names, whatever the file calls them
    if (!DataType.isStruct(child.type) || child.type.children.length !== names.length)
      throw odd('it is a map whose entries are no pairs of key and value')
    const entries = child.type.children.map((field, i) => fieldOfArrow(field, inside(place, `[].${names[i]}`), names[i]))
    return { kind: 'list', item: { kind: 'struct', fields: entries } }
  }
  if (DataType.isStruct(type)) {
    const fields = type.children.map((field) => fieldOfArrow(field, inside(place, `.${nameOfField(field)}`)))
    const twice = nameGivenTwice(fields)
    if (twice !== undefined) throw columnError(inside(place, `.${twice}`), 'there are two fields of this name.')
    return { kind: 'struct', fields }
  }
  throw columnError(place, `values of Arrow type ${typeName(type)} are not read. Convert the column where the data is made.`)
}

function isWidth(bits: number): bits is 8 | 16 | 32 | 64 {
  return bits === 8 || bits === 16 || bits === 32 || bits === 64
}

/** The type as Arrow prints it, which fails for types that make no sense. */
function typeName(type: DataType): string {
  try {
    return String(type)
  } catch {
    return `number ${type.typeId}`
  }
}

/** A field's name: a column without one is called `''`. */
export function nameOfField(field: ArrowField): string {
  return (field.name as string | null) ?? ''
}

function nameGivenTwice(fields: readonly Field[]): string | undefined {
  const names = new Set<string>()
  for (const { name } of fields) {
    if (names.has(name)) return name
    names.add(name)
  }
  return undefined
}

function fieldOfArrow(field: ArrowField, place: Place, name: string = nameOfField(field)): Field {
  return { name, type: columnTypeOfArrow(field.type, place), nullable: field.nullable }
}

/** The integers by which a column of texts names the entries of its dictionary; undefined for columns of any other kind. */
function categoryOf(type: DataType): CategoryIndex | undefined {
  if (!DataType.isDictionary(type)) return undefined
  const values = type.dictionary as DataType
  const { isSigned, bitWidth } = type.indices
  const isText = DataType.isUtf8(values) || DataType.isLargeUtf8(values) || DataType.isUtf8View(values)
  return isText && isWidth(bitWidth) ? `${isSigned ? 'i' : 'u'}${bitWidth}` : undefined
}

/** A column of a file or table, whose type may say what its texts are there. */
export function columnFieldOfArrow(field: ArrowField, source: string): Field {
  const column = fieldOfArrow(field, { source, column: nameOfField(field) })
  const category = categoryOf(field.type)
  return category === undefined ? column : { ...column, type: { kind: 'utf8', category } }
}

/** The element of rows with an Arrow schema; a SourceError for a type that is not read or a name that comes twice. */
export function elementOfArrowSchema(schema: Schema, source: string): ElementType & { readonly kind: 'row' } {
  const fields = schema.fields.map((field) => columnFieldOfArrow(field, source))
  const twice = nameGivenTwice(fields)
  if (twice !== undefined) throw columnError({ source, column: twice }, 'there are two columns of this name.')
  return { kind: 'row', fields }
}

/** The Arrow type of a column; PlanError for `object` and `unknown`, which Arrow has no type for. */
export function arrowTypeOf(type: ColumnType, column: string): DataType {
  switch (type.kind) {
    case 'f64':
      if (type.decimal !== undefined) return new Decimal(type.decimal.scale, type.decimal.precision)
      return type.integers === undefined ? new Float64() : arrowTypeOf({ kind: type.integers }, column)
    case 'f32':
      return new Float32()
    case 'i64':
      return new Int64()
    case 'i32':
      return new Int32()
    case 'u32':
      return new Uint32()
    case 'i16':
      return new Int16()
    case 'u16':
      return new Uint16()
    case 'i8':
      return new Int8()
    case 'u8':
      return new Uint8()
    case 'u64':
      return new Uint64()
    case 'bool':
      return new Bool()
    case 'utf8':
      return new Utf8()
    case 'binary':
      return new Binary()
    case 'null':
      return new Null()
    case 'date':
      return new DateDay()
    case 'timestamp':
      return new Timestamp(UNITS.indexOf(type.unit), type.timezone)
    case 'time':
      return { s: new TimeSecond(), ms: new TimeMillisecond(), us: new TimeMicrosecond(), ns: new TimeNanosecond() }[type.unit]
    case 'list':
      return new List(new ArrowField('item', arrowTypeOf(type.item, `${column}[]`), true))
    case 'struct':
      return new Struct(
        type.fields.map((field) => new ArrowField(field.name, arrowTypeOf(field.type, `${column}.${field.name}`), field.nullable)),
      )
    case 'object':
    case 'unknown':
      throw new PlanError(
        `Column "${column}" holds ${type.kind === 'object' ? 'JavaScript objects' : 'values of unknown type'}, which Arrow has no type for.`,
      )
  }
}

/** The Arrow schema of a file of such rows: the same, with categories as dictionaries, whose ids are the numbers of their columns. */
export function fileSchemaOf(element: ElementType): Schema {
  const plain = arrowSchemaOf(element).fields
  const fields = fieldsOf(element).map(({ name, type, nullable }, i) => {
    if (type.kind !== 'utf8' || type.category === undefined) return plain[i] as ArrowField // one for each
    const indices = arrowTypeOf({ kind: type.category }, name) as IndexType // or integers of another width
    return new ArrowField(name, new Dictionary(new Utf8(), indices, i, false), nullable)
  })
  return linearSchema(fields)
}

/** The Arrow schema of an element: its fields, or one field `value`. */
export function arrowSchemaOf(element: ElementType): Schema {
  return linearSchema(fieldsOf(element).map((field) => new ArrowField(field.name, arrowTypeOf(field.type, field.name), field.nullable)))
}
