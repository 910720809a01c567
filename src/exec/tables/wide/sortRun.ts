/**
 * A sort on all workers, over columns of the arena.
 *
 *     spans      the range of each part of the key; normalized keys have as many bits a part as it needs (`exec/kernels/tables/sortWords.ts`)
 *     words      the words of all rows; rows are counted by the highest digit of the first word
 *     scatter    words and row numbers, bucket after bucket
 *     buckets    each bucket in order, by one worker (`exec/tables/operators/sort/sortedBuckets.ts`)
 *     gather     the columns of the rows in order (`gatherRun.ts`)
 *
 * The result does not depend on the ranges of rows, or on the order in which workers claim buckets.
 */
import type { Column } from '../../../core/data/column.ts'
import type { Directions } from '../../../core/plan/logicalPlan.ts'
import type { Arena } from '../../memory/arena.ts'
import { GroupMemory } from '../operators/groupBy/groupMemory.ts'
import { directionOf } from '../operators/sort/order.ts'
import { scratchBytes } from '../operators/sort/sortedBuckets.ts'
import type { FixedPlace, PackedPart, SortLevel, Span, TextPlace } from '../operators/sort/sortLevel.ts'
import { orderParts, type SortPart, sortParts } from '../operators/sort/sortParts.ts'
import type { SortTask, SortWork } from '../operators/sort/sortTask.ts'
import { allOf } from '../scheduler.ts'

export interface SortServices {
  /** The number of tasks worth running at once. */
  readonly workers: number
  readonly arena: Arena
  readonly run: (task: SortTask) => Promise<unknown>
}

/** Rows of a bucket, if words are spread evenly: their words and row numbers fit a core's cache. */
const BUCKET_ROWS = 8192
const MOST_BUCKET_BITS = 11

const WORD_BITS = 64n

/** Bits of a text's word, in which null has a value too. */
const TEXT_BITS = 61n
const TEXT_MASK = 2n ** 60n - 1n

/** The address of the sorted row numbers, in memory that is freed with the run. */
export interface SortedRows {
  readonly address: number
}

/** Whether kernels can sort by the key. */
export function isSortable(key: Column): boolean {
  return orderParts(key) !== undefined
}

export class SortRun {
  readonly memory: GroupMemory
  private readonly services: SortServices
  constructor(services: SortServices) {
    this.services = services
    this.memory = new GroupMemory(services.arena, 'SortExec')
  }

  end(): void {
    this.memory.end()
  }

  /** The sorted rows: the first `limit`, perhaps with others behind them; undefined where kernels cannot sort by the key. Throws MemoryError. */
  async rowsInOrder(
    key: Column,
    { descending, limit }: { readonly descending: Directions; readonly limit: number },
  ): Promise<SortedRows | undefined> {
    const parts = orderParts(key)
    return parts && (await this.rowsBy(parts, key.length, { descending: directionsOf(key, descending), limit }))
  }

  /** The sorted rows by the parts of a key, as `rowsInOrder`. */
  async rowsBy(
    parts: readonly SortPart[],
    length: number,
    { descending, limit }: { readonly descending: Directions; readonly limit: number },
  ): Promise<SortedRows | undefined> {
    const levels = await this.levelsOf(parts, length, descending)
    if (levels === undefined) return undefined
    if (levels.length === 0) return { address: this.rowsAsTheyAre(length) }
    return await this.sorted(levels, length, limit)
  }

  private rowsAsTheyAre(length: number): number {
    const address = this.memory.room(4 * length)
    const rows = this.memory.integers(address, length)
    for (let row = 0; row < length; row++) rows[row] = row
    return address
  }

