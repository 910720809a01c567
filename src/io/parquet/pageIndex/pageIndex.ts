/**
 * The page index of Parquet files: for a column of a row group, where its pages lie and begin (OffsetIndex), and the smallest and
 * largest value of each (ColumnIndex).
 *
 *     page   offset   first row   smallest   largest
 *        0     4000           0   1992-01   1993-06
 *        1     9200       20480   1993-06   1995-02
 *
 * An index that is odd, damaged or does not fit its column is none: the column is read whole then.
 *
 * https://github.com/apache/parquet-format/blob/master/PageIndex.md
 */
import type { Bounds } from '../../../core/plan/predicate.ts'
import type { Range } from '../../bytes/rangeReads.ts'
import { type BoundsForm, boundsOf } from '../statistics.ts'
import { BINARY, intOf, listOf, structsOf, ThriftError, ThriftReader, type ThriftStruct } from '../thrift.ts'

/** Indexes of more bytes are not read: a chunk has a page or so for every MiB. */
export const MOST_INDEX_BYTES: number = 2 ** 20
/** Parts of the index that lie this close together are read at once: those of columns that are not read lie between them. */
export const CLOSE_BYTES: number = 2 ** 16
/** Memory that the values of an index may take: some 60 bytes a byte. */
const VALUE_BYTES = 2 ** 26

/** A page of data: its bytes in the file with its header, and the first of its rows in the row group. */
export interface PagePlace extends Range {
  readonly firstRow: number
}

/** What a chunk has to be, so that its index is believed. */
export interface IndexedChunk {
  /** Offset of its first page, data or dictionary. */
  readonly start: number
  readonly bytes: number
  /** Rows, each of one value. */
  readonly values: number
}

/** The pages of a chunk by its OffsetIndex. */
export function pagePlaces(index: Uint8Array, { start, bytes, values }: IndexedChunk): readonly PagePlace[] | undefined {
  const found = structsOf(readIndex(index), 1)
  if (found === undefined || found.length === 0) return undefined
  const places: PagePlace[] = []
  let end = start
  let row = -1
  for (const page of found) {
    const [at, length, firstRow] = [intOf(page, 1), intOf(page, 2), intOf(page, 3)]
    if (at === undefined || length === undefined || firstRow === undefined) return undefined
    const isNext = at >= end && length > 0 && firstRow > row && firstRow < values && (row >= 0 || firstRow === 0)
    if (!isNext) return undefined
    places.push({ start: at, end: at + length, firstRow })
    ;[end, row] = [at + length, firstRow]
  }
  return end <= start + bytes ? places : undefined
}

/** What an index says of a page's values. */
export interface PageBounds {
  /** `unknown` where they cannot be trusted; `none` of a page of nulls. */
  readonly values: Bounds | 'unknown' | 'none'
  readonly mayBeNull: boolean
}

/** The bounds of the pages of a chunk by its ColumnIndex. */
export function pageBounds(index: Uint8Array, form: BoundsForm): readonly PageBounds[] | undefined {
  const struct = readIndex(index)
  const [nulls, least, largest, , counts] = [1, 2, 3, 4, 5].map((field) => listOf(struct, field))
  if (nulls === undefined || least?.length !== nulls.length || largest?.length !== nulls.length) return undefined
  return nulls.map((isNull, page): PageBounds => {
    if (isNull === true) return { values: 'none', mayBeNull: true }
    const mayBeNull = counts?.length !== nulls.length || counts[page] !== 0n
    const [min, max] = [least[page], largest[page]]
    if (!(min instanceof Uint8Array && max instanceof Uint8Array)) return { values: 'unknown', mayBeNull }
    const statistics: ThriftStruct = new Map([
      [5, { type: BINARY, value: max }],
      [6, { type: BINARY, value: min }],
    ])
    return { values: boundsOf(statistics, form) ?? 'unknown', mayBeNull }
  })
}

function readIndex(bytes: Uint8Array): ThriftStruct {
  try {
    return new ThriftReader(bytes, 0, VALUE_BYTES).struct()
  } catch (error) {
    if (error instanceof ThriftError) return new Map()
    throw error
  }
}
