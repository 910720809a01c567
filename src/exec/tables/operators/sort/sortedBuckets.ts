/**
 * Sorts the buckets of a radix sort, each by one worker: a bucket has all rows whose first word begins with the same digit.
 *
 *     radix     a run is scattered by the highest digit of word - least word; runs of one digit that are still long are
 *               sorted so again, then all of it by insertion sort, which finds it almost in order
 *     levels    runs of equal words get the words of the next level, and are sorted by these
 *
 * A bucket fits a core's cache where the words are spread evenly; the result is the same where they are not.
 */
import { countKernel, type Equals, equalsKernel, insertKernel, refillKernel, scatterKernel } from '../../../kernels/tables/sortKernels.ts'
import { spanKernel, textWordsKernel } from '../../../kernels/tables/sortWords.ts'
import type { Arena } from '../../../memory/arena.ts'
import { type ArenaKernel, arenaKernel } from '../arenaKernels.ts'
import type { SortLevel } from './sortLevel.ts'

export interface BucketsWork {
  readonly kind: 'buckets'
  /** The address of the counter of the next bucket to claim. */
  readonly claims: number
  /** The position of the first row of each bucket, and the end of the last. */
  readonly starts: Int32Array
  readonly keys: number
  readonly rows: number
  /** The number of rows of the table. */
  readonly length: number
  readonly levels: readonly SortLevel[]
  /** The address of the worker's scratch memory: see `scratchBytes`. */
  readonly scratch: number
}

/** Runs up to this length are sorted by insertion. */
const SHORT = 32
/** The most bits of a digit: the histogram and the targets of the scatter stay in a core's cache. */
const MOST_BITS = 11
const COUNTS_BYTES = 4 * 2 ** MOST_BITS
/** Bytes of the words in which kernels return results: two of 64 bits, or two numbers. */
const STATE_BYTES = 64

/** Bytes of a worker's scratch memory for buckets of at most so many rows: a state, counts, a bucket's keys and rows, two lists of runs, and one of long runs. */
export function scratchBytes(rows: number): number {
  return STATE_BYTES + COUNTS_BYTES + 12 * even(rows) + 2 * listBytes(rows) + listBytes(rows)
}

function even(rows: number): number {
  return rows + (rows % 2)
}

/** Bytes of a list of runs, a pair of words for each: a run has two rows at least. */
function listBytes(rows: number): number {
  return 4 * even(rows) + 8
}

export class SortedBuckets {
  private readonly work: BucketsWork
  private readonly arena: Arena
  private readonly state: number
  private readonly counts: number
  private readonly keys: number
  private readonly rows: number
  private readonly long: number
  private readonly lists: readonly [number, number]
  private readonly count: ArenaKernel
  private readonly scatter: ArenaKernel
  private readonly insert: ArenaKernel
  private readonly span: ArenaKernel

  constructor(work: BucketsWork, arena: Arena) {
    this.work = work
    this.arena = arena
    let most = 0
    for (let b = 1; b < work.starts.length; b++) most = Math.max(most, (work.starts[b] as number) - (work.starts[b - 1] as number)) // b < length
    this.state = work.scratch
    this.counts = this.state + STATE_BYTES
    this.keys = this.counts + COUNTS_BYTES
    this.rows = this.keys + 8 * even(most)
    const first = this.rows + 4 * even(most)
    this.lists = [first, first + listBytes(most)]
    this.long = first + 2 * listBytes(most)
    this.count = arenaKernel(arena, 'sort count', countKernel)
    this.scatter = arenaKernel(arena, 'sort scatter listed', () => scatterKernel({ listed: true, bounded: false }))
    this.insert = arenaKernel(arena, 'sort insert', insertKernel)
    this.span = arenaKernel(arena, 'sort span u64 false', () => spanKernel('u64', false))
  }

  run(): void {
    const { starts, claims } = this.work
    const claimed = this.arena.view('i32', claims, 1) as Int32Array
    for (;;) {
      const bucket = Atomics.add(claimed, 0, 1)
      if (bucket + 1 >= starts.length) return
      const [from, to] = [starts[bucket] as number, starts[bucket + 1] as number] // bucket + 1 < length
      if (to - from < 2) continue
      this.radix(from, to)
      this.byLevels(from, to)
    }
  }

