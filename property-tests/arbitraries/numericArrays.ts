/** The arrays that numeric bodies read and write, of every dtype that kernels compute with. */
import type { DType } from '../../src/core/data/schema.ts'

/** Elements of a row: three vectors of four, four times, and some. */
export const COLUMNS = 27

/** Arrays by name: dtype and shape. `twin` is another name of `grid`. */
export const NUMERIC_ARRAYS: Readonly<Record<string, readonly [DType, readonly number[]]>> = {
  grid: ['f64', [5, COLUMNS]],
  rows: ['f32', [5, COLUMNS]],
  other: ['f32', [5, COLUMNS]],
  tall: ['f64', [COLUMNS, 5]],
  high: ['f32', [COLUMNS, 5]],
  whole: ['i32', [5, COLUMNS]],
  line: ['f32', [COLUMNS]],
  long: ['f64', [COLUMNS]],
  natural: ['u32', [COLUMNS]],
  short: ['i16', [COLUMNS]],
  bytes: ['u8', [COLUMNS]],
  tiny: ['i8', [COLUMNS]],
  words: ['u16', [COLUMNS]],
  flags: ['bool', [COLUMNS]],
}
export const TWIN = 'twin'
export const NAMES: readonly string[] = [...Object.keys(NUMERIC_ARRAYS), TWIN]
