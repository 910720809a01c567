/**
 * Batches in files that only the process reads that wrote them.
 *
 *     file      segment  segment  segment …
 *     segment   a batch as V8 serializes it; where it lies, how long it is and its checksum are kept in memory
 *
 * A folder may lie on a disk that fails, or that somebody tidies up: what is read is checked.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { ownBatch, ownColumn } from '../../core/columnSlices.ts'
import { SpillError } from '../../core/errors.ts'
import type { ExecBatch } from '../operators/batches.ts'

/** Where a batch lies. */
export interface Segment {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  readonly rows: number
  readonly crc: number
}

/** A file that segments are written to, one after another. */
export class SegmentFile {
  private readonly path: string
  private readonly file: number
  private at = 0
  constructor(path: string) {
    this.path = path
    this.file = attempt(path, 'written', () => openSync(path, 'w', 0o600))
  }

  add(batch: ExecBatch): Segment {
    const bytes = serialize(own(batch))
    const segment = { file: this.path, offset: this.at, bytes: bytes.length, rows: batch.length, crc: crc32(bytes) }
    attempt(this.path, 'written', () => {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.file, bytes, done, bytes.length - done)
    })
    this.at += bytes.length
    return segment
  }

  close(): void {
    attempt(this.path, 'written', () => closeSync(this.file))
  }
}

/** The batches of segments, in their order. */
export function readSegments(segments: readonly Segment[]): readonly ExecBatch[] {
  const open = new Map<string, number>()
  try {
    return segments.map((segment) => readSegment(segment, open))
  } finally {
    for (const file of open.values()) closeSync(file)
  }
}

function readSegment({ file: path, offset, bytes, crc }: Segment, open: Map<string, number>): ExecBatch {
  const file = open.get(path) ?? attempt(path, 'read', () => openSync(path, 'r'))
  open.set(path, file)
  const buffer = Buffer.allocUnsafeSlow(bytes)
  attempt(path, 'read', () => {
    for (let done = 0; done < bytes; ) {
      const read = readSync(file, buffer, done, bytes - done, offset + done)
      if (read === 0) throw new Error(`it ends ${bytes - done} bytes too early`)
      done += read
    }
    if (crc32(buffer) !== crc) throw new Error('its checksum is another one')
  })
  return deserialize(buffer) as ExecBatch // the checksum is that of a batch
}

/** The batch in ordinary buffers that hold no more than its rows: others could not be serialized, or would be as a whole. */
function own(batch: ExecBatch): ExecBatch {
  const { hidden } = batch
  return { ...ownBatch(batch), ...(hidden && { hidden: hidden.map(ownColumn) }) }
}

function attempt<T>(path: string, what: 'read' | 'written', run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw spillError(dirname(path), what, error)
  }
}

/** What went wrong in a folder that memory is spilled to. */
export function spillError(folder: string, what: 'read' | 'written', cause: unknown): SpillError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new SpillError(
    `What memory does not hold could not be ${what} in ${folder}: ${because}.\nMake room there, give another folder with { spillFolder } in Session.start, or raise { memory }.`,
    folder,
    { cause },
  )
}