  /** Sorts a run by its words. */
  private radix(from: number, to: number): void {
    const { keys, rows } = this.work
    const size = to - from
    if (size > SHORT) {
      const { least, bits } = this.spanOf(from, to)
      if (bits === 0) return
      const digit = Math.min(bits, MOST_BITS, Math.max(5, 31 - Math.clz32(size) - 1))
      const shift = BigInt(bits - digit)
      const counts = this.integers(this.counts, 2 ** digit)
      counts.fill(0)
      this.count(keys, from, to, least, shift, this.counts)
      let before = 0
      for (let d = 0; d < counts.length; d++) {
        const count = counts[d] as number // d < length
        counts[d] = before
        before += count
      }
      this.scatter(keys, rows, from, to, least, shift, this.counts, this.keys, this.rows, 0)
      this.longs(keys + 8 * from, size).set(this.longs(this.keys, size))
      this.integers(rows + 4 * from, size).set(this.integers(this.rows, size))
      if (bits === digit) return
      for (const [first, after] of longRuns(counts)) this.radix(from + first, from + after)
    }
    this.insertRuns(this.oneRun(this.long, from, to), 1, size)
  }

  private spanOf(from: number, to: number): { readonly least: bigint; readonly bits: number } {
    const words = this.longs(this.state, 2)
    words[0] = -1n
    words[1] = 0n
    this.span(this.work.keys, 0, from, to, this.state)
    const [least, most] = [BigInt.asUintN(64, words[0] as bigint), BigInt.asUintN(64, words[1] as bigint)] // two of two
    const span = most - least
    const bits = span === 0n ? 0 : span.toString(2).length
    return { least, bits }
  }

  private byLevels(from: number, to: number): void {
    const { levels } = this.work
    let list = this.oneRun(this.lists[0], from, to)
    let runs = 1
    const equal = (which: Equals, flip: bigint): number => {
      const out = list === this.lists[0] ? this.lists[1] : this.lists[0]
      const kernel = arenaKernel(this.arena, `sort equals ${which}`, () => equalsKernel(which))
      kernel(list, list + 8 * runs, this.work.keys, flip, out, this.state)
      const [found, open] = this.integers(this.state, 2)
      list = out
      runs = found as number // two of two
      return open as number
    }
    for (const [l, level] of levels.entries()) {
      const isOver = l === levels.length - 1
      if (l > 0) this.refill(level, list, runs, 0)
      if (level.kind === 'text') {
        for (let skipped = 7; equal(isOver ? 'open' : 'all', level.flip) > 0; skipped += 7) this.refill(level, list, runs, skipped)
      } else if (!isOver) equal('all', 0n)
      if (isOver || runs === 0) return
    }
  }

  /** Gives the rows of the runs their words of a level (of a text those from byte `skipped` on) and sorts the runs by them. */
  private refill(level: SortLevel, list: number, runs: number, skipped: number): void {
    const { keys, rows } = this.work
    const end = list + 8 * runs
    if (level.kind === 'text') {
      const { bytes, offsets, bits, skip, flip, ofNull } = level
      const options = { nullable: bits !== 0, listed: true }
      const run = arenaKernel(this.arena, `sort texts ${JSON.stringify(options)}`, () => textWordsKernel(options))
      run(bytes, offsets, bits, list, end, rows, keys, skip + skipped, flip, ofNull)
    } else arenaKernel(this.arena, 'sort refill', refillKernel)(list, end, rows, level.words, keys)
    this.insertRuns(list, runs, SHORT)
  }

  private insertRuns(list: number, runs: number, limit: number): void {
    const { keys, rows } = this.work
    this.insert(list, list + 8 * runs, keys, rows, limit, this.long, this.state)
    const [found] = this.integers(this.state, 1)
    const long = this.integers(this.long, 2 * (found as number)).slice() // one of one
    for (let i = 0; i < long.length; i += 2) this.radix(long[i] as number, long[i + 1] as number) // a pair each
  }

  private oneRun(list: number, from: number, to: number): number {
    this.integers(list, 2).set([from, to])
    return list
  }

  private integers(address: number, length: number): Int32Array {
    return this.arena.view('i32', address, length) as Int32Array
  }

  private longs(address: number, length: number): BigInt64Array {
    return this.arena.view('i64', address, length) as BigInt64Array
  }
}

/** The runs of one digit that are too long for insertion sort; `ends` has the end of each digit's run. */
function longRuns(ends: Int32Array): readonly (readonly [number, number])[] {
  const runs: [number, number][] = []
  let first = 0
  for (let d = 0; d < ends.length; d++) {
    const after = ends[d] as number // d < length
    if (after - first > SHORT) runs.push([first, after])
    first = after
  }
  return runs
}
