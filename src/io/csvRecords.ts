/**
 * The records of CSV text, one after another: RFC 4180 with any delimiter, `\n` or `\r\n` at the ends of records.
 *
 * A record is known by where its fields begin and end; text is cut out only of fields that are asked for. Every
 * character is looked at once.
 */
import { SourceError } from '../core/errors.ts'

/** A field of two quotes and nothing between: an empty text, where an empty field is null. */
export const QUOTED_EMPTY: unique symbol = Symbol('""')

/** The text of a field; '' where there is nothing at all. */
export type CsvField = string | typeof QUOTED_EMPTY

export interface CsvPlace {
  readonly path: string
  /** The line on which the text begins. */
  readonly firstLine: number
  readonly delimiter: string
}

const QUOTE = 34
const NEWLINE = 10
const RETURN = 13

export class CsvRecords {
  /** Where the record begins in the text. */
  start = 0
  /** How many fields the record has. */
  width = 0
  /** Two numbers a field: where it begins (`~begin` inside of quotes) and ends. */
  private bounds = new Int32Array(64)
  private at = 0
  private readonly text: string
  private readonly place: CsvPlace
  private readonly delimiter: number

  constructor(text: string, place: CsvPlace) {
    this.text = text
    this.place = place
    this.delimiter = place.delimiter.charCodeAt(0)
  }

  /** Goes to the next record; false behind the last one. SourceError for quotes that make no sense. */
  next(): boolean {
    const { text, delimiter } = this
    const { length } = text
    if (this.at >= length) return false
    this.start = this.at
    this.width = 0
    for (let at = this.at; ; ) {
      if (at < length && text.charCodeAt(at) === QUOTE) at = this.quoted(at)
      else {
        const begin = at
        let code = -1
        for (; at < length; at++) {
          code = text.charCodeAt(at)
          if (code === delimiter || code === NEWLINE || code === QUOTE) break
        }
        if (at < length && code === QUOTE) throw this.misplaced(at)
        this.add(begin, at < length && code === NEWLINE && at > begin && text.charCodeAt(at - 1) === RETURN ? at - 1 : at)
      }
      // at the end of the text, at the end of the record, or at a delimiter, behind which there always is a field
      if (at >= length || text.charCodeAt(at) === NEWLINE) {
        this.at = at + 1
        return true
      }
      at++
    }
  }

  /** A field of the record. */
  field(index: number): CsvField {
    const begin = this.bounds[2 * index] ?? 0
    const end = this.bounds[2 * index + 1] ?? 0
    if (begin >= 0) return this.text.slice(begin, end)
    if (~begin === end) return QUOTED_EMPTY
    const inside = this.text.slice(~begin, end)
    return inside.includes('"') ? inside.replaceAll('""', '"') : inside
  }

  /** Whether a field stands in quotes. */
  isQuoted(index: number): boolean {
    return (this.bounds[2 * index] ?? 0) < 0
  }

  /** Whether nothing stands on the line. */
  get isEmpty(): boolean {
    return this.width === 1 && this.bounds[0] === this.bounds[1] // an empty field in quotes begins at ~end
  }

  /** The line of a place in the text. */
  lineAt(place: number): number {
    let line = this.place.firstLine
    for (let at = this.text.indexOf('\n'); at >= 0 && at < place; at = this.text.indexOf('\n', at + 1)) line++
    return line
  }

  /** Adds the field whose quote opens at `open`; gives where it ends. */
  private quoted(open: number): number {
    const { text } = this
    let close = text.indexOf('"', open + 1)
    while (close >= 0 && text.charCodeAt(close + 1) === QUOTE) close = text.indexOf('"', close + 2)
    if (close < 0) {
      throw this.error(open, 'the quote that opens a field here is not closed. Close it, or double the quotes that belong to the text.')
    }
    this.add(~(open + 1), close)
    const end = close + 1
    const code = text.charCodeAt(end) // NaN at the end of the text
    if (end >= text.length || code === this.delimiter || code === NEWLINE) return end
    if (code === RETURN && text.charCodeAt(end + 1) === NEWLINE) return end + 1
    throw this.error(
      end,
      'a closing quote is followed by more than a delimiter or the end of the line. Double the quotes that belong to the text.',
    )
  }

  private add(begin: number, end: number): void {
    const slot = 2 * this.width++
    if (slot === this.bounds.length) {
      const larger = new Int32Array(2 * slot)
      larger.set(this.bounds)
      this.bounds = larger
    }
    this.bounds[slot] = begin
    this.bounds[slot + 1] = end
  }

  private misplaced(at: number): SourceError {
    return this.error(
      at,
      'a quote stands in the middle of a field that does not begin with one. Put the field in quotes, and double those that belong to the text.',
    )
  }

  private error(at: number, what: string): SourceError {
    return new SourceError(`${this.place.path}, line ${this.lineAt(at)}: ${what}`, this.place.path)
  }
}
