/**
 * Fixed-width column types: their typed array, and conversion between JavaScript values and stored ones.
 *
 * `store` gives undefined for a value that does not fit; `load` is its inverse. Timestamps are Dates to JavaScript and
 * 64-bit counts of their unit in the column.
 */
import type { TypedArray } from './column.ts'
import { unscaledOf } from './decimals.ts'
import { INTEGER_RANGES, type IntegerRange } from './integerRanges.ts'
import type { ColumnType, IntegerKind, TimeUnit } from './schema.ts'

export type FixedKind = 'f64' | 'f32' | 'i64' | 'i32' | 'u32' | 'i16' | 'u16' | 'i8' | 'u8' | 'bool' | 'u64' | 'date' | 'timestamp' | 'time'

export interface FixedForm {
  readonly array: new (length: number) => TypedArray | BigUint64Array
  store(value: unknown, type: ColumnType): number | bigint | undefined
  /** The kind's values in words, for messages. */
  readonly range: string
}

export function isFixedKind(kind: ColumnType['kind']): kind is FixedKind {
  return kind in FIXED_FORMS
}

/** The length of each unit as a fraction of integers: one unit is `ms / perMs` milliseconds. */
export const UNITS: { readonly [U in TimeUnit]: { readonly perMs: bigint; readonly ms: bigint } } = {
  s: { perMs: 1n, ms: 1000n },
  ms: { perMs: 1n, ms: 1n },
  us: { perMs: 1000n, ms: 1n },
  ns: { perMs: 1000000n, ms: 1n },
}

export const MS_PER_DAY = 86_400_000
/** The largest magnitude of a valid Date, in milliseconds since 1970. */
export const MOST_MS = 8.64e15

function integers(array: FixedForm['array'], { low, high }: IntegerRange): FixedForm {
  return {
    array,
    range: `integers from ${low} to ${high}`,
    store: (value) => (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high ? value : undefined),
  }
}

function bigIntegers(array: FixedForm['array'], min: bigint, max: bigint): FixedForm {
  return {
    array,
    range: `integers from ${min} to ${max}`,
    store: (value) => {
      const integer =
        typeof value === 'bigint' ? value : typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : undefined
      return integer !== undefined && integer >= min && integer <= max ? integer : undefined
    },
  }
}

/** 2^53: a number holds every integer of at most this magnitude. */
export const LARGEST_WHOLE: number = 2 ** 53

function whole(value: number, integers: IntegerKind): number | undefined {
  const fits = Number.isInteger(value) && value <= LARGEST_WHOLE && value >= (integers === 'u64' ? 0 : -LARGEST_WHOLE)
  return fits ? value + 0 : undefined // an integer has no -0
}

const MIN_I64 = -(2n ** 63n)
const MAX_I64 = 2n ** 63n - 1n

function storeTimestamp(value: unknown, type: ColumnType): bigint | undefined {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) return undefined
  const unit = UNITS[type.kind === 'timestamp' ? type.unit : 'ms']
  const ms = BigInt(value.getTime())
  if (ms % unit.ms !== 0n) return undefined
  const stored = (ms * unit.perMs) / unit.ms
  return stored >= MIN_I64 && stored <= MAX_I64 ? stored : undefined
}

export const FIXED_FORMS: { readonly [K in FixedKind]: FixedForm } = {
  f64: {
    array: Float64Array,
    range: 'numbers',
    store: (value, type) => {
      if (typeof value !== 'number' || type.kind !== 'f64') return undefined
      if (type.integers !== undefined) return whole(value, type.integers)
      return type.decimal === undefined ? value : unscaledOf(value, type.decimal) === undefined ? undefined : value + 0
    },
  },
  f32: {
    array: Float32Array,
    range: 'numbers up to about 3.4e38',
    store: (value) => (typeof value === 'number' && (Number.isFinite(Math.fround(value)) || !Number.isFinite(value)) ? value : undefined),
  },
  i32: integers(Int32Array, INTEGER_RANGES.i32),
  u32: integers(Uint32Array, INTEGER_RANGES.u32),
  i16: integers(Int16Array, INTEGER_RANGES.i16),
  u16: integers(Uint16Array, INTEGER_RANGES.u16),
  i8: integers(Int8Array, INTEGER_RANGES.i8),
  u8: integers(Uint8Array, INTEGER_RANGES.u8),
  i64: bigIntegers(BigInt64Array, MIN_I64, MAX_I64),
  u64: bigIntegers(BigUint64Array, 0n, 2n ** 64n - 1n),
  time: bigIntegers(BigInt64Array, 0n, MAX_I64),
  bool: {
    array: Uint8Array,
    range: 'booleans',
    store: (value) => (value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined),
  },
  date: {
    array: Int32Array,
    range: 'dates at midnight UTC',
    store: (value) => {
      if (!(value instanceof Date)) return undefined
      const days = value.getTime() / MS_PER_DAY
      return Number.isInteger(days) && Math.abs(days) < 2 ** 31 ? days : undefined
    },
  },
  timestamp: { array: BigInt64Array, range: 'dates', store: storeTimestamp },
}

/** The Date of a stored timestamp. */
export function dateOfTimestamp(stored: bigint, unit: TimeUnit): Date {
  return new Date(msOfTimestamp(stored, unit))
}

/** The milliseconds of a stored timestamp; fractions of one are rounded down, towards the past. */
export function msOfTimestamp(stored: bigint, unit: TimeUnit): number {
  const { perMs, ms } = UNITS[unit]
  const scaled = stored * ms
  const quotient = scaled / perMs
  return Number(scaled < 0n && quotient * perMs !== scaled ? quotient - 1n : quotient)
}