  /** The levels of normalized keys; undefined where a part's values and null do not fit a word. */
  private async levelsOf(parts: readonly SortPart[], rows: number, descending: Directions): Promise<readonly SortLevel[] | undefined> {
    const { memory, services } = this
    const places = parts.map((part) => placeOf(part, memory))
    const ranges = rangesOf(rows, services.workers)
    const found = memory.block(16 * parts.length * ranges.length)
    const spanAt = (part: number, range: number): number => found + 16 * (part * ranges.length + range)
    await this.together(
      ranges.map((range, r) => ({
        ...{ kind: 'spans', ...range },
        spans: places.map((place, p) => spanOf(place, parts[p] as SortPart, spanAt(p, r), memory)), // one for each part
      })),
    )
    const levels: SortLevel[] = []
    for (const [p, place] of places.entries()) {
      const at = spanAt(p, 0)
      if ('bytes' in place) {
        const prefixes = ranges.map((_, r) => memory.integers(spanAt(p, r), 1)[0] as number) // one of one
        levels.push({ kind: 'text', ...place, skip: Math.min(...prefixes), ...textCodes(directionOf(descending, p)) })
        continue
      }
      const packed = packedPart(place, wordsOf(memory.longs(at, 2 * ranges.length)), directionOf(descending, p))
      if (packed.width === 0n) continue
      if (packed.width > WORD_BITS) return undefined
      const last = levels.at(-1)
      const room = last?.kind === 'words' ? WORD_BITS - bitsOf(last) : 0n
      const [here, next] = piecesOf(packed, room)
      if (last?.kind === 'words' && here !== undefined) levels[levels.length - 1] = { ...last, parts: [...last.parts, here] }
      if (next !== undefined) levels.push({ kind: 'words', words: memory.room(8 * rows), parts: [next] })
    }
    return levels
  }

  private async sorted(levels: readonly SortLevel[], length: number, limit: number): Promise<SortedRows> {
    const { memory, services } = this
    const [first] = levels
    const bits = first === undefined ? 0n : bitsOf(first)
    const digit = BigInt(Math.min(Number(bits), MOST_BUCKET_BITS, Math.max(1, Math.ceil(Math.log2(length / BUCKET_ROWS)))))
    const shift = bits - digit
    const buckets = 2 ** Number(digit)
    const words = first?.kind === 'words' ? first.words : memory.room(8 * length)
    const ranges = rangesOf(length, services.workers)
    const counts = memory.block(4 * buckets * ranges.length)
    const list = memory.block(64 * ranges.length)
    await this.together(
      ranges.map((range, r) => ({
        ...{ kind: 'words', levels, ...range },
        ...{ words, shift, counts: counts + 4 * buckets * r, list: list + 64 * r },
      })),
    )
    const all = placesOf(memory.integers(counts, buckets * ranges.length), buckets)
    // only the buckets that hold the first `limit` rows
    const wanted = Math.max(
      1,
      all.findIndex((start) => start >= limit),
    )
    const starts = limit < length ? all.slice(0, wanted + 1) : all
    const size = starts.at(-1) as number // there is one
    const bound = size < length ? { bound: wanted } : {}
    const [keys, rows] = [memory.room(8 * size), memory.room(4 * size)]
    await this.together(
      ranges.map((range, r) => ({ kind: 'scatter', words, ...range, shift, places: counts + 4 * buckets * r, keys, rows, ...bound })),
    )
    memory.release(words)
    let most = 0
    for (let b = 1; b < starts.length; b++) most = Math.max(most, (starts[b] as number) - (starts[b - 1] as number)) // b < length
    const claims = memory.block(4)
    await this.together(
      ranges.map(() => ({
        ...{ kind: 'buckets', claims, starts, keys, rows, length: size, levels, scratch: memory.room(scratchBytes(most)) },
      })),
    )
    memory.release(keys)
    return { address: rows }
  }

  /** Runs all tasks on workers; when one fails, rejects after the others have ended. */
  async together(works: readonly SortWork[]): Promise<void> {
    await allOf(works.map((work) => this.services.run({ kind: 'sort', work })))
  }
}

/** The directions of a key's parts, from those of its items: an item of several parts gives each its own, one of type null has no part. */
export function directionsOf({ type, children = [] }: Column, descending: Directions): Directions {
  if (typeof descending === 'boolean' || type.kind !== 'struct') return descending
  return children.flatMap((child, item) => (sortParts(child) ?? []).map(() => directionOf(descending, item)))
}

export interface Range {
  readonly from: number
  readonly to: number
}

