/**
 * Rows of a row group that are read alone: of each chunk the pages that have them.
 *
 *     rows 25000 to 31000          chunk                    is read
 *     a   pages of 20000 rows      [dict][0][1][2][3][4]    [dict] [1]      rows 20000 to 40000
 *     b   pages of 10000 rows      [0][1][2][3] … [9]       [2] [3]         rows 20000 to 40000
 *
 * Columns whose pages cover the same rows are a span, and are decoded together. What covers more than the rows is cut to them afterwards.
 */
import type { Column } from '../../../core/data/column.ts'
import { sliceColumn } from '../../../core/data/columnSlices.ts'
import type { RowRange } from '../../../core/rowRanges.ts'
import { type Range, RangeReads } from '../../bytes/rangeReads.ts'
import type { ByteSource } from '../../bytes/source.ts'
import type { ChunkDetail } from '../describe.ts'
import { CLOSE_BYTES, type PagePlace, pagePlaces } from './pageIndex.ts'

/** Columns whose pages cover the same rows, with chunks of these pages. */
export interface Span<C> {
  readonly rows: RowRange
  /** With the number that each has among all columns. */
  readonly columns: readonly { readonly number: number; readonly column: C }[]
}

/** A column that is decoded by itself: a column of a table, or a field of a struct. */
interface Chunked {
  readonly chunks: readonly ChunkDetail[]
}

/** The spans of columns of a row group of `rows` rows that have its rows `part`, in the order of their first columns. */
export async function spansOf<C extends Chunked>(
  bytes: ByteSource,
  columns: readonly C[],
  { part, rows }: { readonly part: RowRange; readonly rows: number },
): Promise<readonly Span<C>[]> {
  const places = columns.map(({ chunks: [chunk, another] }) => {
    const isIndexed = chunk?.values === rows && chunk.checksum === undefined && another === undefined // a row has one value
    return isIndexed ? chunk.pagesAt : undefined
  })
  const ranges = places.flatMap((place) => place ?? [])
  const reads = new RangeReads(bytes, ranges, { closeBytes: CLOSE_BYTES })
  const spans = new Map<string, { readonly rows: RowRange; readonly columns: Span<C>['columns'][number][] }>()
  for (const [number, column] of columns.entries()) {
    const place = places[number]
    const [chunk] = column.chunks
    const pages = place && chunk && pagePlaces(await reads.read(place), chunk)
    const covered = pages && chunk ? pagesOf(chunk, pages, part) : { rows: { from: 0, to: rows }, chunks: column.chunks }
    const { from, to } = covered.rows
    const known = spans.get(`${from} ${to}`) ?? { rows: covered.rows, columns: [] }
    spans.set(`${from} ${to}`, known)
    known.columns.push({ number, column: { ...column, chunks: covered.chunks } })
  }
  return [...spans.values()]
}

/** The pages of a chunk that have the rows, as a chunk, and the rows that they cover. */
function pagesOf(
  chunk: ChunkDetail,
  pages: readonly PagePlace[],
  part: RowRange,
): { readonly rows: RowRange; readonly chunks: readonly ChunkDetail[] } {
  const behind = pages.findIndex(({ firstRow }) => firstRow >= part.to)
  const end = behind < 0 ? pages.length : behind
  const first = pages.findLastIndex(({ firstRow }) => firstRow <= part.from) // the first page begins with row 0
  const own = pages.slice(first, end)
  const rows = { from: own[0]?.firstRow ?? 0, to: pages[end]?.firstRow ?? chunk.values }
  const dictionary: Range | undefined = first > 0 ? { start: chunk.start, end: pages[0]?.start ?? chunk.start } : undefined
  const start = first > 0 ? (own[0]?.start ?? chunk.start) : chunk.start
  const narrowed: ChunkDetail = {
    ...chunk,
    values: rows.to - rows.from,
    start,
    bytes: (own.at(-1)?.end ?? start) - start,
    ...(dictionary !== undefined && dictionary.end > dictionary.start ? { dictionary } : {}),
  }
  return { rows, chunks: [narrowed] }
}

/** The rows `part` of the columns of all spans, by their numbers; `decode` makes those of one span with the rows that it covers. */
export async function decodedSpans<C>(
  spans: readonly Span<C>[],
  part: RowRange,
  decode: (columns: readonly C[], rows: RowRange) => Promise<readonly Column[]>,
): Promise<readonly Column[]> {
  const decoded: Column[] = []
  for (const { rows, columns } of spans) {
    const covering = await decode(
      columns.map(({ column }) => column),
      rows,
    )
    for (const [i, { number }] of columns.entries())
      decoded[number] = sliceColumn(covering[i] as Column, part.from - rows.from, part.to - rows.from) // one each
  }
  return decoded
}
