/** The ranges of integer dtypes. */
import type { DType } from './schema.ts'

/** A range of integers, both ends included. */
export interface IntegerRange {
  readonly low: number
  readonly high: number
}

/** The ranges of dtypes whose elements are whole numbers (bool: 0 or 1); i64 is missing, whose elements are bigints. */
export const INTEGER_RANGES: { readonly [D in Exclude<DType, 'f64' | 'f32' | 'i64'>]: IntegerRange } = {
  i32: { low: -(2 ** 31), high: 2 ** 31 - 1 },
  u32: { low: 0, high: 2 ** 32 - 1 },
  i16: { low: -(2 ** 15), high: 2 ** 15 - 1 },
  u16: { low: 0, high: 2 ** 16 - 1 },
  i8: { low: -128, high: 127 },
  u8: { low: 0, high: 255 },
  bool: { low: 0, high: 1 },
}

/** The range of a dtype; undefined for f64, f32 and i64, and for a text that is no dtype. */
export function integerRangeOf(dtype: string): IntegerRange | undefined {
  return dtype in INTEGER_RANGES ? INTEGER_RANGES[dtype as keyof typeof INTEGER_RANGES] : undefined
}
