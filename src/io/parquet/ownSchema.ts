/**
 * The types that Parquet cannot say, kept in a key-value pair of the files written here: time in seconds, time zones.
 */
import type { ColumnType, Field } from '../../core/schema.ts'

export const SCHEMA_KEY = 'distarray.schema'

export function schemaValue(fields: readonly Field[]): string {
  return JSON.stringify(fields)
}

/** Column types by name as the writer had them; empty for files of other writers. */
export function declaredTypes(keyValues: ReadonlyMap<string, string>): ReadonlyMap<string, ColumnType> {
  const value = keyValues.get(SCHEMA_KEY)
  if (value === undefined) return new Map()
  try {
    // Used only where it differs from the Parquet schema in ways that `ownChange` knows.
    const fields = JSON.parse(value) as readonly Field[]
    return new Map(fields.map((field) => [field.name, field.type]))
  } catch {
    return new Map()
  }
}
