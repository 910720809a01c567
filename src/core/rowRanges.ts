/** Ranges of rows of a split, ascending and apart from each other. */

/** Rows that lie closer together are read as one range where few rows are wanted. */
const CLOSE_ROWS = 64
/** Reading the rows of this many ranges costs about as much as reading all rows: each unpacks the pages anew. */
export const MOST_RANGES = 8

/** The rows from `from` to `to`, which is none of them. */
export interface RowRange {
  readonly from: number
  readonly to: number
}

/** The ranges that have the rows, which ascend, and few others. */
export function rangesOf(rows: Int32Array | Uint32Array): readonly RowRange[] {
  const ranges: RowRange[] = []
  for (const row of rows) {
    const last = ranges.at(-1)
    if (last !== undefined && row - last.to < CLOSE_ROWS) ranges[ranges.length - 1] = { from: last.from, to: row + 1 }
    else ranges.push({ from: row, to: row + 1 })
  }
  return ranges
}

/** The rows that are in both lists. */
export function inBoth(some: readonly RowRange[], others: readonly RowRange[]): readonly RowRange[] {
  const found: RowRange[] = []
  for (let [i, j] = [0, 0]; i < some.length && j < others.length; ) {
    const [a, b] = [some[i] as RowRange, others[j] as RowRange] // both are there
    const [from, to] = [Math.max(a.from, b.from), Math.min(a.to, b.to)]
    if (from < to) found.push({ from, to })
    if (a.to < b.to) i++
    else j++
  }
  return found
}

/** At most `most` ranges with all of the rows, and with those between ranges that lie less than `close` rows apart, or closest. */
export function fewRanges(
  ranges: readonly RowRange[],
  { close, most }: { readonly close: number; readonly most: number },
): readonly RowRange[] {
  const gaps = ranges.map(({ from }, i) => ({ before: i, rows: from - (ranges[i - 1]?.to ?? 0) })).slice(1)
  const wide = gaps.filter(({ rows }) => rows >= close).sort((a, b) => b.rows - a.rows || a.before - b.before)
  const starts = new Set(wide.slice(0, most - 1).map(({ before }) => before))
  const found: RowRange[] = []
  for (const [i, { from, to }] of ranges.entries()) {
    const last = found.at(-1)
    if (last === undefined || starts.has(i)) found.push({ from, to })
    else found[found.length - 1] = { from: last.from, to }
  }
  return found
}

export function rowsIn(ranges: readonly RowRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0)
}
