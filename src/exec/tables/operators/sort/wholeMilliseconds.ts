/**
 * Timestamps as keys, rounded down to milliseconds: a function sees a Date, which has whole milliseconds, so two that differ in finer
 * digits are equal. Columns that are only handed on keep all digits.
 *
 *     groupBy((r) => r.t)    1.000900 s and 1.000100 s are one key, 1.000 s
 *
 * A 64-bit count is divided by halves, in doubles that hold every step exactly: bigints would take ten times as long.
 */
import type { Column } from '../../../../core/data/column.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'

/** Whether a type holds timestamps finer than a millisecond, at any depth. */
export function isFinerThanMilliseconds(type: ColumnType): boolean {
  switch (type.kind) {
    case 'timestamp':
      return type.unit === 'us' || type.unit === 'ns'
    case 'list':
      return isFinerThanMilliseconds(type.item)
    case 'struct':
      return type.fields.some((field) => isFinerThanMilliseconds(field.type))
    default:
      return false
  }
}

/** The column with timestamps rounded down to whole milliseconds, in their own unit; itself where nothing is finer. */
export function wholeMilliseconds(column: Column): Column {
  return isFinerThanMilliseconds(column.type) ? coarser(column, { keepsUnit: true }) : column
}

/** The column with timestamps of finer units converted to milliseconds; itself where nothing is finer. */
export function inMilliseconds(column: Column): Column {
  return isFinerThanMilliseconds(column.type) ? coarser(column, { keepsUnit: false }) : column
}

/** The type of `inMilliseconds`'s result. */
export function millisecondType(type: ColumnType): ColumnType {
  if (!isFinerThanMilliseconds(type)) return type
  if (type.kind === 'timestamp') return { ...type, unit: 'ms' }
  if (type.kind === 'list') return { ...type, item: millisecondType(type.item) }
  if (type.kind === 'struct') return { ...type, fields: type.fields.map((field) => ({ ...field, type: millisecondType(field.type) })) }
  return type
}

function coarser(column: Column, options: { readonly keepsUnit: boolean }): Column {
  const type = options.keepsUnit ? column.type : millisecondType(column.type)
  if (column.type.kind === 'timestamp') {
    const values =
      column.values instanceof BigInt64Array ? counts(column.values, column.type.unit === 'us' ? 1_000 : 1_000_000, options) : undefined
    return { ...column, type, ...(values === undefined ? {} : { values }) }
  }
  const children = column.children?.map((child) => (isFinerThanMilliseconds(child.type) ? coarser(child, options) : child))
  return { ...column, type, ...(children === undefined ? {} : { children }) }
}

const WORD = 2 ** 32

/** Every count divided by `unit` towards the past, and multiplied by it again where the unit is kept. */
function counts(values: BigInt64Array, unit: number, { keepsUnit }: { readonly keepsUnit: boolean }): BigInt64Array {
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * values.length)
  const result = new BigInt64Array(values.length)
  const out = new Int32Array(result.buffer)
  for (let i = 0; i < out.length; i += 2) {
    const low = (words[i] as number) >>> 0 // two words a value
    const high = words[i + 1] as number
    const quotient = Math.floor(high / unit)
    // below unit * 2 ** 32, which a double holds
    const rest = (high - quotient * unit) * WORD + low
    let lowQuotient = Math.floor(rest / unit)
    let digits = rest - lowQuotient * unit
    if (digits < 0) {
      lowQuotient--
      digits += unit
    }
    if (keepsUnit) {
      out[i] = low - digits
      out[i + 1] = low < digits ? high - 1 : high
    } else {
      out[i] = lowQuotient
      out[i + 1] = quotient
    }
  }
  return result
}
