/** Typed arrays outside of the arena, for results that are the user's; MemoryError where JavaScript has a RangeError. */

import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import { bytesText } from '../../core/bytesText.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { MemoryError } from '../../core/errors.ts'

export function ordinaryArray(dtype: DType, length: number, operator: string): TypedArray {
  try {
    return new ARRAY_OF_DTYPE[dtype](length)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const bytes = length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
    throw new MemoryError(
      `${operator} would give a typed array of ${bytesText(bytes)}, more than this machine or JavaScript can hold. Ask for a smaller part.`,
      {
        operator,
        bytes,
      },
    )
  }
}
