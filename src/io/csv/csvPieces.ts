/**
 * Cuts CSV files: after the first records, from which types are read off, and into pieces for tasks.
 *
 * A record ends at a line end at which every quote is closed, so that all bytes before it have to be looked at.
 */
import { SourceError } from '../../core/errors.ts'
import type { CsvKernels } from '../../core/ports.ts'
import { checkForm } from '../bytes/fileForms.ts'
import type { ByteSource } from '../bytes/source.ts'
import { checkUtf8, LARGEST_PIECE_BYTES } from '../text.ts'
import { CsvEnds, recordEnds } from './csvEnds.ts'
import { type CsvFormat, isPlainFormat } from './csvFormat.ts'
import { lineEndsBefore } from './csvRecords.ts'

const SAMPLE_BYTES = 2 ** 20
const SPLIT_BYTES = 8 * 2 ** 20
const QUOTE = 34
const NEWLINE = 10

/**
 * The first MiB, without a record that it cuts; more where that holds fewer records than `least`. Of wide tables one
 * record may take more.
 */
export async function sampleOf(bytes: ByteSource, path: string, least: number, format?: CsvFormat): Promise<Uint8Array> {
  const other = format === undefined || isPlainFormat(format) ? undefined : new CsvEnds(format)
  let sample: Uint8Array = new Uint8Array(0)
  let quoted = false
  let ends = 0
  let end = 0
  for (let size = SAMPLE_BYTES; ; size *= 2) {
    const from = sample.length
    sample = Buffer.concat([sample, await bytes.read(from, Math.min(bytes.size, size))])
    if (from === 0) await checkForm(bytes, path, 'readCsv', sample)
    if (sample.length === bytes.size) return checkUtf8(sample, path)
    other?.look(sample.subarray(from), sample.length - from, (at) => {
      end = from + at
      return ++ends > 0
    })
    for (let i = from; other === undefined && i < sample.length; i++) {
      if (sample[i] === QUOTE) quoted = !quoted
      else if (sample[i] === NEWLINE && !quoted) {
        end = i + 1
        ends++
      }
    }
    if (ends >= least || (ends > 0 && size >= LARGEST_PIECE_BYTES)) return checkUtf8(sample.subarray(0, end), path)
    if (size >= LARGEST_PIECE_BYTES) throw await tooLong(bytes, path, 0)
  }
}

/** A piece of a file: whole records. */
export interface Piece {
  readonly start: number
  readonly end: number
}

/** A buffer in which a part of a file is looked through. */
interface Looked {
  readonly bytes: Uint8Array
  /** Whether the number of quotes in a range is odd. */
  oddQuotes(from: number, to: number): boolean
}

/** Byte ranges that end between records: a line end at which every quote is closed. */
export async function piecesOf(bytes: ByteSource, path: string, kernels?: CsvKernels, format?: CsvFormat): Promise<Piece[]> {
  if (bytes.size <= SPLIT_BYTES) return [{ start: 0, end: bytes.size }]
  if (format !== undefined && !isPlainFormat(format)) return await cutAtEnds(bytes, path, format)
  if (kernels === undefined) return await cut(bytes, path, [plainBuffer(), plainBuffer()])
  return await kernels.withMemory(SPLIT_BYTES, (one) => kernels.withMemory(SPLIT_BYTES, (other) => cut(bytes, path, [one, other])))
}

/** Cuts files with comments or other quotes than CSV's. */
async function cutAtEnds(bytes: ByteSource, path: string, format: CsvFormat): Promise<Piece[]> {
  const pieces: Piece[] = []
  let start = 0
  let record = 0
  for await (const ends of recordEnds(bytes, format)) {
    for (const end of ends) {
      if (end - record > LARGEST_PIECE_BYTES) throw await tooLong(bytes, path, record)
      record = end
      if (end - start < SPLIT_BYTES) continue
      pieces.push({ start, end })
      start = end
    }
  }
  if (bytes.size - record > LARGEST_PIECE_BYTES) throw await tooLong(bytes, path, record)
  if (start < bytes.size) pieces.push({ start, end: bytes.size })
  return pieces
}

