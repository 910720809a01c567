/**
 * Converts a column of dates or timestamps to the numbers that JavaScript makes of Dates: milliseconds since 1970, NaN where a Date
 * would be invalid, 0 for null.
 *
 * A 64-bit count is divided in two words, by doubles that hold every step exactly: bigints would take ten times as long.
 */
import type { Column } from '../../../core/data/column.ts'
import { MOST_MS, MS_PER_DAY } from '../../../core/data/fixedValues.ts'

const WORD = 2 ** 32

export function timesOf({ type, values, validity, length }: Column): Float64Array {
  const times = new Float64Array(length)
  if (values instanceof BigInt64Array) {
    const unit = type.kind === 'timestamp' ? type.unit : 'ms'
    const [by, scale] = unit === 's' ? [1, 1000] : [unit === 'us' ? 1000 : unit === 'ns' ? 1_000_000 : 1, 1]
    const words = new Int32Array(values.buffer, values.byteOffset, 2 * length)
    for (let i = 0; i < length; i++) times[i] = scale * quotient(words[2 * i + 1] as number, (words[2 * i] as number) >>> 0, by) // two words a value
  } else if (values !== undefined) {
    for (let i = 0; i < length; i++) times[i] = (values[i] as number) * MS_PER_DAY
  }
  for (let i = 0; i < length; i++) {
    if (validity !== undefined && ((validity[i >> 3] as number) & (1 << (i & 7))) === 0) times[i] = 0
    else if (!(Math.abs(times[i] as number) <= MOST_MS)) times[i] = Number.NaN
  }
  return times
}

/** Returns floor(count / by) of a 64-bit count. */
function quotient(high: number, low: number, by: number): number {
  if (by === 1) return high * WORD + low
  const whole = Math.floor(high / by)
  // below by * 2 ** 32, so that a double holds it exactly
  return whole * WORD + Math.floor(((high - whole * by) * WORD + low) / by)
}
