/**
 * The probe of a hash join by kernels over tables in the arena; it finds the same pairs of rows as `hashJoin.ts`, in the same order.
 */
import {
  emitKernel,
  findKernel,
  JOIN_FRAME,
  JOIN_FRAME_BYTES,
  keepKernel,
  linkKernel,
  type MatchOptions,
} from '../../../kernels/tables/joinKernels.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import type { PieceRows } from '../gather/gather.ts'
import type { GroupMemory, Kernel } from '../groupBy/groupMemory.ts'
import { STRIDE } from '../groupBy/radixPartitions.ts'

/** The build side's rows, chained by the numbers of their keys (`joinKeys.ts`), and the methods that probe with pieces of the left side. */
export class ArenaMatches {
  private readonly memory: GroupMemory
  private readonly frame: number
  private readonly words: Int32Array
  private readonly next: Int32Array
  private readonly chained: boolean

  constructor(memory: GroupMemory, right: Int32Array, size: number) {
    this.memory = memory
    this.frame = memory.block(JOIN_FRAME_BYTES)
    this.words = memory.integers(this.frame, JOIN_FRAME_BYTES / 4)
    const heads = memory.block(4 * (size + 1)) + 4 // -1 has one
    this.next = this.room(right.length)
    this.place('places', memory.addressOf(right))
    this.place('heads', heads)
    this.place('next', this.next.byteOffset)
    const kernel = memory.kernel('join link', linkKernel)
    for (let to = right.length; to > 0; to -= STRIDE) kernel(this.frame, Math.max(0, to - STRIDE), to)
    this.chained = this.words[JOIN_FRAME.repeated / 4] !== 0
  }

  /** The rows of each piece that have a match; with `anti`, those that have none. */
  kept(pieces: readonly Int32Array[], how: { readonly anti: boolean }): PieceRows {
    const rows = this.room(rowsIn(pieces) + 1)
    this.place('left', rows.byteOffset)
    const kernel = this.memory.kernel(`join keep ${how.anti}`, () => keepKernel(how))
    const cuts = [0]
    for (const piece of pieces) {
      this.place('places', this.memory.addressOf(piece))
      this.overRows(piece.length, kernel)
      cuts.push(this.written)
    }
    return { rows: rows.subarray(0, this.written), cuts, nullable: false }
  }

  /** For each left row 1 + the right row of its first match, or 0; and the number of pairs. With `keeps` a row without a match counts as a pair. */
  found(
    pieces: readonly Int32Array[],
    how: Pick<MatchOptions, 'keeps'>,
  ): { readonly found: readonly Int32Array[]; readonly pairs: number } {
    const options = { ...how, chained: this.chained }
    const kernel = this.memory.kernel(`join find ${JSON.stringify(options)}`, () => findKernel(options))
    const found = pieces.map((piece) => {
      const matches = this.room(piece.length)
      this.place('places', this.memory.addressOf(piece))
      this.place('found', matches.byteOffset)
      this.overRows(piece.length, kernel)
      return matches
    })
    const [low, high] = [this.words[JOIN_FRAME.count / 4] as number, this.words[JOIN_FRAME.count / 4 + 1] as number] // inside the frame
    return { found, pairs: high * 2 ** 32 + (low >>> 0) }
  }

  /** The pairs of rows that match, from the result of `found`. */
  pairs(
    found: readonly Int32Array[],
    pairs: number,
    how: Pick<MatchOptions, 'keeps'>,
  ): { readonly left: PieceRows; readonly right: PieceRows } {
    const options = { ...how, chained: this.chained }
    const [left, right] = [this.room(pairs + 1), this.room(pairs + 1)]
    this.place('left', left.byteOffset)
    this.place('right', right.byteOffset)
    const kernel = this.memory.kernel(`join emit ${JSON.stringify(options)}`, () => emitKernel(options))
    const cuts = [0]
    for (const matches of found) {
      this.place('found', matches.byteOffset)
      this.overRows(matches.length, kernel)
      cuts.push(this.written)
    }
    return {
      left: { rows: left.subarray(0, pairs), cuts, nullable: false },
      right: { rows: right.subarray(0, pairs), cuts: [0, pairs], nullable: how.keeps },
    }
  }

  /** A flag for each row of the right side: 1 where it is in a pair. */
  matched(found: readonly Int32Array[]): Uint8Array {
    const { next } = this
    const matched = new Uint8Array(next.length)
    for (const matches of found) {
      for (let i = 0; i < matches.length; i++) {
        // rows of one key are matched all or none
        for (let row = matches[i] as number; row > 0 && matched[row - 1] === 0; row = next[row - 1] as number) matched[row - 1] = 1
      }
    }
    return matched
  }

  private get written(): number {
    return this.words[JOIN_FRAME.at / 4] as number // inside the frame
  }

  private overRows(length: number, kernel: Kernel): void {
    for (let from = 0; from < length; from += STRIDE) kernel(this.frame, from, Math.min(from + STRIDE, length))
  }

  private room(length: number): Int32Array {
    return this.memory.integers(this.memory.room(4 * length), length)
  }

  private place(name: Exclude<keyof typeof JOIN_FRAME, 'at' | 'repeated' | 'count'>, address: number): void {
    putAddress(this.words, JOIN_FRAME[name] / 4, address)
  }
}

function rowsIn(pieces: readonly Int32Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}
