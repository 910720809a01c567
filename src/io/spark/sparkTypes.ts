/**
 * Spark's types as column types, and back. Decimals are numbers here, as those of files are: their columns are cast where a
 * table is read.
 */

import { type ColumnType, type Field, typeText } from '../../core/data/schema.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import type { DataType } from './messages.ts'

const MICROSECONDS = 'us'

/** The type of a column of a table; `place` is for messages, as `column "price" of sales`. */
export function columnTypeOfSpark(type: DataType, place: string): ColumnType {
  if (type.double !== undefined || type.decimal !== undefined) return { kind: 'f64' }
  if (type.float !== undefined) return { kind: 'f32' }
  if (type.long !== undefined) return { kind: 'i64' }
  if (type.integer !== undefined) return { kind: 'i32' }
  if (type.short !== undefined) return { kind: 'i16' }
  if (type.byte !== undefined) return { kind: 'i8' }
  if (type.boolean !== undefined) return { kind: 'bool' }
  if (type.string !== undefined || type.char !== undefined || type.varChar !== undefined) return { kind: 'utf8' }
  if (type.binary !== undefined) return { kind: 'binary' }
  if (type.date !== undefined) return { kind: 'date' }
  if (type.timestamp !== undefined) return { kind: 'timestamp', unit: MICROSECONDS, timezone: 'UTC' }
  if (type.timestampNtz !== undefined) return { kind: 'timestamp', unit: MICROSECONDS }
  if (type.null !== undefined) return { kind: 'null' }
  if (type.array?.elementType !== undefined) return { kind: 'list', item: columnTypeOfSpark(type.array.elementType, `${place}[]`) }
  if (type.struct !== undefined) {
    const fields = (type.struct.fields ?? []).map(({ name = '', dataType = {}, nullable = false }): Field => {
      return { name, type: columnTypeOfSpark(dataType, `${place}.${name}`), nullable }
    })
    return { kind: 'struct', fields }
  }
  const [kind = 'unknown'] = Object.keys(type)
  throw new SourceError(`The ${place} has Spark's type ${kind}, which is not read. Cast it in Spark, or read the other columns.`, place)
}

/** Whether a column is cast where it is read: Spark computes with decimals otherwise than JavaScript with numbers. */
export function holdsDecimals(type: DataType): boolean {
  if (type.array?.elementType !== undefined) return holdsDecimals(type.array.elementType)
  return type.decimal !== undefined || (type.struct?.fields ?? []).some(({ dataType = {} }) => holdsDecimals(dataType))
}

/** The type in which Spark keeps a column, as SQL writes it. */
export function sqlTypeOf(type: ColumnType): string {
  switch (type.kind) {
    case 'f64':
      return type.integers === undefined ? 'DOUBLE' : 'BIGINT'
    case 'f32':
      return 'FLOAT'
    case 'i64':
    case 'u32':
      return 'BIGINT'
    case 'i32':
    case 'u16':
      return 'INT'
    case 'i16':
    case 'u8':
      return 'SMALLINT'
    case 'i8':
      return 'TINYINT'
    case 'bool':
      return 'BOOLEAN'
    case 'utf8':
      return 'STRING'
    case 'binary':
      return 'BINARY'
    case 'date':
      return 'DATE'
    case 'timestamp':
      return type.timezone === undefined ? 'TIMESTAMP_NTZ' : 'TIMESTAMP'
    case 'null':
      return 'VOID'
    case 'list':
      return `ARRAY<${sqlTypeOf(type.item)}>`
    case 'struct':
      return `STRUCT<${type.fields.map((field) => `\`${field.name.replaceAll('`', '``')}\`: ${sqlTypeOf(field.type)}`).join(', ')}>`
    case 'u64':
    case 'time':
    case 'object':
    case 'unknown':
      throw new PlanError(`Spark has no type for ${typeText(type)}. Convert the column before, or leave it out with select().`)
  }
}
