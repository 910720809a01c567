/** Ranges of rows of a row group, ascending and apart from each other. */

/** The rows from `from` to `to`, which is none of them. */
export interface RowRange {
  readonly from: number
  readonly to: number
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
  const gaps = ranges.slice(1).map(({ from }, i) => from - (ranges[i] as RowRange).to) // the one before
  const wide = gaps.filter((gap) => gap >= close).sort((a, b) => b - a)
  const least = wide[most - 2] ?? close
  let left = most - 1 // gaps that stay
  const found: RowRange[] = []
  for (const [i, { from, to }] of ranges.entries()) {
    const last = found.at(-1)
    const gap = gaps[i - 1] ?? 0
    if (last !== undefined && (gap < least || left === 0)) found[found.length - 1] = { from: last.from, to }
    else {
      if (last !== undefined) left--
      found.push({ from, to })
    }
  }
  return found
}

export function rowsIn(ranges: readonly RowRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0)
}
