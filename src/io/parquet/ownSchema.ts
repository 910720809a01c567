/**
 * The types that Parquet cannot say, kept in a key-value pair of the files written here: time in seconds, time zones.
 */
import type { ColumnType, Field, TimeUnit } from '../../core/schema.ts'

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

const PER_SECOND: { readonly [U in TimeUnit]: bigint } = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }

/** How many units of `finer` make one of `coarser`, for timestamps and times; 1 for all else. */
export function unitRatio(coarser: ColumnType, finer: ColumnType): bigint {
  if (coarser.kind !== 'timestamp' && coarser.kind !== 'time') return 1n
  if (finer.kind !== coarser.kind) return 1n
  const ratio = PER_SECOND[finer.unit] / PER_SECOND[coarser.unit]
  return ratio === 0n ? 1n : ratio
}
