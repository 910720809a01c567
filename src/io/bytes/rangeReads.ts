/**
 * Reads of ranges of a file that are known before: those that lie side by side, or close to each other, are read at once.
 *
 *     ranges     [a 40 kB][b 90 kB]   [c 2 MB][d 3 MB]
 *     reads      ------------------   --------========
 */
import type { Scratch } from '../../core/ports.ts'
import type { ByteSource } from './source.ts'

/** Most bytes of ranges that are read at once: of more, the reading itself is what takes the time. */
const TOGETHER_BYTES = 2 ** 21

export interface Range {
  readonly start: number
  readonly end: number
}

interface Run {
  readonly start: number
  end: number
  /** Ranges that nobody has asked for yet. */
  left: number
  bytes: Promise<Uint8Array> | undefined
}

interface Reading {
  readonly scratch?: Scratch | undefined
  /** Ranges that this many bytes, or fewer, lie between are read with them. Default: 0. */
  readonly closeBytes?: number
}

export class RangeReads<R extends Range> {
  readonly #bytes: ByteSource
  readonly #scratch: Scratch | undefined
  readonly #runs = new Map<R, Run>()
  constructor(bytes: ByteSource, ranges: readonly R[], { scratch, closeBytes = 0 }: Reading = {}) {
    this.#bytes = bytes
    this.#scratch = scratch
    let last: Run | undefined
    for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
      const { start, end } = range
      if (last !== undefined && start <= last.end + closeBytes && Math.max(end, last.end) - last.start <= TOGETHER_BYTES) {
        last.end = Math.max(end, last.end)
        last.left++
      } else last = { start, end, left: 1, bytes: undefined }
      this.#runs.set(range, last)
    }
  }

  /** The bytes of one of the ranges, which is asked for once. */
  async read(range: R): Promise<Uint8Array> {
    const run = this.#runs.get(range) as Run // it is one of them
    run.bytes ??= this.#bytes.read(run.start, run.end, this.#scratch?.bytes(run.end - run.start))
    const bytes = await run.bytes
    if (--run.left === 0) run.bytes = undefined
    return bytes.subarray(range.start - run.start, range.end - run.start)
  }
}
