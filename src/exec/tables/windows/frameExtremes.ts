/**
 * The smallest value of each frame in linear time: a queue of places whose values go up, of which the first is the frame's (monotone deque).
 *
 *     values  5 3 4 1       queue after each, for a frame of three:  5 | 3 | 3 4 | 1
 *
 * Numbers are compared as `Math.min` does (NaN wins, -0 < 0); the largest is the smallest of the numbers with their signs turned.
 */
import type { Frames } from './frames.ts'

/** Whether `a`, which comes later, is at least as small as `b`. */
type Beats<V> = (a: V, b: V) => boolean

/** Writes the place of each frame's smallest value, -1 for frames without any. `queue`: room for as many places as there are values. */
export function smallestOfFrames<V>(
  values: ArrayLike<V>,
  beats: Beats<V>,
  { starts, ends }: Frames,
  rows: number,
  { queue, places }: { readonly queue: Int32Array; readonly places: Int32Array },
): void {
  let head = 0
  let tail = 0
  let reached = 0
  for (let i = 0; i < rows; i++) {
    const start = starts[i] as number // i < rows
    const end = ends[i] as number
    for (; reached < end; reached++) {
      const value = values[reached] as V // inside
      while (tail > head && beats(value, values[queue[tail - 1] as number] as V)) tail-- // a place of a value
      queue[tail++] = reached
    }
    while (head < tail && (queue[head] as number) < start) head++
    places[i] = head < tail ? (queue[head] as number) : -1
  }
}

export function beatsNumber(a: number, b: number): boolean {
  return a < b || (a === b ? a !== 0 || 1 / a <= 1 / b : Number.isNaN(a))
}

export function beatsSmaller<V extends string | bigint>(a: V, b: V): boolean {
  return a <= b
}

export function beatsLarger<V extends string | bigint>(a: V, b: V): boolean {
  return a >= b
}
