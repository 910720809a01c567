/**
 * Batches in spill files, which only the process that wrote them reads.
 *
 *     file      segment  segment  segment …
 *     segment   types and lengths, as V8 serializes them, and behind them the buffers, each from a multiple of eight bytes on
 *
 * Buffers are written without a copy: for a slice, a range of the whole column's buffers. The place, length and checksum of
 * each segment are kept in memory. The checksum is compared when a segment is read, since its disk may fail or somebody may clean
 * up the folder. The columns of a batch that is read are views of the bytes read.
 */
import { closeSync, openSync, readSync, writevSync } from 'node:fs'
import { dirname } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import type { Column } from '../../../core/data/column.ts'
import { bytesOf, type NewArray, ordinary, ownColumn } from '../../../core/data/columnSlices.ts'
import { SpillError } from '../../../core/errors.ts'
import { buffersPassed } from '../../memory/lease.ts'
import { mapBuffers } from '../../memory/shareColumns.ts'
import type { ExecBatch } from '../operators/batches.ts'
import type { NumberPlace } from './rowNumbers.ts'

/** The place of a batch in a file. */
export interface Segment {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly rows: number
  readonly crc: number
  /** The bytes before the buffers. */
  readonly header: number
  /** The place of the rows' numbers, which count within `partition`; absent where rows are not numbered. */
  readonly numbers?: { readonly place: NumberPlace; readonly partition: number }
}

/**
 * The segments of a file as a run keeps them: arrays by segment instead of objects, since there are hundreds of thousands. Segments lie
 * end to end in the file.
 */
export interface SegmentsOfFile extends Pick<Segment, 'file' | 'numbers'> {
  /** The part of each segment, ascending. */
  readonly parts: Int32Array
  /** The end of each segment in the file, in bytes. */
  readonly ends: Float64Array
  readonly rows: Int32Array
  readonly crcs: Float64Array
  readonly headers: Int32Array
}

export function segmentsOfFile(
  segments: readonly Segment[],
  { file, numbers, parts }: Pick<SegmentsOfFile, 'file' | 'numbers' | 'parts'>,
): SegmentsOfFile {
  return {
    ...{ file, parts, ...(numbers && { numbers }) },
    ends: Float64Array.from(segments, ({ offset, bytes }) => offset + bytes),
    rows: Int32Array.from(segments, ({ rows }) => rows),
    crcs: Float64Array.from(segments, ({ crc }) => crc),
    headers: Int32Array.from(segments, ({ header }) => header),
  }
}

/** The segments of a part, in the order of the files. */
export function segmentsOfPart(files: readonly SegmentsOfFile[], part: number): readonly Segment[] {
  const found: Segment[] = []
  for (const { file, numbers, parts, ends, rows, crcs, headers } of files) {
    const at = parts.indexOf(part)
    if (at < 0) continue
    const [end, count, crc, header] = [ends[at], rows[at], crcs[at], headers[at]] as [number, number, number, number] // as many of each
    const offset = ends[at - 1] ?? 0
    found.push({ file, offset, bytes: end - offset, rows: count, crc, header, ...(numbers && { numbers }) })
  }
  return found
}

type Buffer8 = NonNullable<Column['values']>

/** A buffer in a header: the index of its class, and the offset of its bytes among those of all buffers. */
interface Place {
  readonly of: number
  readonly at: number
  readonly length: number
}

const CLASSES = [
  ...[Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
] as const

/** The most pieces that are written in one call. */
const MOST_PIECES = 512
const PADDING = new Uint8Array(8)

/** Writes batches to a file, a segment each. */
export function writeSegments(path: string, batches: readonly ExecBatch[]): readonly Segment[] {
  const pieces: Uint8Array[] = []
  let offset = 0
  const segments = batches.map((batch): Segment => {
    const made = piecesOf(batch)
    const bytes = made.pieces.reduce((sum, { length }) => sum + length, 0)
    const crc = made.pieces.reduce((before, piece) => crc32(piece, before), 0)
    const segment = { file: path, offset, bytes, rows: batch.length, crc, header: made.header }
    offset += bytes
    pieces.push(...made.pieces)
    return segment
  })
  attempt(path, 'written', () => {
    const file = openSync(path, 'w', 0o600)
    try {
      writeAll(file, pieces)
    } finally {
      closeSync(file)
    }
  })
  return segments
}

/** The pieces of bytes of a segment, and the length of its header. */
function piecesOf(batch: ExecBatch): { readonly header: number; readonly pieces: readonly Uint8Array[] } {
  const buffers: Uint8Array[] = []
  let end = 0
  const push = (bytes: Uint8Array): void => {
    buffers.push(bytes)
    end += bytes.length
    if (end % 8 !== 0) buffers.push(PADDING.subarray(end % 8))
    end += (8 - (end % 8)) % 8
  }
  const placed = placedBatch(batch, (buffer) => {
    const place: Place = { of: CLASSES.findIndex((one) => buffer instanceof one), at: end, length: buffer.length }
    push(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength))
    return place
  })
  const known = serialize(placed)
  const header = known.length + ((8 - (known.length % 8)) % 8)
  const pieces = [known, PADDING.subarray(8 - (header - known.length)), ...buffers]
  return { header, pieces: pieces.filter(({ length }) => length > 0) }
}

