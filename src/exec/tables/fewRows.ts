/** Whether so few rows of a file are kept that their other columns are read for them alone (`planner/physical/fetchRows.ts`). */
import type { Batch } from '../../core/data/column.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { Pipeline, Scan } from './dataset.ts'
import { splitsRead } from './loadedScan.ts'

/** Rows that lie this close together are read as one range. */
const CLOSE_ROWS = 64
/** A split with this many ranges is read whole. */
const RANGES_OF_ALL = 8
/** The largest share of the splits that may have to be read: each by the rows of its ranges, and their number. */
const LARGEST_SHARE = 1 / 4

/** The pipeline over the first splits that have `rows` rows, to learn what its filters keep; undefined where there are no others. */
export function sampleOf(filters: Pipeline, rows: number): Pipeline | undefined {
  const scan = filters.input as Scan // as the planner makes them
  const splits = splitsRead(scan)
  let seen = 0
  const end = splits.findIndex((split) => (seen += split.rows ?? 0) >= rows) + 1
  if (end === 0 || end === splits.length) return undefined
  return { ...filters, input: { ...scan, source: { ...scan.source, splits: splits.slice(0, end) } } }
}

/** Whether the rows that a pipeline's filters keep of a scan are few; `rows` names the column of their numbers, which ascend. */
export function areFew(filters: Pipeline, kept: Batch, rows: string): boolean {
  const splits = splitsRead(filters.input as Scan) // as the planner makes them
  const numbers = kept.columns[kept.element.kind === 'row' ? kept.element.fields.findIndex(({ name }) => name === rows) : 0]?.values
  let [read, at] = [0, 0]
  for (const { from, rows: all } of splits.map(rowsOf)) {
    let [ranges, covered, last] = [0, 0, Number.NEGATIVE_INFINITY]
    for (; at < kept.length && Number(numbers?.[at]) < from + all; at++) {
      const row = Number(numbers?.[at])
      const isNew = row - last > CLOSE_ROWS
      if (isNew) ranges++
      covered += isNew ? 1 : row - last
      last = row
    }
    read += Math.min(1, ranges / RANGES_OF_ALL + covered / Math.max(1, all))
  }
  return read <= splits.length * LARGEST_SHARE
}

function rowsOf({ rows = 0, rowNumbers }: SourceSplit): { readonly from: number; readonly rows: number } {
  return { from: rowNumbers?.from ?? 0, rows }
}
