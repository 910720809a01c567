/** What the integers of each dtype lie between. */
import type { DType } from './schema.ts'

/** From the least to the greatest. */
export interface IntegerRange {
  readonly low: number
  readonly high: number
}

/** Of dtypes whose elements are surely whole numbers, truth being 0 or 1; those of 64 bits are bigints. */
export const INTEGER_RANGES: { readonly [D in Exclude<DType, 'f64' | 'f32' | 'i64'>]: IntegerRange } = {
  i32: { low: -(2 ** 31), high: 2 ** 31 - 1 },
  u32: { low: 0, high: 2 ** 32 - 1 },
  i16: { low: -(2 ** 15), high: 2 ** 15 - 1 },
  u16: { low: 0, high: 2 ** 16 - 1 },
  i8: { low: -128, high: 127 },
  u8: { low: 0, high: 255 },
  bool: { low: 0, high: 1 },
}

/** The range of a dtype; undefined for fractions, for bigints, and for what is no dtype. */
export function integerRangeOf(dtype: string): IntegerRange | undefined {
  return dtype in INTEGER_RANGES ? INTEGER_RANGES[dtype as keyof typeof INTEGER_RANGES] : undefined
}
