/**
 * Reads the strings of a utf8 column.
 *
 * Decoding each string by itself costs about 100 ns. A column of ASCII bytes is decoded once as a whole after a few
 * reads, and strings become substrings of that; a column that is read here and there is not decoded whole.
 */
import type { Column } from './column.ts'

/** The number of single reads before the column is decoded whole. */
const READS_BEFORE_WHOLE = 16
/** The most bytes that are decoded whole: the largest string has 2^29 characters, and substrings keep the whole alive. */
const LARGEST_WHOLE = 2 ** 24

export function textReader(column: Column): (index: number) => string {
  const offsets = column.offsets ?? new Int32Array(1)
  const values = column.values instanceof Uint8Array ? column.values : new Uint8Array(0)
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  const start = offsets[0] ?? 0
  const end = offsets[column.length] ?? 0
  let whole: string | undefined
  let reads = 0
  return (index) => {
    const from = offsets[index] as number // readers are called with 0 <= index < length
    const to = offsets[index + 1] as number
    if (whole !== undefined) return whole.substring(from - start, to - start)
    if (++reads === READS_BEFORE_WHOLE && end - start <= LARGEST_WHOLE && isAscii(bytes, start, end))
      whole = bytes.toString('latin1', start, end)
    return bytes.toString('utf8', from, to)
  }
}

function isAscii(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bytes[i] as number) >= 128) return false
  return true
}