function plainBuffer(): Looked {
  const bytes = new Uint8Array(SPLIT_BYTES)
  const oddQuotes = (from: number, to: number): boolean => {
    let odd = false
    for (let at = from; at < to; at++) odd = odd !== (bytes[at] === QUOTE)
    return odd
  }
  return { bytes, oddQuotes }
}

async function cut(bytes: ByteSource, path: string, buffers: readonly [Looked, Looked]): Promise<Piece[]> {
  const pieces: Piece[] = []
  let start = 0
  let record = 0
  let quoted = false
  const bufferAt = (at: number): Looked => buffers[((at / SPLIT_BYTES) % 2) as 0 | 1]
  const readAt = async (at: number): Promise<Uint8Array> => {
    const { bytes: into } = bufferAt(at)
    const read = await bytes.read(at, Math.min(bytes.size, at + SPLIT_BYTES), into)
    if (read.buffer !== into.buffer) into.set(read)
    return into.subarray(0, read.length)
  }
  let coming = readAt(0)
  for (let at = 0; at < bytes.size; at += SPLIT_BYTES) {
    const buffer = bufferAt(at)
    const read = await coming
    if (at + SPLIT_BYTES < bytes.size) {
      // it is read while this is looked through; whoever waits for it hears of its errors
      coming = readAt(at + SPLIT_BYTES)
      coming.catch(() => undefined)
    }
    let seen = 0 // bytes of which it is known whether a quote is open behind them
    while (start + SPLIT_BYTES <= at + read.length) {
      // a piece ends at the first end of a record that makes it long enough
      const from = Math.max(seen, start + SPLIT_BYTES - 1 - at)
      quoted = quoted !== buffer.oddQuotes(seen, from)
      const end = recordEnd(read, from, quoted)
      seen = from
      if (end < 0) break
      pieces.push({ start, end: at + end })
      start = at + end
      seen = end
      quoted = false
    }
    quoted = quoted !== buffer.oddQuotes(seen, read.length)
    const last = lastRecordEnd(read, quoted)
    if (last >= 0) record = at + last
    if (at + read.length - record > LARGEST_PIECE_BYTES) throw await tooLong(bytes, path, record)
  }
  if (start < bytes.size) pieces.push({ start, end: bytes.size })
  return pieces
}

/** The place behind the first line end from a byte on at which every quote is closed; -1 where there is none. */
function recordEnd(bytes: Uint8Array, from: number, open: boolean): number {
  let quoted = open
  for (let i = from; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) quoted = !quoted
    else if (bytes[i] === NEWLINE && !quoted) return i + 1
  }
  return -1
}

/** The place behind the last line end at which every quote is closed; -1 for none. `open`: whether one is open behind the bytes. */
function lastRecordEnd(bytes: Uint8Array, open: boolean): number {
  let quoted = open
  for (let i = bytes.length - 1; i >= 0; i--) {
    if (bytes[i] === QUOTE) quoted = !quoted
    else if (bytes[i] === NEWLINE && !quoted) return i + 1
  }
  return -1
}

/** The number of the line that begins at, or holds, a byte of a file. Reads all before it: for messages. */
export async function lineAtByte(bytes: ByteSource, at: number): Promise<number> {
  let line = 1
  for (let from = 0; from < at; from += SPLIT_BYTES) {
    const to = Math.min(at, from + SPLIT_BYTES)
    line += lineEndsBefore(await bytes.read(from, to), to - from)
  }
  return line
}

/** The error for the record that begins at a byte. */
async function tooLong(bytes: ByteSource, path: string, start: number): Promise<SourceError> {
  return new SourceError(
    `${path}, line ${await lineAtByte(bytes, start)}: the record that begins here does not end within 64 MiB, and longer ones are not read. Is it CSV, and are its quotes closed?`,
    path,
  )
}
