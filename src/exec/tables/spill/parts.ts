/** Parts of what was spilled, as what tasks and exchanges are told of them. */
import type { NumberPlace } from './rowNumbers.ts'
import type { Segment } from './segments.ts'
import type { SpillBy, SpilledInput, WorkedInput } from './spillTask.ts'

/** How rows become parts, and where they get numbers. */
export interface Exchange {
  readonly by: SpillBy
  readonly numbered?: NumberPlace
}

/** A part of what was spilled, or what an operator gives of one. */
export type Part = SpilledInput | WorkedInput

/** The segments in pieces of about so many bytes at most. */
export function piecesOf(rows: SpilledInput, most: number): readonly SpilledInput[] {
  const pieces: Segment[][] = []
  let bytes = 0
  for (const segment of rows.segments) {
    const last = pieces.at(-1)
    if (last === undefined || bytes + segment.bytes > most) {
      pieces.push([segment])
      bytes = 0
    } else last.push(segment)
    bytes += segment.bytes
  }
  return pieces.map((segments) => ({ ...rows, segments }))
}

export function segmentsOf(part: Part): readonly Segment[] {
  return part.kind === 'spilled' ? part.segments : part.sides.flatMap(({ segments }) => segments)
}

export function bytesOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0)
}
