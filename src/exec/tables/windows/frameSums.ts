/**
 * Sums of the frames of a partition, over its values that are not null; `starts` and `ends` are places among those.
 *
 * Statement: the bits of a frame's sum follow from its values and, where it is long and moves, from where they are in the partition:
 *
 *     from the partition's first row on    the fixed tree of reductions, as of a group of these rows
 *     up to 16 values                      from left to right
 *     others                               those before a pivot from right to left, those from it on from left to right, one plus the other;
 *                                          the pivot is the place in the frame, behind its first, that most twos divide
 *
 * All take a few additions a row. Nothing is subtracted, so that what has left a frame leaves no error behind, nor NaN or Infinity.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import type { Frames } from './frames.ts'

export const SHORT_FRAME = 16

/** The sums of all beginnings that frames end at, one after another. */
export class TreePrefix {
  /** Sums of 1, 2, 4, … chunks, where the number of whole chunks has that power of two. */
  private readonly levels: number[] = []
  private chunks = 0
  private current = 0
  private filled = 0

  add(value: number): void {
    this.current += value
    if (++this.filled < CHUNK) return
    let sum = this.current
    let level = 0
    for (let left = this.chunks; (left & 1) === 1; left >>= 1) sum = (this.levels[level++] as number) + sum // a bit that is set
    this.levels[level] = sum
    this.chunks++
    this.current = 0
    this.filled = 0
  }

  get sum(): number {
    if (this.chunks === 0) return this.current
    let sum = this.filled > 0 ? this.current : undefined
    for (let [left, level] = [this.chunks, 0]; left > 0; left >>= 1, level++) {
      if ((left & 1) === 0) continue
      const part = this.levels[level] as number // a bit that is set
      sum = sum === undefined ? part : part + sum
    }
    return sum as number // of one chunk at least
  }
}

/** Sums of frames that begin where the partition does. */
export function sumsFromStart(values: Float64Array, frames: Pick<Frames, 'ends'>, rows: number, sums: Float64Array): void {
  const { ends } = frames
  if (rows > 0 && (ends[rows - 1] as number) <= CHUNK) sumsInChunk(values, ends, rows, sums)
  else sumsByTree(values, ends, rows, sums)
}

/** The tree of one chunk is a sum from left to right. */
function sumsInChunk(values: Float64Array, ends: Int32Array, rows: number, sums: Float64Array): void {
  let at = 0
  let sum = 0
  for (let i = 0; i < rows; i++) {
    const end = ends[i] as number // i < rows
    while (at < end) sum += values[at++] as number // ends lie inside
    sums[i] = sum
  }
}

function sumsByTree(values: Float64Array, ends: Int32Array, rows: number, sums: Float64Array): void {
  const prefix = new TreePrefix()
  let at = 0
  let sum = 0
  for (let i = 0; i < rows; i++) {
    const end = ends[i] as number // i < rows
    if (at < end) {
      while (at < end) prefix.add(values[at++] as number) // ends lie inside
      sum = prefix.sum
    }
    sums[i] = sum
  }
}

/** Sums of frames that move. `before`: room for as many numbers as there are values. */
export function sumsOfFrames(values: Float64Array, { starts, ends }: Frames, rows: number, before: Float64Array, sums: Float64Array): void {
  let pivot = -1
  let behind = 0
  let reached = 0
  for (let i = 0; i < rows; i++) {
    const start = starts[i] as number // i < rows
    const end = ends[i] as number
    if (end - start <= SHORT_FRAME) {
      let sum = 0
      for (let at = start; at < end; at++) sum += values[at] as number // inside
      sums[i] = sum
      continue
    }
    const bit = 31 - Math.clz32(start ^ (end - 1))
    const next = ((end - 1) >> bit) << bit
    if (next !== pivot) {
      pivot = next
      let sum = 0
      for (let at = pivot - 1; at >= start; at--) before[at] = sum += values[at] as number // inside
      behind = 0
      reached = pivot
    }
    while (reached < end) behind += values[reached++] as number // inside
    sums[i] = (before[start] as number) + behind
  }
}
