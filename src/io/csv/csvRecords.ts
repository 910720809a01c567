/**
 * The records of CSV in bytes, one after another: RFC 4180 with any delimiter, `\n` or `\r\n` at the ends of records.
 *
 * A record is known by where its fields begin and end; text is made only of fields that are asked for. Every byte is
 * looked at once. Bounds of several records may lie one after another (`keep`), so that columns are read by the thousand;
 * those of plain records come from a kernel, where the bytes lie in its memory (`keepPlain`).
 */
import type { CsvMemory } from '../../core/ports.ts'
import { type CsvFormat, isAt, QUOTE } from './csvFormat.ts'
import { plainNumber } from './csvNumbers.ts'

/** A field of two quotes and nothing between: an empty text, where an empty field is null. */
export const QUOTED_EMPTY: unique symbol = Symbol('""')

/** The text of a field; '' where there is nothing at all. */
export type CsvField = string | typeof QUOTED_EMPTY

/** Quotes that make no sense, and the byte at which they do not. */
export class MalformedRecord {
  readonly at: number
  readonly what: string
  constructor(at: number, what: string) {
    this.at = at
    this.what = what
  }
}

const NEWLINE = 10
const RETURN = 13
/** Kept bounds at which columns are read before more are kept. */
const MOST_BOUNDS = 32_768

/** The bytes that records are read from. */
export interface CsvBytes {
  readonly bytes: Uint8Array
  readonly delimiter: string
  /** Quotes and comments. Default: quotes as CSV has them, and no comments. */
  readonly format?: Pick<CsvFormat, 'quote' | 'comment'> | undefined
  /** The byte at which the first record begins. Default 0. */
  readonly from?: number
  /** The memory that holds the bytes, for kernels; absent where none is used. */
  readonly memory?: CsvMemory | undefined
}

export class CsvRecords {
  /** The byte at which the record begins. */
  start = 0
  /** How many fields the record has. */
  width = 0
  /** Two numbers a field: where it begins (`~begin` inside of quotes) and ends. The kept records' come first. */
  bounds: Int32Array
  readonly bytes: Uint8Array
  readonly memory: CsvMemory | undefined
  /** The bytes, to make texts of. */
  private readonly buffer: Buffer
  /** The place at which the record's bounds begin. */
  private base = 0
  private at: number
  /** The byte of the quote that closes the last field in quotes. */
  private close = 0
  /** The delimiter in UTF-8. */
  private readonly delimiter: Uint8Array
  /** Its first byte, which other characters may have as well. */
  private readonly first: number
  readonly quote: number
  private readonly comment: Uint8Array

  constructor({ bytes, delimiter, format, from = 0, memory }: CsvBytes) {
    this.quote = format?.quote ?? QUOTE
    this.comment = format?.comment ?? new Uint8Array()
    this.bytes = bytes
    this.memory = memory
    this.bounds = memory?.bounds ?? new Int32Array(64)
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.at = from
    this.delimiter = new TextEncoder().encode(delimiter)
    this.first = this.delimiter[0] ?? 0
  }

  /** Goes to the next record; false behind the last one. Throws a MalformedRecord. */
  next(): boolean {
    const { bytes, first, quote } = this
    const { length } = bytes
    const skip = this.delimiter.length
    let { at, bounds } = this
    while (this.comment.length > 0 && at < length && isAt(bytes, at, this.comment)) {
      const end = bytes.indexOf(NEWLINE, at)
      at = end < 0 ? length : end + 1
    }
    this.at = at
    if (at >= length) return false
    this.start = at
    for (let slot = this.base; ; slot += 2) {
      if (slot >= bounds.length) bounds = this.moreBounds()
      if (at < length && bytes[at] === quote) {
        bounds[slot] = ~(at + 1)
        at = this.quoted(at)
        bounds[slot + 1] = this.close
      } else {
        bounds[slot] = at
        at = fieldEnd(bytes, at, first, quote)
        while (skip > 1 && at < length && bytes[at] === first && !this.isDelimiter(at)) at = fieldEnd(bytes, at + 1, first, quote)
        if (at < length && bytes[at] === quote) throw misplaced(at)
        const hasReturn = at < length && bytes[at] === NEWLINE && at > (bounds[slot] as number) && bytes[at - 1] === RETURN
        bounds[slot + 1] = hasReturn ? at - 1 : at
      }
      // at the end of the bytes, at the end of the record, or at a delimiter, behind which there always is a field
      if (at >= length || bytes[at] === NEWLINE) {
        this.at = at + 1
        this.width = (slot - this.base) / 2 + 1
        return true
      }
      at += skip
    }
  }

