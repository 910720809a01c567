/**
 * The types that Parquet cannot say, kept in a key-value pair of the files written here: time in seconds, time zones.
 *
 * Anyone can write the pair, so it is taken for what it says only where it is of the form written here; a pair of any
 * other form is passed over, as other readers do.
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

/** Deeper than the footer's own schema can be. */
const DEEPEST = 64

function isField(value: unknown, depth: number): boolean {
  return isObject(value) && typeof value.name === 'string' && isType(value.type, depth)
}

/** Whether a value has the form of a type: what is read of it, and no more. */
function isType(value: unknown, depth: number): boolean {
  if (!isObject(value) || typeof value.kind !== 'string' || depth > DEEPEST) return false
  switch (value.kind) {
    case 'list':
      return isType(value.item, depth + 1)
    case 'struct':
      return Array.isArray(value.fields) && value.fields.every((field) => isField(field, depth + 1))
    case 'time':
      return isUnit(value.unit)
    case 'timestamp':
      return isUnit(value.unit) && (value.timezone === undefined || typeof value.timezone === 'string')
  }
  return true
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isUnit(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(PER_SECOND, value)
}

const PER_SECOND: { readonly [U in TimeUnit]: bigint } = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }

/** How many units of `finer` make one of `coarser`, for timestamps and times; 1 for all else. */
export function unitRatio(coarser: ColumnType, finer: ColumnType): bigint {
  if (coarser.kind !== 'timestamp' && coarser.kind !== 'time') return 1n
  if (finer.kind !== coarser.kind) return 1n
  const ratio = PER_SECOND[finer.unit] / PER_SECOND[coarser.unit]
  return ratio === 0n ? 1n : ratio
}
