/**
 * Smallest and largest values of a column chunk, where they can be trusted.
 *
 * A bound that is absent, inexact, NaN or of an order that JavaScript's `<` does not have is left out: skipping by a
 * wrong bound would lose rows.
 */
import { MS_PER_DAY, msOfTimestamp } from '../../core/data/fixedValues.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import type { Bounds } from '../../core/plan/predicate.ts'
import { smallDecimals } from '../decimals.ts'
import { boolOf, bytesOf, intOf, type ThriftStruct } from './thrift.ts'

/** Parquet's physical types, by number. */
const BOOLEAN = 0
const INT32 = 1
const INT64 = 2
const FLOAT = 4
const DOUBLE = 5

/** The form of a flat column's values in statistics. */
export interface BoundsForm {
  readonly element: ThriftStruct
  readonly type: ColumnType
  /** Present for decimals that are stored as integers. */
  readonly scale?: number
}

/** Bounds of a flat column by its chunk's statistics, dates as milliseconds; undefined where they cannot be trusted. */
export function boundsOf(statistics: ThriftStruct, { element, type, scale }: BoundsForm): Bounds | undefined {
  if (boolOf(statistics, 7) === false || boolOf(statistics, 8) === false) return undefined
  const physical = intOf(element, 1)
  // The older fields 1 and 2 compared bytes as signed: usable for signed numbers only.
  const older = type.kind === 'f64' || type.kind === 'f32' || type.kind === 'i64' || type.kind === 'i32'
  const max = bytesOf(statistics, 5) ?? (older ? bytesOf(statistics, 1) : undefined)
  const min = bytesOf(statistics, 6) ?? (older ? bytesOf(statistics, 2) : undefined)
  if (min === undefined || max === undefined || physical === undefined) return undefined
  const bounds =
    scale === undefined
      ? { min: boundOf(min, physical, type), max: boundOf(max, physical, type) }
      : { min: decimalOf(min, physical, scale), max: decimalOf(max, physical, scale) }
  if (bounds.min === undefined || bounds.max === undefined || bounds.min > bounds.max) return undefined
  return bounds as Bounds // both were found to be there
}

function boundOf(bytes: Uint8Array, physical: number, type: ColumnType): Bounds['min'] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (type.kind) {
    case 'bool':
      return physical === BOOLEAN && bytes.length === 1 ? bytes[0] === 1 : undefined
    case 'i8':
    case 'i16':
    case 'i32':
      return physical === INT32 && bytes.length === 4 ? view.getInt32(0, true) : undefined
    case 'u8':
    case 'u16':
    case 'u32':
      return physical === INT32 && bytes.length === 4 ? view.getUint32(0, true) : undefined
    case 'i64':
      return physical === INT64 && bytes.length === 8 ? view.getBigInt64(0, true) : undefined
    case 'u64':
      return physical === INT64 && bytes.length === 8 ? view.getBigUint64(0, true) : undefined
    case 'f32':
      return physical === FLOAT && bytes.length === 4 ? orderly(view.getFloat32(0, true)) : undefined
    case 'f64':
      if (physical === DOUBLE && bytes.length === 8) return orderly(view.getFloat64(0, true))
      return undefined // a decimal in another form
    case 'utf8':
      // UTF-8 and UTF-16 order the same where both bounds are ASCII.
      return bytes.every((byte) => byte < 128) ? Buffer.from(bytes).toString('latin1') : undefined
    case 'date':
      return physical === INT32 && bytes.length === 4 ? view.getInt32(0, true) * MS_PER_DAY : undefined
    case 'timestamp':
      // a bound beyond the range of Date does no harm: no comparison holds for invalid Dates
      return physical === INT64 && bytes.length === 8 ? msOfTimestamp(view.getBigInt64(0, true), type.unit) : undefined
    case 'binary':
    case 'null':
    case 'time':
    case 'list':
    case 'struct':
    case 'object':
    case 'unknown':
      return undefined
  }
}

/** The number that a decimal stored as an integer has in its column; undefined where it has too many digits for f64. */
function decimalOf(bytes: Uint8Array, physical: number, scale: number): number | undefined {
  const width = physical === INT32 ? 1 : 2
  if (bytes.length !== 4 * width) return undefined
  const value = new Float64Array(1)
  return smallDecimals(new Int32Array(bytes.slice().buffer), { width, scale }, value) ? value[0] : undefined
}

function orderly(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value
}
