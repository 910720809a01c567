/** Spilled parts: as a run keeps them, and as the inputs of tasks. */
import type { NumberPlace } from './rowNumbers.ts'
import { type Segment, type SegmentsOfFile, segmentsOfPart } from './segments.ts'
import type { SpillBy, SpilledInput, WorkedInput } from './spillTask.ts'

/** An exchange: how rows are cut into parts, and the place of their numbers where they get some. */
export interface Exchange {
  readonly by: SpillBy
  readonly numbered?: NumberPlace
}

/** Segments as a list, or in the compact form of an exchange's files, from which `segmentsIn` makes the list. */
export type Segments = readonly Segment[] | PartOfFiles

interface PartOfFiles {
  readonly files: readonly SegmentsOfFile[]
  readonly part: number
  readonly bytes: number
  readonly rows: number
}

/** Spilled rows of one part. */
export interface SpilledPart extends Omit<SpilledInput, 'segments'> {
  readonly segments: Segments
}

/** Spilled rows of one part, or the result of an operator over one part of each side. */
export type Part = SpilledPart | (Omit<WorkedInput, 'sides'> & { readonly sides: readonly SpilledPart[] })

/** The segments of each part in the files of an exchange. */
export function partsIn(files: readonly SegmentsOfFile[]): readonly Segments[] {
  const all: { bytes: number; rows: number }[] = []
  for (const { parts, ends, rows } of files)
    for (const [i, part] of parts.entries()) {
      while (all.length <= part) all.push({ bytes: 0, rows: 0 })
      const sums = all[part] as { bytes: number; rows: number } // just made sure of
      sums.bytes += (ends[i] as number) - (ends[i - 1] ?? 0) // as many as there are parts
      sums.rows += rows[i] as number
    }
  return all.map((sums, part): Segments => (sums.bytes === 0 ? [] : { files, part, ...sums }))
}

export function segmentsIn(segments: Segments): readonly Segment[] {
  return 'part' in segments ? segmentsOfPart(segments.files, segments.part) : segments
}

/** The part as the input of a task. */
export function inputOf(part: Part): SpilledInput | WorkedInput {
  return part.kind === 'spilled' ? spilledInput(part) : { ...part, sides: part.sides.map(spilledInput) }
}

export function spilledInput(part: SpilledPart): SpilledInput {
  return { ...part, segments: segmentsIn(part.segments) }
}

/** Cuts rows between segments into pieces of at most `most` bytes each, or one segment. */
export function piecesOf(rows: SpilledPart, most: number): readonly SpilledPart[] {
  const pieces: Segment[][] = []
  let bytes = 0
  for (const segment of segmentsIn(rows.segments)) {
    const last = pieces.at(-1)
    if (last === undefined || bytes + segment.bytes > most) {
      pieces.push([segment])
      bytes = 0
    } else last.push(segment)
    bytes += segment.bytes
  }
  return pieces.map((segments) => ({ ...rows, segments }))
}

/** The bytes of all sides of a part. */
export function bytesOfPart(part: Part): number {
  return (part.kind === 'spilled' ? [part] : part.sides).reduce((sum, { segments }) => sum + bytesOf(segments), 0)
}

export function rowsOfSegments(segments: Segments): number {
  return 'part' in segments ? segments.rows : segments.reduce((sum, { rows }) => sum + rows, 0)
}

export function bytesOf(segments: Segments): number {
  return 'part' in segments ? segments.bytes : segments.reduce((sum, { bytes }) => sum + bytes, 0)
}
