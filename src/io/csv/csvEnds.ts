/**
 * Finds the ends of records in files with comments or other quotes than CSV's, byte after byte: line ends outside of quotes, and
 * ends of comments, whatever quotes stand in them.
 */
import type { ByteSource } from '../bytes/source.ts'
import { type CsvFormat, isAt } from './csvFormat.ts'

const NEWLINE = 10

export class CsvEnds {
  readonly #format: CsvFormat
  #quoted = false
  #commented = false
  #begins = true

  constructor(format: CsvFormat) {
    this.#format = format
  }

  /** Calls `visit` with each place behind the end of a record in the bytes, which go on where the last ones ended; false ends it. The last few bytes before `upTo` are looked at with those behind them. */
  look(bytes: Uint8Array, upTo: number, visit: (end: number) => boolean): void {
    const { quote, comment } = this.#format
    for (let i = 0; i < upTo; i++) {
      if (this.#begins) this.#commented = comment.length > 0 && isAt(bytes, i, comment)
      const byte = bytes[i]
      this.#begins = byte === NEWLINE && (this.#commented || !this.#quoted)
      if (byte === quote && !this.#commented) this.#quoted = !this.#quoted
      if (this.#begins && !visit(i + 1)) return
    }
  }
}

const STEP_BYTES = 2 ** 20

/** Ends of records of a whole file, each as soon as it is known. */
export async function* recordEnds(bytes: ByteSource, format: CsvFormat): AsyncGenerator<readonly number[]> {
  const ends = new CsvEnds(format)
  const more = format.comment.length
  for (let at = 0; at < bytes.size; at += STEP_BYTES) {
    const to = Math.min(bytes.size, at + STEP_BYTES)
    const piece = await bytes.read(at, Math.min(bytes.size, to + more))
    const found: number[] = []
    ends.look(piece, to - at, (end) => found.push(at + end) > 0)
    yield found
  }
}
