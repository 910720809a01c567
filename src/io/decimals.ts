/**
 * Decimals of files as f64, and back. A value of more than 15 significant digits is refused, never rounded in silence.
 */
import type { Data, Decimal } from 'apache-arrow'
import { type Column, isValid } from '../core/data/column.ts'
import { type DecimalForm, DIGITS_KEPT, POWERS_OF_TEN, unscaledOf } from '../core/data/decimals.ts'
import { type ColumnType, type ElementType, mapLeaves } from '../core/data/schema.ts'
import { PlanError } from '../core/errors.ts'
import { keyText, memberText } from '../core/ir/madeFunctions.ts'
import { columnError, type Place } from './arrow/arrowTypes.ts'

/** The element with plain numbers for decimals, for programs that are handed Arrow: it has four words of JavaScript for a decimal. */
export function withoutDecimals(element: ElementType): ElementType {
  if (element.kind !== 'row') return element
  return { kind: 'row', fields: element.fields.map((field) => ({ ...field, type: mapLeaves(field.type, asNumber) })) }
}

function asNumber(type: ColumnType): ColumnType {
  return type.kind === 'f64' && type.decimal !== undefined ? { kind: 'f64' } : type
}

/** The f64s of decimals, given without their point as integers of 32 or 64 bits. Throws for one of more than 15 digits. */
export function float64OfUnscaled(column: Column, scale: number, place: Place): Float64Array {
  const { length, values } = column
  const integers = values as Int32Array | BigInt64Array // by width
  const halves = new Int32Array(integers.buffer, integers.byteOffset, integers.byteLength / 4)
  const width = integers.BYTES_PER_ELEMENT / 4
  const result = new Float64Array(length)
  if (smallDecimals(halves, { width, scale }, result)) return result
  for (let i = 0; i < length; i++) if (isValid(column, i)) result[i] = scaled(digitsOf(halves, i * width, width), scale, place, i)
  return result
}

/** Fills in the decimals of one or two words each; returns false where one has more digits than an f64 keeps. */
export function smallDecimals(
  words: Int32Array,
  { width, scale }: { readonly width: number; readonly scale: number },
  into: Float64Array,
): boolean {
  const divisor = POWERS_OF_TEN[scale]
  if (divisor === undefined) return false
  if (width === 1) {
    for (let i = 0; i < into.length; i++) into[i] = (words[i] as number) / divisor
    return true
  }
  for (let i = 0; i < into.length; i++) {
    const small = (words[2 * i + 1] as number) * 2 ** 32 + ((words[2 * i] as number) >>> 0)
    if (!(small < DIGITS_KEPT && small > -DIGITS_KEPT)) return false
    into[i] = small / divisor // both are exact: the quotient is the f64 nearest to the decimal
  }
  return true
}

export function float64OfDecimals(data: Data<Decimal>, place: Place): Float64Array {
  const { length, type } = data
  const { scale, bitWidth } = type
  const words = data.values as unknown as Uint32Array | Int32Array | BigInt64Array // by width: 32-bit words, or i64 for Decimal64
  const halves = new Int32Array(words.buffer, words.byteOffset, words.byteLength / 4)
  const values = new Float64Array(length)
  const divisor = scale >= 0 ? POWERS_OF_TEN[scale] : undefined
  const width = bitWidth / 32
  const hasNulls = data.nullCount > 0
  for (let i = 0; i < length; i++) {
    if (hasNulls && !data.getValid(i)) continue
    const small = divisor === undefined ? undefined : smallUnscaled(halves, i * width, width)
    // both operands are exact, so the quotient is the f64 nearest to the decimal
    values[i] = small === undefined ? scaled(digitsOf(halves, i * width, width), scale, place, i) : small / (divisor as number)
  }
  return values
}

/** A decimal without its point; undefined with more than 15 digits. Nearly all have fewer, for which no bigint is needed. */
function smallUnscaled(words: Int32Array, at: number, width: number): number | undefined {
  const low = words[at] as number // as all that are read here
  if (width === 1) return low
  const high = words[at + 1] as number
  for (let word = 2; word < width; word++) if (words[at + word] !== high >> 31) return undefined
  const unscaled = high * 2 ** 32 + (low >>> 0)
  return Math.abs(unscaled) < DIGITS_KEPT ? unscaled : undefined
}

function digitsOf(words: Int32Array, at: number, width: number): bigint {
  let unscaled = BigInt(words[at + width - 1] as number) // the last word has the sign
  for (let word = width - 2; word >= 0; word--) unscaled = (unscaled << 32n) | BigInt((words[at + word] as number) >>> 0)
  return unscaled
}

function scaled(unscaled: bigint, scale: number, place: Place, row: number): number {
  let digits = unscaled
  let exponent = -scale
  while (digits !== 0n && digits % 10n === 0n) {
    digits /= 10n
    exponent++
  }
  if (digits <= -DIGITS_KEPT || digits >= DIGITS_KEPT) {
    throw columnError(
      place,
      `the decimal ${decimalText(unscaled, scale)} at row ${row} has more digits than f64 keeps, and wider decimals are not read. Write the column as text, or with at most 15 digits.`,
    )
  }
  return Number(`${digits}e${exponent}`)
}

function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return `${unscaled}${'0'.repeat(-scale)}`
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/**
 * The numbers of a column of decimals without their points, as integers of 128 bits, the lowest words first; 0 where there is none. PlanError
 * for one of more digits than the form has, which files hold that break their own types.
 */
export function wordsOfDecimals(
  column: Column,
  form: DecimalForm,
  { name, isInside }: { readonly name: string; readonly isInside?: true },
): Uint32Array {
  const { length, validity } = column
  const values = column.values as Float64Array // that of f64
  const words = new Uint32Array(4 * length)
  for (let i = 0; i < length; i++) {
    if (validity !== undefined && !isValid(column, i)) continue
    const unscaled = unscaledOf(values[i] as number, form) // i < length
    if (unscaled === undefined) {
      const cure = isInside
        ? 'with + before it, where a map makes the rows'
        : `as in withColumns((row) => ({ ${keyText(name)}: +${memberText(name)} }))`
      throw new PlanError(
        `Column "${name}" holds ${values[i]}, which its decimal(${form.precision}, ${form.scale}) has no digits for: where it was read from breaks its own type.\nMake it a plain number first, ${cure}.`,
      )
    }
    if (typeof unscaled === 'bigint') {
      for (let word = 0; word < 4; word++) words[4 * i + word] = Number((unscaled >> BigInt(32 * word)) & 0xffff_ffffn)
      continue
    }
    const high = Math.floor(unscaled * 2 ** -32)
    words[4 * i] = unscaled - high * 2 ** 32
    words[4 * i + 1] = high
    if (high < 0) words.fill(0xffff_ffff, 4 * i + 2, 4 * i + 4)
  }
  return words
}
