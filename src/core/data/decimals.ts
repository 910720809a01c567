/**
 * Decimals as f64.
 *
 * A decimal of at most 15 significant digits is told apart from every other such decimal by its nearest f64, so it
 * survives: printing the f64 gives the digits back.
 */

/** A decimal type: all digits, and those behind the point. `decimal(12, 2)` holds 1234567890.12. */
export interface DecimalForm {
  readonly precision: number
  readonly scale: number
}

/** 10^15: below it f64 keeps all digits of a decimal. */
export const DIGITS_KEPT: number = 10 ** 15
/** The powers of ten that are exact as f64, 10^0 to 10^22. */
export const POWERS_OF_TEN: readonly number[] = Array.from({ length: 23 }, (_, i) => 10 ** i)
/** The most digits of a 128-bit decimal, the widest in files. */
const MOST_DIGITS = 38

/** The form of a file's decimals; undefined for one that does not fit 128 bits. */
export function decimalForm(precision: number, scale: number): DecimalForm | undefined {
  const isForm = Number.isInteger(precision) && Number.isInteger(scale) && precision >= 1 && precision <= MOST_DIGITS
  return isForm && scale >= 0 && scale <= precision ? { precision, scale } : undefined
}

/** The form that holds the decimals of both; undefined where none does. */
export function widerDecimal(a: DecimalForm, b: DecimalForm): DecimalForm | undefined {
  const scale = Math.max(a.scale, b.scale)
  return decimalForm(Math.max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
}

/** The unscaled value of a decimal (its digits without the point), a bigint where it has more than 15 digits; undefined for a number that is no decimal of the form. */
export function unscaledOf(value: number, { precision, scale }: DecimalForm): number | bigint | undefined {
  const power = POWERS_OF_TEN[scale]
  const near = power === undefined ? Number.NaN : Math.round(value * power)
  if (near > -DIGITS_KEPT && near < DIGITS_KEPT) {
    const fits = near / (power as number) === value && Math.abs(near) < (POWERS_OF_TEN[precision] ?? DIGITS_KEPT)
    return fits ? near + 0 : undefined // a decimal has no -0
  }
  // the shortest digits that are this number and no other: 1.5e+17, -2.25e-20
  const [, sign, first = '', rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential()) ?? []
  const zeros = Number(exponent) - rest.length + scale
  if (!(zeros >= 0) || BigInt(first + rest) >= BigInt(DIGITS_KEPT)) return undefined
  const digits = BigInt(first + rest) * 10n ** BigInt(zeros)
  if (digits >= 10n ** BigInt(precision)) return undefined
  return sign === '-' ? -digits : digits
}
