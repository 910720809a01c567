/**
 * The frames of a partition's rows: frame `i` has the places from `starts[i]` to `ends[i]` (exclusive). Both never go down.
 *
 *     rows [-1, 0]        the row and the one before it
 *     range [-60, 0]      rows whose value of the order lies at most 60 before the row's, its peers among them
 *
 * A row whose value is null or NaN has no distance to others: its frame by range ends at its peers, but for a bound that is null (unbounded).
 */
import type { WindowFrame } from '../../../core/plan/logicalPlan.ts'
import { PEERS } from './boundaries.ts'

/** The bounds of frames, with room for the largest partition. */
export interface Frames {
  readonly starts: Int32Array
  readonly ends: Int32Array
}

export function framesByRows({ from, to }: WindowFrame, rows: number, { starts, ends }: Frames): void {
  for (let i = 0; i < rows; i++) {
    const start = from === null ? 0 : Math.max(0, Math.min(rows, i + from))
    starts[i] = start
    ends[i] = to === null ? rows : Math.max(start, Math.min(rows, i + to + 1))
  }
}

/** Writes frames that end at peers, or at the partition's ends. The partition begins at place `first` of `marks`. */
export function framesByPeers(
  { from, to }: WindowFrame,
  rows: number,
  { marks, first }: { readonly marks: Uint8Array; readonly first: number },
  { starts, ends }: Frames,
): void {
  for (let i = 0; i < rows; ) {
    let end = i + 1
    while (end < rows && marks[first + end] !== PEERS) end++
    const a = from === null ? 0 : i
    const b = to === null ? rows : end
    for (; i < end; i++) {
      starts[i] = a
      ends[i] = b
    }
  }
}

/** Writes frames by distances between values, which ascend (the caller negates those of a descending order). NaN has no distance to any. */
export function framesByRange(
  frame: WindowFrame,
  rows: number,
  values: Float64Array,
  peers: { readonly marks: Uint8Array; readonly first: number },
  frames: Frames,
): void {
  const { starts, ends } = frames
  const { from, to } = frame
  framesByPeers(frame, rows, peers, frames)
  let first = 0
  while (first < rows && Number.isNaN(values[first])) first++
  let last = rows
  while (last > first && Number.isNaN(values[last - 1])) last--
  let [start, end] = [first, first]
  for (let i = first; i < last; i++) {
    const value = values[i] as number // i < rows
    if (from !== null) {
      while (start < last && (values[start] as number) < value + from) start++
      starts[i] = start
    }
    if (to === null) continue
    while (end < last && (values[end] as number) <= value + to) end++
    ends[i] = Math.max(end, starts[i] as number)
  }
}
