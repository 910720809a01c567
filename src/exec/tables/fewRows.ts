/** Whether so few rows of a file are kept that their other columns are read for them alone (`planner/physical/fetchRows.ts`). */
import type { Batch } from '../../core/data/column.ts'
import { MOST_RANGES, rangesOf, rowsIn } from '../../core/rowRanges.ts'
import { namedColumns } from './columns/semiJoin.ts'
import type { Pipeline, Scan } from './dataset.ts'
import { splitsRead } from './scanSplits.ts'

/** The largest share of the splits that may have to be read: each by the rows of its ranges, and their number. */
const LARGEST_SHARE = 1 / 4

/**
 * The pipeline over the first splits that have `rows` rows, to learn what its filters keep; undefined where there are no others, and
 * where splits are parts of others, as all columns of these are read by the pages that have them.
 */
export function sampleOf(filters: Pipeline, rows: number): Pipeline | undefined {
  const scan = filters.input as Scan // as the planner makes them
  const splits = splitsRead(scan)
  let seen = 0
  const end = splits.findIndex((split) => (seen += split.rows ?? 0) >= rows) + 1
  if (end === 0 || end === splits.length || splits.some(({ partOf }) => partOf !== undefined)) return undefined
  return { ...filters, input: { ...scan, source: { ...scan.source, splits: splits.slice(0, end) } } }
}

/** Whether the rows that a pipeline's filters keep of a scan are few; `rows` names the column of their numbers, which ascend. */
export function areFew(filters: Pipeline, kept: Batch, rows: string): boolean {
  const splits = splitsRead(filters.input as Scan) // as the planner makes them
  const numbers = namedColumns([kept], rows)?.[0]?.values as Uint32Array // as the scan makes them
  let [read, at] = [0, 0]
  for (const { rows: all = 0, rowNumbers } of splits) {
    const begin = at
    while (at < kept.length && (numbers[at] as number) < (rowNumbers?.from ?? 0) + all) at++
    const ranges = rangesOf(numbers.subarray(begin, at))
    read += Math.min(1, ranges.length / MOST_RANGES + rowsIn(ranges) / Math.max(1, all))
  }
  return read <= splits.length * LARGEST_SHARE
}