export function rangesOf(rows: number, workers: number): readonly Range[] {
  const cut = (i: number): number => Math.floor((rows * i) / workers)
  return Array.from({ length: workers }, (_, i) => ({ from: cut(i), to: cut(i + 1) }))
}

function placeOf({ kind, column, ...form }: SortPart, memory: GroupMemory): FixedPlace | TextPlace {
  const bits = memory.addressOf(column.validity)
  if (kind === 'text') return { bytes: memory.addressOf(column.values), offsets: memory.addressOf(column.offsets), bits }
  return { ...(form as Pick<FixedPlace, 'form'>), values: memory.addressOf(column.values), bits } // that of a column of a fixed width
}

/** The longest prefix of texts that is skipped, in bytes. */
const MOST_PREFIX = 255

function spanOf(place: FixedPlace | TextPlace, { column }: SortPart, out: number, memory: GroupMemory): Span {
  if ('bytes' in place) {
    const row = firstPresent(column)
    const [start = 0, end = 0] = [column.offsets?.[row], column.offsets?.[row + 1]]
    memory.integers(out, 1)[0] = Math.min(MOST_PREFIX, end - start)
    return { kind: 'text', ...place, reference: place.bytes + start, out }
  }
  memory.longs(out, 2).set([-1n, 0n])
  return { kind: 'fixed', ...place, out }
}

function firstPresent({ validity, length }: Column): number {
  if (validity === undefined) return 0
  for (let row = 0; row < length; row++) if (((validity[row >> 3] as number) & (1 << (row & 7))) !== 0) return row // row < length
  return 0
}

/** The least and the greatest word of all ranges, as unsigned numbers. */
function wordsOf(found: BigInt64Array): { readonly least: bigint; readonly most: bigint } {
  let [least, most] = [2n ** 64n - 1n, 0n]
  for (let r = 0; r < found.length; r += 2) {
    const [low, high] = [BigInt.asUintN(64, found[r] as bigint), BigInt.asUintN(64, found[r + 1] as bigint)] // a pair each
    if (low < least) least = low
    if (high > most) most = high
  }
  return { least, most }
}

function packedPart(
  place: FixedPlace,
  { least, most }: { readonly least: bigint; readonly most: bigint },
  descending: boolean,
): PackedPart {
  const span = most < least ? 0n : most - least // all are null
  const codes = place.bits === 0 ? span : span + 1n
  const base = descending ? BigInt.asUintN(64, ~most) : least
  return {
    ...place,
    flip: descending ? -1n : 0n,
    base: BigInt.asIntN(64, base),
    ofNull: BigInt.asIntN(64, span + 1n),
    dropped: 0n,
    width: codes === 0n ? 0n : BigInt(codes.toString(2).length),
  }
}

/** Splits a part into the bits that fit the room left in a word, and the bits that begin the next word. */
function piecesOf(part: PackedPart, room: bigint): readonly [PackedPart | undefined, PackedPart | undefined] {
  if (part.width <= room) return [part, undefined]
  if (room === 0n) return [undefined, part]
  const dropped = part.width - room
  return [
    { ...part, dropped, width: room },
    { ...part, width: dropped },
  ]
}

/** The flip and the word of null for texts: null comes last in both directions, and is never compared further. */
function textCodes(descending: boolean): { readonly flip: bigint; readonly ofNull: bigint } {
  return descending ? { flip: TEXT_MASK, ofNull: TEXT_MASK + 1n + 15n } : { flip: 0n, ofNull: TEXT_MASK + 1n }
}

function bitsOf(level: SortLevel): bigint {
  return level.kind === 'text' ? TEXT_BITS : level.parts.reduce((bits, { width }) => bits + width, 0n)
}

/** Turns counts by range and bucket into the positions where a range's rows of a bucket go, in place; returns the starts of the buckets and the end. */
export function placesOf(counts: Int32Array, buckets: number): Int32Array {
  const starts = new Int32Array(buckets + 1)
  let at = 0
  for (let b = 0; b < buckets; b++) {
    starts[b] = at
    for (let i = b; i < counts.length; i += buckets) {
      const count = counts[i] as number // i < length
      counts[i] = at
      at += count
    }
  }
  starts[buckets] = at
  return starts
}
