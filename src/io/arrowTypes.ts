/**
 * Arrow's types and ours, both ways.
 *
 * Coming in, several Arrow types become one of ours: dictionaries become what they hold, large and view forms the
 * plain ones, maps lists of { key, value }, decimals f64, f16 f32. What has no counterpart (intervals, durations,
 * unions) is a SourceError that names the column.
 */
import {
  Field as ArrowField,
  Binary,
  Bool,
  DataType,
  DateDay,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Null,
  Schema,
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
} from 'apache-arrow'
import { PlanError, SourceError } from '../core/errors.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf, type TimeUnit } from '../core/schema.ts'

/** Where a type or value was met, for messages: a file (or `fromArrow`) and a column, nested ones as `a.b[]`. */
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

export function columnTypeOfArrow(type: DataType, place: Place): ColumnType {
  if (DataType.isDictionary(type)) return columnTypeOfArrow(type.dictionary as DataType, place)
  if (DataType.isNull(type)) return { kind: 'null' }
  if (DataType.isInt(type)) return { kind: `${type.isSigned ? 'i' : 'u'}${type.bitWidth as 8 | 16 | 32 | 64}` }
  if (DataType.isFloat(type)) return { kind: type.precision === 2 ? 'f64' : 'f32' }
  if (DataType.isBool(type)) return { kind: 'bool' }
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type)) return { kind: 'utf8' }
  if (DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type) || DataType.isFixedSizeBinary(type)) {
    return { kind: 'binary' }
  }
  if (DataType.isDecimal(type)) return { kind: 'f64' }
  if (DataType.isDate(type)) return type.unit === 0 ? { kind: 'date' } : { kind: 'timestamp', unit: 'ms' }
  if (DataType.isTime(type)) return { kind: 'time', unit: UNITS[type.unit] ?? 's' }
  if (DataType.isTimestamp(type)) {
    const unit = UNITS[type.unit] ?? 's'
    return typeof type.timezone === 'string' && type.timezone !== ''
      ? { kind: 'timestamp', unit, timezone: type.timezone }
      : { kind: 'timestamp', unit }
  }
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type) || DataType.isMap(type)) {
    const child = type.children[0] as ArrowField | undefined
    if (child === undefined) throw columnError(place, 'the list has no item type.')
    if (!DataType.isMap(type)) return { kind: 'list', item: columnTypeOfArrow(child.type, inside(place, '[]')) }
    const names = ['key', 'value'] // the standard names, whatever the file calls them
    const entries = (child.type as Struct).children.map((field, i) => fieldOfArrow(field, inside(place, `[].${names[i]}`), names[i]))
    return { kind: 'list', item: { kind: 'struct', fields: entries } }
  }
  if (DataType.isStruct(type)) {
    return { kind: 'struct', fields: type.children.map((field) => fieldOfArrow(field, inside(place, `.${field.name}`))) }
  }
  throw columnError(place, `values of Arrow type ${String(type)} are not read. Convert the column where the data is made.`)
}

function fieldOfArrow(field: ArrowField, place: Place, name = field.name): Field {
  return { name, type: columnTypeOfArrow(field.type, place), nullable: field.nullable }
}

/** The element of rows with an Arrow schema; a SourceError for a type that is not read or a name that comes twice. */
export function elementOfArrowSchema(schema: Schema, source: string): ElementType & { readonly kind: 'row' } {
  const names = new Set<string>()
  for (const { name } of schema.fields) {
    if (names.has(name)) throw columnError({ source, column: name }, 'there are two columns of this name.')
    names.add(name)
  }
  return { kind: 'row', fields: schema.fields.map((field) => fieldOfArrow(field, { source, column: field.name })) }
}

/** The Arrow type of a column; PlanError for `object` and `unknown`, which Arrow has no type for. */
export function arrowTypeOf(type: ColumnType, column: string): DataType {
  switch (type.kind) {
    case 'f64':
      return new Float64()
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

/** The Arrow schema of an element: its fields, or one field `value`. */
export function arrowSchemaOf(element: ElementType): Schema {
  return new Schema(fieldsOf(element).map((field) => new ArrowField(field.name, arrowTypeOf(field.type, field.name), field.nullable)))
}
