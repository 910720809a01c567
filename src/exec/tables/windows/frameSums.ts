/**
 * Sums of the frames of a partition, over its values that are not null; `starts` and `ends` are places among these values.
 *
 * Statement: the bits of a frame's sum depend on its values and, where it is long and moves, on their places in the partition alone:
 *
 *     from the partition's first row on    the fixed tree of reductions, as of a group of these rows
 *     up to 16 values                      from left to right
 *     others                               those before a pivot from right to left, those from it on from left to right, one plus the other;
 *                                          the pivot is the place in the frame, behind its first, that most twos divide
 *
 * All take a few additions a row. Nothing is subtracted, so a value that has left a frame leaves no error behind, nor NaN or Infinity.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import type { Column } from '../../../core/data/column.ts'
import type { WindowFrame } from '../../../core/plan/logicalPlan.ts'
import type { Frames } from './frames.ts'

export const SHORT_FRAME = 16

/** The state of a sum by the fixed tree: full chunks, and the open one. */
export interface TreeState {
  /** Sums of 1, 2, 4, … chunks; the one at a level counts where that bit of `chunks` is set. */
  readonly levels: readonly number[]
  readonly chunks: number
  readonly current: number
  readonly filled: number
}

/** A sum by the fixed tree that values are added to, and that can be read after each of them. */
export class TreePrefix {
  private readonly levels: number[]
  private chunks: number
  private current: number
  private filled: number
  constructor({ levels, chunks, current, filled }: TreeState = { levels: [], chunks: 0, current: 0, filled: 0 }) {
    this.levels = [...levels]
    this.chunks = chunks
    this.current = current
    this.filled = filled
  }

  get state(): TreeState {
    const { levels, chunks, current, filled } = this
    return { levels: [...levels], chunks, current, filled }
  }

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

/** The rows of a partition in order, and the arrays by row for its sums. */
interface SumRows {
  readonly rows: Int32Array
  readonly out: Float64Array
  /** Scratch room for the values of a partition. */
  readonly values: Float64Array
  readonly isMean: boolean
}

/**
 * A fast path for frames by rows over doubles without nulls: of all rows so far, or of a few around each. The function returned says
 * whether it computed the partition, which it does not where that is long; undefined for other frames and values.
 */
export function quickSums(
  { kind, from, to }: WindowFrame,
  { values: stored, validity }: Column,
  { rows, out, values, isMean }: SumRows,
): ((first: number, end: number) => boolean) | undefined {
  if (kind !== 'rows' || to === null || !(stored instanceof Float64Array) || validity !== undefined) return undefined
  if (from === null)
    return to !== 0
      ? undefined
      : (first, end) => {
          if (end - first > CHUNK) return false
          let sum = 0
          for (let i = first; i < end; i++) {
            const row = rows[i] as number // i < length
            sum += stored[row] as number // a row of the column
            out[row] = isMean ? sum / (i - first + 1) : sum
          }
          return true
        }
  if (from > 0 || to < 0 || to - from >= SHORT_FRAME) return undefined // every frame has its own row
  return (first, end) => {
    const count = end - first
    for (let i = 0; i < count; i++) values[i] = stored[rows[first + i] as number] as number // a row of the column
    for (let i = 0; i < count; i++) {
      const start = Math.max(0, i + from)
      const stop = Math.min(count, i + to + 1)
      let sum = 0
      for (let at = start; at < stop; at++) sum += values[at] as number // inside
      out[rows[first + i] as number] = isMean ? sum / (stop - start) : sum
    }
    return true
  }
}

/** Sums of frames that begin where the partition does. `before` is the sum of its values before these. */
export function sumsFromStart(
  values: Float64Array,
  frames: Pick<Frames, 'ends'>,
  rows: number,
  sums: Float64Array,
  before?: TreeState,
): void {
  const { ends } = frames
  if (before === undefined && rows > 0 && (ends[rows - 1] as number) <= CHUNK) sumsInChunk(values, ends, rows, sums)
  else sumsByTree(values, ends, rows, sums, before)
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

function sumsByTree(values: Float64Array, ends: Int32Array, rows: number, sums: Float64Array, before: TreeState | undefined): void {
  const prefix = new TreePrefix(before)
  let at = 0
  let { sum } = prefix
  for (let i = 0; i < rows; i++) {
    const end = ends[i] as number // i < rows
    if (at < end) {
      while (at < end) prefix.add(values[at++] as number) // ends lie inside
      sum = prefix.sum
    }
    sums[i] = sum
  }
}

/**
 * Sums of frames that move. `before` is scratch room for as many numbers as there are values. `first` is the place of the first value in
 * the partition; its lowest 32 bits are enough to find pivots by, since no frame is longer than that.
 */
export function sumsOfFrames(
  values: Float64Array,
  { starts, ends }: Frames,
  rows: number,
  { before, sums, first = 0 }: { readonly before: Float64Array; readonly sums: Float64Array; readonly first?: number },
): void {
  const base = first >>> 0
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
    const last = base + end - 1
    const bit = 31 - Math.clz32((base + start) ^ last)
    const next = end - 1 - (last & (2 ** bit - 1))
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
