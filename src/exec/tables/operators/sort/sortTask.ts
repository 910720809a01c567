/**
 * The tasks of a sort on all workers, over addresses of the arena: `exec/tables/wide/sortRun.ts` says in which order they come.
 *
 *     spans      the least and the greatest word of each part of the key in a range of the rows, or the prefix that all its texts share
 *     words      the words (normalized keys) of a range of the rows, and a histogram of the first word's highest digit
 *     scatter    words and row numbers of a range, each to the bucket of its digit
 *     buckets    buckets that are claimed, each sorted (`sortedBuckets.ts`)
 *     gather     columns of rows in order, in chunks that are claimed (`gatheredColumns.ts`)
 *     repeats    rows in order whose key is that of the row before, and kept: one row of each key (`repeats.ts`)
 */
import { countKernel, scatterKernel } from '../../../kernels/tables/sortKernels.ts'
import { prefixKernel, spanKernel, textWordsKernel, wordsKernel } from '../../../kernels/tables/sortWords.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../arenaKernels.ts'
import { type GatherWork, gatherChunks } from '../gather/gatheredColumns.ts'
import { findRepeats, type KeptWork, keepRows, type RepeatsWork } from './repeats.ts'
import { type BucketsWork, SortedBuckets } from './sortedBuckets.ts'
import type { SortLevel, Span } from './sortLevel.ts'

export interface SortTask {
  readonly kind: 'sort'
  readonly work: SortWork
}

export type SortWork =
  | { readonly kind: 'spans'; readonly spans: readonly Span[]; readonly from: number; readonly to: number }
  | WordsWork
  | ScatterWork
  | BucketsWork
  | GatherWork
  | RepeatsWork
  | KeptWork

interface WordsWork {
  readonly kind: 'words'
  readonly levels: readonly SortLevel[]
  readonly from: number
  readonly to: number
  /** The address of the words of the first level; `counts` is that of the histogram of their digits, `shift` where the digit begins. */
  readonly words: number
  readonly shift: bigint
  readonly counts: number
  /** The address of room for one run, two words. */
  readonly list: number
}

interface ScatterWork {
  readonly kind: 'scatter'
  readonly words: number
  readonly from: number
  readonly to: number
  readonly shift: bigint
  readonly places: number
  readonly keys: number
  readonly rows: number
  /** Rows of this bucket and later ones are left out: the sort is of a limited number of rows. */
  readonly bound?: number
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up. */
const STRIDE = 16_384

export function runSortTask({ work }: SortTask, arena: Arena): void {
  switch (work.kind) {
    case 'spans':
      for (const span of work.spans) runSpan(span, work, arena)
      return
    case 'words':
      runWords(work, arena)
      return
    case 'scatter': {
      const { words, shift, places, keys, rows, bound } = work
      const options = { listed: false, bounded: bound !== undefined }
      const scatter = arenaKernel(arena, `sort scatter ${options.bounded}`, () => scatterKernel(options))
      eachStride(work, (from, to) => scatter(words, 0, from, to, 0n, shift, places, keys, rows, bound ?? 0))
      return
    }
    case 'buckets':
      new SortedBuckets(work, arena).run()
      return
    case 'gather':
      gatherChunks(work, arena)
      return
    case 'repeats':
      findRepeats(work, arena)
      return
    case 'kept':
      keepRows(work, arena)
  }
}

interface Rows {
  readonly from: number
  readonly to: number
}

function eachStride({ from, to }: Rows, run: (from: number, to: number) => void): void {
  for (let at = from; at < to; at += STRIDE) run(at, Math.min(at + STRIDE, to))
}

function runSpan(span: Span, rows: Rows, arena: Arena): void {
  const nullable = span.bits !== 0
  if (span.kind === 'text') {
    const { bytes, offsets, bits, reference, out } = span
    const prefix = arenaKernel(arena, `sort prefix ${nullable}`, () => prefixKernel(nullable))
    eachStride(rows, (from, to) => prefix(bytes, offsets, bits, from, to, reference, out))
    return
  }
  const { form, values, bits, out } = span
  const least = arenaKernel(arena, `sort span ${form} ${nullable}`, () => spanKernel(form, nullable))
  eachStride(rows, (from, to) => least(values, bits, from, to, out))
}

function runWords(work: WordsWork, arena: Arena): void {
  const { levels, words, shift, counts, list } = work
  const count = arenaKernel(arena, 'sort count', countKernel)
  for (const [l, level] of levels.entries()) {
    if (level.kind === 'text' && l > 0) continue // read when rows are equal so far
    const write = level.kind === 'text' ? textWriter(level, { words, list }, arena) : partsWriter(level, arena)
    eachStride(work, (from, to) => {
      write(from, to)
      if (l === 0) count(words, from, to, 0n, shift, counts)
    })
  }
}

type Write = (from: number, to: number) => void

function partsWriter({ words, parts }: Extract<SortLevel, { kind: 'words' }>, arena: Arena): Write {
  const writers = parts.map(({ form, values, bits, flip, base, ofNull, dropped, width }, p): Write => {
    const options = { nullable: bits !== 0, first: p === 0 }
    const run = arenaKernel(arena, `sort words ${form} ${JSON.stringify(options)}`, () => wordsKernel(form, options))
    return (from, to) => run(values, bits, from, to, words, flip, base, ofNull, dropped, width)
  })
  return (from, to) => {
    for (const write of writers) write(from, to)
  }
}

function textWriter(level: Extract<SortLevel, { kind: 'text' }>, { words, list }: { words: number; list: number }, arena: Arena): Write {
  const { bytes, offsets, bits, skip, flip, ofNull } = level
  const options = { nullable: bits !== 0, listed: false }
  const run = arenaKernel(arena, `sort texts ${JSON.stringify(options)}`, () => textWordsKernel(options))
  const places = arena.view('i32', list, 2) as Int32Array
  return (from, to) => {
    places[0] = from
    places[1] = to
    run(bytes, offsets, bits, list, list + 8, 0, words, skip, flip, ofNull)
  }
}