function writeAll(file: number, pieces: readonly Uint8Array[]): void {
  for (let first = 0; first < pieces.length; first += MOST_PIECES) {
    let left = pieces.slice(first, first + MOST_PIECES)
    while (left.length > 0) {
      let written = writevSync(file, left)
      // a call may write a part of what it was given
      while (left[0] !== undefined && written >= left[0].length) {
        written -= left[0].length
        left = left.slice(1)
      }
      if (left[0] !== undefined) left = [left[0].subarray(written), ...left.slice(1)]
    }
  }
}

/** Reads the batches of segments, in their order, into arrays that `newArray` makes. SpillError where a file cannot be read or has changed. */
export function readSegments(segments: readonly Segment[], newArray: NewArray = ordinary): readonly ExecBatch[] {
  const open = new Map<string, number>()
  try {
    return segments.map((segment) => readSegment(segment, open, newArray))
  } finally {
    for (const file of open.values()) closeSync(file)
  }
}

function readSegment({ file: path, offset, bytes, crc, header }: Segment, open: Map<string, number>, newArray: NewArray): ExecBatch {
  const file = open.get(path) ?? attempt(path, 'read', () => openSync(path, 'r'))
  open.set(path, file)
  const read = newArray(Uint8Array, bytes)
  attempt(path, 'read', () => {
    for (let done = 0; done < bytes; ) {
      const more = readSync(file, read, done, bytes - done, offset + done)
      if (more === 0) throw new Error(`a file in it ends ${bytes - done} bytes too early`)
      done += more
    }
    if (crc32(read) !== crc) throw new Error('a file in it has changed')
  })
  if (newArray === ordinary) buffersPassed(bytes)
  const placed = deserialize(read.subarray(0, header)) as PlacedBatch // the checksum is that of one
  return unplacedBatch(placed, ({ of, at, length }) => {
    const ArrayOf = CLASSES[of] as (typeof CLASSES)[number] // one of them
    return new ArrayOf(read.buffer, read.byteOffset + header + at, length) as Buffer8
  })
}

/** A batch with other values in place of its buffers. */
type PlacedBatch = { readonly [K in keyof ExecBatch]: unknown }

function placedBatch(batch: ExecBatch, place: (buffer: Buffer8) => Place): PlacedBatch {
  const placed = (column: Column) => mapBuffers(tight(column), <B extends Buffer8>(buffer: B) => place(buffer) as unknown as B) // until it is read
  const { columns, hidden, keys } = batch
  return {
    ...batch,
    columns: columns.map(placed),
    ...(hidden && { hidden: hidden.map(placed) }),
    ...(keys && { keys: keys.map(place) }),
  }
}

function unplacedBatch(placed: PlacedBatch, buffer: (place: Place) => Buffer8): ExecBatch {
  const batch = placed as ExecBatch // but for its buffers
  const unplaced = (column: Column) => counted(mapBuffers(column, <B extends Buffer8>(place: B) => buffer(place as unknown as Place) as B))
  const { columns, hidden, keys } = batch
  return {
    ...batch,
    columns: columns.map(unplaced),
    ...(hidden && { hidden: hidden.map(unplaced) }),
    ...(keys && { keys: keys.map((axis) => buffer(axis as unknown as Place) as Int32Array) }),
  }
}

/** The column with its own texts and items alone, where a slice shares those of the whole column. Offsets may not begin at 0. */
function tight(column: Column): Column {
  const { type, offsets, children, length } = column
  if (type.kind === 'list') return ownColumn(column)
  if (children !== undefined) return { ...column, children: children.map(tight) }
  if (offsets === undefined) return column
  return { ...column, offsets: offsets.subarray(0, length + 1), values: bytesOf(column).subarray(offsets[0], offsets[length]) }
}

/** Changes the column's offsets in place so that they begin at 0. */
function counted(column: Column): Column {
  const { type, offsets, children } = column
  if (children !== undefined && type.kind !== 'list') for (const child of children) counted(child)
  const first = offsets?.[0] ?? 0
  if (offsets !== undefined && first !== 0) for (let i = 0; i < offsets.length; i++) offsets[i] = (offsets[i] as number) - first // nobody else has the buffer
  return column
}

function attempt<T>(path: string, what: 'read' | 'written', run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw spillError(dirname(path), what, error)
  }
}

/** The error for a failure in the folder that memory is spilled to. */
export function spillError(folder: string, what: 'read' | 'written', cause: unknown): SpillError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new SpillError(
    `What memory does not hold could not be ${what} in ${folder}: ${because}.\nMake room there, give another folder with { spillFolder } in Session.start, or raise { memory }.`,
    folder,
    { cause },
  )
}
