/**
 * Where CSV files are cut: after the first records, from which types are read off, and into pieces for tasks.
 *
 * A record ends at a line end at which every quote is closed, so that all bytes before it have to be looked at.
 */
import { SourceError } from '../core/errors.ts'
import type { ByteSource } from './byteSource.ts'
import { checkForm } from './fileForms.ts'
import { decodeUtf8, LARGEST_PIECE_BYTES } from './text.ts'

const SAMPLE_BYTES = 2 ** 20
const SPLIT_BYTES = 8 * 2 ** 20
const QUOTE = 34
const NEWLINE = 10

/**
 * The text of the first MiB, without a record that it cuts; more where that holds fewer records than `least`. Of wide
 * tables one record may take more.
 */
export async function sampleOf(bytes: ByteSource, path: string, least: number): Promise<string> {
  let sample: Uint8Array = new Uint8Array(0)
  let quoted = false
  let ends = 0
  let end = 0
  for (let size = SAMPLE_BYTES; ; size *= 2) {
    const from = sample.length
    sample = Buffer.concat([sample, await bytes.read(from, Math.min(bytes.size, size))])
    if (from === 0) await checkForm(bytes, path, 'readCsv', sample)
    if (sample.length === bytes.size) return decodeUtf8(sample, path, true)
    for (let i = from; i < sample.length; i++) {
      if (sample[i] === QUOTE) quoted = !quoted
      else if (sample[i] === NEWLINE && !quoted) {
        end = i + 1
        ends++
      }
    }
    if (ends >= least || (ends > 0 && size >= LARGEST_PIECE_BYTES)) return decodeUtf8(sample.subarray(0, end), path, true)
    if (size >= LARGEST_PIECE_BYTES) throw tooLong(path, 1)
  }
}

/** A piece of a file: whole records. */
export interface Piece {
  readonly start: number
  readonly end: number
  readonly firstLine: number
}

/** Byte ranges that end between records: a line end at which every quote is closed. */
export async function piecesOf(bytes: ByteSource, path: string): Promise<Piece[]> {
  if (bytes.size <= SPLIT_BYTES) return [{ start: 0, end: bytes.size, firstLine: 1 }]
  const pieces: Piece[] = []
  let quoted = false
  let line = 1
  let start = 0
  let firstLine = 1
  let record = { start: 0, line: 1 }
  for (let at = 0; at < bytes.size; at += SPLIT_BYTES) {
    const read = await bytes.read(at, Math.min(bytes.size, at + SPLIT_BYTES))
    let recordEnd = 0
    let recordLine = line
    for (let i = 0; i < read.length; i++) {
      const byte = read[i]
      if (byte === QUOTE) quoted = !quoted
      else if (byte === NEWLINE) {
        line++
        if (quoted) continue
        recordEnd = i + 1
        recordLine = line
        if (at + i + 1 - start >= SPLIT_BYTES) {
          pieces.push({ start, end: at + i + 1, firstLine })
          start = at + i + 1
          firstLine = line
        }
      }
    }
    if (recordEnd > 0) record = { start: at + recordEnd, line: recordLine }
    if (at + read.length - record.start > LARGEST_PIECE_BYTES) throw tooLong(path, record.line)
  }
  if (start < bytes.size) pieces.push({ start, end: bytes.size, firstLine })
  return pieces
}

function tooLong(path: string, line: number): SourceError {
  return new SourceError(
    `${path}, line ${line}: the record that begins here does not end within 64 MiB, and longer ones are not read. Is it CSV, and are its quotes closed?`,
    path,
  )
}
