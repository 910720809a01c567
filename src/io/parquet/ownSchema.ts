/**
 * The types that Parquet cannot say, kept in key-value pairs: `distarray.schema` of the files written here (time in seconds,
 * time zones, categories), and `ARROW:schema`, Arrow's schema message in base64, which Arrow's writers put into files and
 * look for (time zones, categories).
 *
 * Anyone can write the pairs, so they are taken for what they say only where they are of the form of their writers; a pair of
 * any other form is passed over, as other readers do.
 */
import type { Schema } from 'apache-arrow'
import type { ColumnType, ElementType, Field, TimeUnit } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import { messageFault } from '../arrow/arrowHeader.ts'
import { DataType, Message, RecordBatchStreamWriter } from '../arrow/arrowLibrary.ts'
import { columnFieldOfArrow, fileSchemaOf, nameOfField } from '../arrow/arrowTypes.ts'

export const SCHEMA_KEY = 'distarray.schema'
export const ARROW_KEY = 'ARROW:schema'

export function schemaValue(fields: readonly Field[]): string {
  return JSON.stringify(fields)
}

/** Arrow's schema message for rows of type `element`, behind the mark and the length that messages have in streams, in base64. */
export function arrowValue(element: ElementType): string {
  const writer = new RecordBatchStreamWriter()
  writer.reset(undefined, fileSchemaOf(element))
  writer.finish()
  const bytes = writer.toUint8Array(true)
  const length = new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true)
  return Buffer.from(bytes.subarray(0, 8 + length)).toString('base64')
}

/** Column types by name as the writer had them; empty where it did not say. */
export function declaredTypes(keyValues: ReadonlyMap<string, string>): ReadonlyMap<string, ColumnType> {
  const value = keyValues.get(SCHEMA_KEY)
  return value === undefined ? arrowTypes(keyValues.get(ARROW_KEY)) : ownTypes(value)
}

function arrowTypes(value: string | undefined): ReadonlyMap<string, ColumnType> {
  const schema = value === undefined ? undefined : arrowSchema(value)
  const types = new Map<string, ColumnType>()
  for (const field of schema?.fields ?? []) {
    // all other types are left to the file's own schema, which says them in full
    if (!DataType.isTimestamp(field.type) && !DataType.isDictionary(field.type)) continue
    try {
      types.set(nameOfField(field), columnFieldOfArrow(field, ARROW_KEY).type)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error // a type that is not read
    }
  }
  return types
}

function arrowSchema(value: string): Schema | undefined {
  const bytes = Buffer.from(value, 'base64')
  // older writers leave out the mark
  const start = bytes.length >= 4 && bytes.readInt32LE(0) === -1 ? 4 : 0
  if (bytes.length < start + 4) return undefined
  const length = bytes.readInt32LE(start)
  if (length <= 0 || start + 4 + length > bytes.length) return undefined
  const header = new Uint8Array(bytes.subarray(start + 4, start + 4 + length)) // FlatBuffers are read from where they begin
  if (messageFault(header) !== undefined) return undefined
  try {
    const message = Message.decode(header)
    return message.isSchema() ? (message.header() as Schema) : undefined
  } catch {
    return undefined // malformed, such as a text that is no UTF-8
  }
}

function ownTypes(value: string): ReadonlyMap<string, ColumnType> {
  let fields: unknown
  try {
    fields = JSON.parse(value)
  } catch {
    return new Map()
  }
  // Used only where it differs from the Parquet schema in ways that `ownChange` knows.
  if (!Array.isArray(fields) || !fields.every((field) => isField(field, 0))) return new Map()
  return new Map(fields.map((field: Field) => [field.name, field.type])) // just checked
}

/** The deepest nesting that is read: deeper than the footer's own schema can be. */
const DEEPEST = 64

function isField(value: unknown, depth: number): boolean {
  return isObject(value) && typeof value.name === 'string' && isType(value.type, depth)
}

/** Whether a value has the form of a type. Only the fields that are read of it are checked. */
function isType(value: unknown, depth: number): boolean {
  if (!isObject(value) || typeof value.kind !== 'string' || depth > DEEPEST) return false
  switch (value.kind) {
    case 'list':
      return isType(value.item, depth + 1)
    case 'struct':
      return Array.isArray(value.fields) && value.fields.every((field) => isField(field, depth + 1))
    case 'time':
      return isUnit(value.unit)
    case 'utf8':
      return value.category === undefined || (typeof value.category === 'string' && CATEGORIES.has(value.category))
    case 'timestamp':
      return isUnit(value.unit) && (value.timezone === undefined || typeof value.timezone === 'string')
  }
  return true
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

const CATEGORIES: ReadonlySet<string> = new Set(['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64'])

function isUnit(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(PER_SECOND, value)
}

const PER_SECOND: { readonly [U in TimeUnit]: bigint } = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }

/** The number of units of `finer` in one of `coarser`, for timestamps and times; 1 for all else. */
export function unitRatio(coarser: ColumnType, finer: ColumnType): bigint {
  if (coarser.kind !== 'timestamp' && coarser.kind !== 'time') return 1n
  if (finer.kind !== coarser.kind) return 1n
  const ratio = PER_SECOND[finer.unit] / PER_SECOND[coarser.unit]
  return ratio === 0n ? 1n : ratio
}
