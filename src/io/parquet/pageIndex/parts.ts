/** The rows of row groups for which a predicate may hold by the bounds of pages, as splits of their own. */
import { type ColumnPredicate, mayMatch } from '../../../core/plan/predicate.ts'
import { fewRanges, inBoth, type RowRange, rowsIn } from '../../../core/rowRanges.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import { RangeReads } from '../../bytes/rangeReads.ts'
import type { ByteSource } from '../../bytes/source.ts'
import type { GroupDetail } from '../describe.ts'
import type { ColumnFilters, IndexPlace } from '../filters/filterPlaces.ts'
import { CLOSE_BYTES, type PageBounds, pageBounds, pagePlaces } from './pageIndex.ts'

/** How large, and how many, parts are. */
export interface PartSizes {
  /** Parts that lie this close together are read as one: each is a task, and unpacks the dictionary. */
  readonly closeRows: number
  /** The most parts of a row group. */
  readonly most: number
  /** A row group is read whole if more than this share of its rows would be. */
  readonly largestShare: number
}
const STANDARD: PartSizes = { closeRows: 2 ** 14, most: 8, largestShare: 3 / 4 }

/** The parts that are left of a split, ascending; a split that is left whole has no entry. */
export type PartsOfSplits = ReadonlyMap<SourceSplit, readonly SourceSplit[]>

/** The parts that page indexes leave of splits of one file. Indexes are kept once they were read. */
export async function partsByIndex(
  bytes: () => Promise<ByteSource>,
  splits: readonly SourceSplit[],
  predicate: ColumnPredicate,
  { closeRows, most, largestShare }: PartSizes = STANDARD,
): Promise<PartsOfSplits> {
  const columns = [...new Set(predicate.map(({ column }) => column))]
  const places = splits.flatMap((split) => columns.flatMap((column) => indexOf(split, column) ?? []))
  const unread = places.filter((place) => !read.has(place))
  if (unread.length > 0) await readIndexes(await bytes(), unread)
  const parts = new Map<SourceSplit, readonly SourceSplit[]>()
  for (const split of splits) {
    const { rows } = split.detail as GroupDetail // of a Parquet file
    const left = rowsLeft(split, predicate, rows)
    const ranges = fewRanges(left, { close: closeRows, most })
    if (rowsIn(ranges) <= rows * largestShare)
      parts.set(
        split,
        ranges.map((range) => partOf(split, range)),
      )
  }
  return parts
}

function indexOf(split: SourceSplit, column: string): IndexPlace | undefined {
  return (split.filters?.get(column) as ColumnFilters | undefined)?.index // as `describe.ts` has made it
}

/** Pages of a column: the first row of each, and the bounds of its values. */
interface Pages {
  readonly firstRows: readonly number[]
  readonly bounds: readonly PageBounds[]
}

/** The indexes that were read; a place is of one file as it was when its footer was read. */
const read = new WeakMap<IndexPlace, Pages | 'odd'>()

async function readIndexes(bytes: ByteSource, places: readonly IndexPlace[]): Promise<void> {
  const reads = new RangeReads(
    bytes,
    places.flatMap(({ pagesAt, boundsAt }) => [pagesAt, boundsAt]),
    { closeBytes: CLOSE_BYTES },
  )
  for (const place of places) {
    const [pages, bounds] = [await reads.read(place.pagesAt), await reads.read(place.boundsAt)]
    const [places, own] = [pagePlaces(pages, place.chunk), pageBounds(bounds, place.form)]
    const isWhole = places !== undefined && places.length === own?.length
    read.set(place, isWhole ? { firstRows: places.map(({ firstRow }) => firstRow), bounds: own } : 'odd')
  }
}

/** The rows of a group for which the predicate may hold. */
function rowsLeft(split: SourceSplit, predicate: ColumnPredicate, rows: number): readonly RowRange[] {
  let left: readonly RowRange[] = [{ from: 0, to: rows }]
  for (const comparison of predicate) {
    const place = indexOf(split, comparison.column)
    const pages = place && read.get(place)
    if (pages === undefined || pages === 'odd') continue
    const { firstRows, bounds } = pages
    const own = bounds.flatMap(({ values, mayBeNull }, i): RowRange[] => {
      const ofNull = mayBeNull && comparison.isOfNull === true
      const mayHold = ofNull || values === 'unknown' || (values !== 'none' && mayMatch(comparison, values))
      return mayHold ? [{ from: firstRows[i] as number, to: firstRows[i + 1] ?? rows }] : [] // one a page
    })
    left = inBoth(left, own)
  }
  return left
}

/** The rows of a split as a split. */
function partOf(split: SourceSplit, part: RowRange): SourceSplit {
  const { rows, bytes, columnBytes, rowNumbers } = split
  const detail = split.detail as GroupDetail // of a Parquet file
  const share = (part.to - part.from) / detail.rows
  return {
    ...split,
    rows: rows && part.to - part.from,
    bytes: bytes && Math.ceil(bytes * share),
    ...(columnBytes && { columnBytes: new Map([...columnBytes].map(([name, size]) => [name, Math.ceil(size * share)])) }),
    rowNumbers: rowNumbers && { ...rowNumbers, from: rowNumbers.from + part.from },
    partOf: split,
    detail: { ...detail, part } satisfies GroupDetail,
  }
}
