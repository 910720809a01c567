/**
 * Reads the strings of a utf8 column.
 *
 * Decoding each string by itself costs about 100 ns. A column of ASCII bytes is decoded once as a whole after a few
 * reads, and strings become substrings of that; a column that is read here and there is not decoded whole. Of other columns
 * short strings are kept and found again by their bytes, as long as enough of them come again.
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
  const kept = new KeptTexts(bytes)
  return (index) => {
    const from = offsets[index] as number // readers are called with 0 <= index < length
    const to = offsets[index + 1] as number
    if (whole !== undefined) return whole.substring(from - start, to - start)
    if (++reads === READS_BEFORE_WHOLE && end - start <= LARGEST_WHOLE && isAscii(bytes, start, end))
      whole = bytes.toString('latin1', start, end)
    return kept.text(from, to)
  }
}

/** Places for strings, a power of two. */
const PLACES = 1024
/** The most bytes of a string that is kept. */
const SHORT_BYTES = 32
/** After so many strings that were not found it is asked whether a third of all were. */
const TRIAL_READS = 2048

/** Strings by their bytes, each in one place, where the one that was read last stays. */
class KeptTexts {
  private readonly bytes: Buffer
  private starts: Int32Array | undefined
  private lengths = new Int32Array(0)
  private readonly texts: string[] = []
  private reads = 0
  private found = 0
  private isWorthIt = true

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  text(from: number, to: number): string {
    const { bytes } = this
    const length = to - from
    if (!this.isWorthIt || length > SHORT_BYTES || length === 0) return bytes.toString('utf8', from, to)
    if (this.starts === undefined) {
      this.starts = new Int32Array(PLACES)
      this.lengths = new Int32Array(PLACES)
    }
    let hash = length
    for (let i = from; i < to; i++) hash = (Math.imul(hash, 31) + (bytes[i] as number)) | 0
    const place = (hash ^ (hash >>> 10)) & (PLACES - 1)
    if (this.lengths[place] === length && this.isSame(this.starts[place] as number, from, length)) {
      this.found++
      return this.texts[place] as string // where there is a length
    }
    if (++this.reads >= TRIAL_READS) {
      this.isWorthIt = this.found * 2 >= this.reads
      this.reads = this.found = 0
    }
    const text = bytes.toString('utf8', from, to)
    this.starts[place] = from
    this.lengths[place] = length
    this.texts[place] = text
    return text
  }

  private isSame(start: number, from: number, length: number): boolean {
    const { bytes } = this
    for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[from + i]) return false
    return true
  }
}

function isAscii(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bytes[i] as number) >= 128) return false
  return true
}
