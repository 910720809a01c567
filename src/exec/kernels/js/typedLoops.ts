/**
 * Loops specialized for the classes of the typed arrays that they read.
 *
 * An access that meets five classes of arrays becomes megamorphic in V8; a loop compiled for each class stays monomorphic. The
 * text is assembled from fixed pieces, so that equal texts are one function.
 */

import type { ColumnType } from '../../../core/data/schema.ts'
import { madeFromText } from '../../../core/ir/madeFromText.ts'

const loops = new Map<string, unknown>()

/** Returns the function with these parameters and this body; equal text gives the same function. */
export function typedLoop<F>(parameters: readonly string[], body: string): F {
  const key = `${parameters.join()}\n${body}`
  let loop = loops.get(key) as F | undefined
  if (loop === undefined) {
    loop = madeFromText(parameters, `'use strict';\n${body}`) as F // put together from the pieces in this folder
    loops.set(key, loop)
  }
  return loop
}

/** How values of a fixed-width type are compared: as numbers, or by the two words of 64-bit integers; undefined for other types. */
export function wordsOf(kind: ColumnType['kind']): 'integer' | 'float' | 'long' | undefined {
  switch (kind) {
    case 'f64':
    case 'f32':
      return 'float'
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'bool':
    case 'date':
      return 'integer'
    case 'i64':
    case 'u64':
    case 'time':
    case 'timestamp':
      return 'long'
    case 'utf8':
    case 'binary':
    case 'null':
    case 'list':
    case 'struct':
    case 'object':
    case 'unknown':
      return undefined
  }
}
