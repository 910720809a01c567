/**
 * Numbers out of decimal digits in bytes, as `Number(text)` makes them, without the text.
 *
 *     12.5                 125 / 10: both are exact, so that one division rounds once (Clinger, 1990)
 *     -1.0749322402160788  more than 15 digits: the quotient in two doubles, taken where both ends of its error round
 *                          to one double (Ziv, 1991)
 *
 * All else is left to the engine: exponents, more than 19 digits, quotients that are nearly half way between two doubles.
 */

const ZERO = 48
const POINT = 46
const MINUS = 45
/** All digits of a double that is a whole number are right up to here. */
const EXACT_DIGITS = 15
/** Powers of ten that are exact. */
const POWERS: Float64Array = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`))

/**
 * The number that bytes are: `-`, digits without a leading zero (15 at most), and perhaps a point with digits behind it.
 * NaN where they are something else, or cannot be told here.
 */
export function plainNumber(bytes: Uint8Array, begin: number, end: number): number {
  const negative = begin < end && bytes[begin] === MINUS
  const first = negative ? begin + 1 : begin
  let at = first
  let high = 0
  for (; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO // at < end
    if (digit < 0 || digit > 9) break
    high = 10 * high + digit
  }
  const whole = at - first
  if (whole === 0 || whole > EXACT_DIGITS || (whole > 1 && bytes[first] === ZERO)) return Number.NaN
  if (at === end) return negative ? -high : high
  if (bytes[at] !== POINT || at + 1 === end) return Number.NaN
  const fraction = end - at - 1
  if (fraction >= POWERS.length) return Number.NaN
  // zeros in front are no digits
  let digits = high === 0 ? 0 : whole
  let low = 0
  let lowDigits = 0
  for (at++; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO // at < end
    if (digit < 0 || digit > 9) return Number.NaN
    if (digits > 0 || digit > 0) digits++
    if (digits <= EXACT_DIGITS) high = 10 * high + digit
    else {
      low = 10 * low + digit
      lowDigits++
    }
  }
  const size = lowDigits === 0 ? high / (POWERS[fraction] as number) : longQuotient(high, low, lowDigits, fraction)
  return negative ? -size : size
}

/** Splits a double in two halves whose products are exact (Veltkamp, 1968). */
const SPLITTER = 2 ** 27 + 1
/** What is added to the quotient's first double is wrong by less than this part of it, where it is near to half a digit. */
const ERROR = 2 ** -45

/** `(high * 10 ** lowDigits + low) / 10 ** fraction`, of 16 to 19 digits in all; NaN where it cannot be told how it is rounded. */
function longQuotient(high: number, low: number, lowDigits: number, fraction: number): number {
  if (lowDigits > 4) return Number.NaN
  const power = POWERS[lowDigits] as number
  const divisor = POWERS[fraction] as number
  // the dividend is n0 + n1 exactly
  const upper = Math.floor(high / 2 ** 27)
  const top = upper * power * 2 ** 27
  const rest = (high - upper * 2 ** 27) * power + low
  const n0 = top + rest
  const n1 = rest - (n0 - top)
  const q = n0 / divisor
  // q * divisor is p + e exactly (Dekker, 1971)
  const p = q * divisor
  const q0 = SPLITTER * q - (SPLITTER * q - q)
  const d0 = SPLITTER * divisor - (SPLITTER * divisor - divisor)
  const [q1, d1] = [q - q0, divisor - d0]
  const e = q0 * d0 - p + q0 * d1 + q1 * d0 + q1 * d1
  const more = (n0 - p - e + n1) / divisor
  const least = q + (more - Math.abs(more) * ERROR)
  return least === q + (more + Math.abs(more) * ERROR) ? least : Number.NaN
}