  private isDelimiter(at: number): boolean {
    const { bytes, delimiter } = this
    for (let i = 0; i < delimiter.length; i++) if (bytes[at + i] !== delimiter[i]) return false
    return true
  }

  /** Keeps the bounds of the plain records of so many fields that come next, as long as there is room; returns how many. */
  keepPlain(width: number): number {
    const { at, base, memory, first } = this
    if (memory === undefined || this.delimiter.length > 1) return 0
    const found = memory.records({ at, base, width, delimiter: first })
    this.at = found.at
    this.base = found.base
    return (found.base - base) / (2 * width)
  }

  /** Whether no more records are kept before those that are have been read, and dropped. */
  get isFull(): boolean {
    return this.base >= MOST_BOUNDS
  }

  /** Keeps the bounds of the record before those of the next. */
  keep(): void {
    this.base += 2 * this.width
  }

  /** Forgets the records that were kept. */
  drop(): void {
    this.base = 0
  }

  /** A field of the record. */
  field(index: number): CsvField {
    return this.text(this.base + 2 * index)
  }

  /** The field whose bounds lie at a place. */
  text(place: number): CsvField {
    const begin = this.bounds[place] ?? 0
    const end = this.bounds[place + 1] ?? 0
    if (begin >= 0) return this.buffer.toString('utf8', begin, end)
    if (~begin === end) return QUOTED_EMPTY
    const inside = this.buffer.toString('utf8', ~begin, end)
    const quote = String.fromCharCode(this.quote)
    return inside.includes(quote) ? inside.replaceAll(quote + quote, quote) : inside
  }

  /** The number that a field is; NaN where it stands in quotes, or `plainNumber` does not read it. */
  number(index: number): number {
    const place = this.base + 2 * index
    const begin = this.bounds[place] ?? 0
    return begin < 0 ? Number.NaN : plainNumber(this.bytes, begin, this.bounds[place + 1] ?? 0)
  }

  /** Whether a byte is among those of a field. */
  has(index: number, byte: number): boolean {
    const place = this.base + 2 * index
    for (let at = this.bounds[place] ?? 0; at < (this.bounds[place + 1] ?? 0); at++) if (this.bytes[at] === byte) return true
    return false
  }

  /** Whether there is nothing at all where a field is; one in quotes begins at the complement of where it does. */
  isAbsent(index: number): boolean {
    const place = this.base + 2 * index
    return this.bounds[place] === this.bounds[place + 1]
  }

  /** Whether a field stands in quotes. */
  isQuoted(index: number): boolean {
    return (this.bounds[this.base + 2 * index] ?? 0) < 0
  }

  /** Whether nothing stands on the line. */
  get isEmpty(): boolean {
    return this.width === 1 && this.isAbsent(0)
  }

  /** The end of the field whose quote opens at `open`: the place behind its closing quote. */
  private quoted(open: number): number {
    const { bytes, quote } = this
    let close = bytes.indexOf(quote, open + 1)
    while (close >= 0 && bytes[close + 1] === quote) close = bytes.indexOf(quote, close + 2)
    if (close < 0) {
      throw new MalformedRecord(
        open,
        'the quote that opens a field here is not closed. Close it, or double the quotes that belong to the text.',
      )
    }
    this.close = close
    const end = close + 1
    if (end >= bytes.length || bytes[end] === NEWLINE || this.isDelimiter(end)) return end
    if (bytes[end] === RETURN && bytes[end + 1] === NEWLINE) return end + 1
    throw new MalformedRecord(
      end,
      'a closing quote is followed by more than a delimiter or the end of the line. Double the quotes that belong to the text.',
    )
  }

  private moreBounds(): Int32Array {
    const larger = new Int32Array(2 * this.bounds.length)
    larger.set(this.bounds)
    this.bounds = larger
    return larger
  }
}

/** The first byte at which a field may end, or cannot go on. */
function fieldEnd(bytes: Uint8Array, from: number, delimiter: number, quote: number): number {
  const last = bytes.length
  let at = from
  for (; at < last; at++) {
    const byte = bytes[at] as number // at < last
    if (byte === delimiter || byte === NEWLINE || byte === quote) break
  }
  return at
}

function misplaced(at: number): MalformedRecord {
  return new MalformedRecord(
    at,
    'a quote stands in the middle of a field that does not begin with one. Put the field in quotes, and double those that belong to the text.',
  )
}

/** The number of line ends before byte `end`. */
export function lineEndsBefore(bytes: Uint8Array, end: number): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count++
  return count
}
