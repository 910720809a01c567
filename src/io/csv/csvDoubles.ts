/**
 * The digits that `String` finds for a double, without a string: the fewest that are read back as it, and of these the nearest.
 *
 *     x                     0.1 + 0.2
 *     x times 10 ** k       300000000000000.04…    an error-free product (Dekker 1971), of fifteen digits before the point
 *     half of an ulp of x   0.02775…               in the same measure: what is nearer to x than this is read back as x
 *     digits                300000000000000 04     no whole number is so near, nor a tenth, but a hundredth always is
 *
 * Statement: where digits are given, they are those of `String`. They are not where a comparison hangs on the last bits: at ties, and
 * at the bounds of what is read back as x. Powers of two have a neighbour that is nearer than the other: all seventy are tried in a test.
 */

/** Digits of a double, in parts that doubles hold. */
export interface DoubleDigits {
  /** Fifteen digits or fewer, of which the last `places` are decimals. */
  whole: number
  places: number
  /** One or two decimals more, with zeros in front, and how many they are. */
  more: number
  moreDigits: number
}

/** The range of doubles in which all powers of ten that are needed are exact, and `String` writes no exponent. */
const [LEAST, MOST] = [1e-6, 1e15]
/** Digits before the point of the scaled number, less one. */
const SCALED = 14
/** Powers of ten, from 0 to 20. */
export const POWERS: readonly number[] = Array.from({ length: SCALED + 7 }, (_, i) => Number(`1e${i}`))
const NEGATIVE_POWERS = Array.from({ length: 7 }, (_, i) => Number(`1e-${i}`))
const LOG10_OF_2 = Math.log10(2)
/** Splits a double into halves whose products are exact. */
const SPLITTER = 2 ** 27 + 1
/** A bound above the rounding errors of the additions here. */
const MARGIN = 1e-10

const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)

/** Writes the digits of a positive double to `digits`; returns false where they are not found. */
export function doubleDigits(x: number, digits: DoubleDigits): boolean {
  if (!(x >= LEAST && x < MOST)) return false
  double[0] = x
  const exponent = (words[1] as number) >>> 20
  let ten = Math.floor((exponent - 1023) * LOG10_OF_2)
  if (x >= powerOf(ten + 1)) ten++
  const places = SCALED - ten
  const scale = POWERS[places] as number // ten is from -6 to 14
  words[0] = 0
  words[1] = (exponent - 53) << 20
  const half = (double[0] as number) * scale
  const product = x * scale
  const lost = productError(x, scale, product)
  // what was lost may be more than what lies before the next whole number
  const whole = Math.floor(product) + Math.floor(product - Math.floor(product) + lost)
  const part = product - whole + lost
  const nearest = part < 0.5 ? whole : whole + 1
  const off = Math.abs(part - (nearest - whole)) - half
  if (off < -MARGIN) return setDigits(digits, nearest, places, 0, 0)
  const tenth = Math.round(part * 10)
  const tenthOff = Math.abs(part - tenth / 10)
  if (tenthOff < half - MARGIN && off > MARGIN && tenthOff < 0.05 - MARGIN) return setDigits(digits, whole, places, tenth, 1)
  const hundredth = Math.round(part * 100)
  const hundredthOff = Math.abs(part - hundredth / 100)
  if (tenthOff < half + MARGIN || off < MARGIN || hundredthOff > 0.005 - MARGIN) return false
  return setDigits(digits, whole, places, hundredth, 2)
}

function setDigits(digits: DoubleDigits, whole: number, places: number, more: number, moreDigits: number): true {
  digits.whole = whole
  digits.places = places
  digits.more = more
  digits.moreDigits = moreDigits
  return true
}

function powerOf(ten: number): number {
  return (ten < 0 ? NEGATIVE_POWERS[-ten] : POWERS[ten]) as number // between -6 and 15
}

/** The rounding error of a product of two doubles. */
function productError(a: number, b: number, product: number): number {
  const [aWide, bWide] = [a * SPLITTER, b * SPLITTER]
  const aHigh = aWide - (aWide - a)
  const bHigh = bWide - (bWide - b)
  const [aLow, bLow] = [a - aHigh, b - bHigh]
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow)
}
