/**
 * Loops made for the classes of the typed arrays they read.
 *
 * A loop that meets five classes of arrays makes V8 give up on knowing any; one compiled for each knows its own. The
 * text is put together from fixed pieces, so that equal texts are one function.
 */

import type { ColumnType } from '../../../core/data/schema.ts'
import { madeFromText } from '../../../core/ir/madeFromText.ts'

const loops = new Map<string, unknown>()

/** The function with these parameters and this body; the same text gives the same function. */
export function typedLoop<F>(parameters: readonly string[], body: string): F {
  const key = `${parameters.join()}\n${body}`
  let loop = loops.get(key) as F | undefined
  if (loop === undefined) {
    loop = madeFromText(parameters, `'use strict';\n${body}`) as F // put together from the pieces in this folder
    loops.set(key, loop)
  }
  return loop
}

/** How the values of a fixed-width type are compared: as numbers, or by the two 32-bit words of 64-bit integers. */
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
