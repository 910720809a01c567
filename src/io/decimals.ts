/**
 * Decimals as f64.
 *
 * A decimal of at most 15 significant digits is told apart from every other such decimal by its nearest f64, so it
 * survives: printing the f64 gives the digits back. A value with more digits is refused, never rounded in silence.
 */
import type { Data, Decimal } from 'apache-arrow'
import { columnError, type Place } from './arrowTypes.ts'

/** Significant digits that every f64 keeps. */
const DIGITS_KEPT = 10n ** 15n
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, i) => 10 ** i)

export function float64OfDecimals(data: Data<Decimal>, place: Place): Float64Array {
  const { length, type } = data
  const { scale, bitWidth } = type
  const words = data.values as unknown as Uint32Array | Int32Array | BigInt64Array // by width: 32-bit words, or i64 for Decimal64
  const view = new DataView(words.buffer, words.byteOffset, words.byteLength)
  const bytes = bitWidth / 8
  const values = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    if (!data.getValid(i)) continue
    if (bytes === 4) values[i] = scaled(BigInt(view.getInt32(i * bytes, true)), scale, place, i)
    else {
      const low = view.getBigInt64(i * bytes, true)
      let unscaled = bytes === 8 ? low : BigInt.asUintN(64, low)
      for (let word = 1; word < bytes / 8; word++) {
        const part = view.getBigInt64(i * bytes + word * 8, true)
        unscaled += (word === bytes / 8 - 1 ? part : BigInt.asUintN(64, part)) << BigInt(64 * word)
      }
      values[i] = scaled(unscaled, scale, place, i)
    }
  }
  return values
}

function scaled(unscaled: bigint, scale: number, place: Place, row: number): number {
  if (unscaled > -DIGITS_KEPT && unscaled < DIGITS_KEPT && scale >= 0 && scale <= 22) {
    // both operands are exact, so the quotient is the f64 nearest to the decimal
    return Number(unscaled) / (POWERS_OF_TEN[scale] ?? 1)
  }
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
