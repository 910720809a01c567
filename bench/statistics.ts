/** Small statistics and printing for benches. */

/** Of those that are numbers. */
export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Of those that are numbers; NaN of none. */
export function geometricMean(values: readonly number[]): number {
  const numbers = values.filter((value) => !Number.isNaN(value))
  return numbers.length === 0 ? Number.NaN : Math.exp(numbers.reduce((sum, value) => sum + Math.log(value), 0) / numbers.length)
}

/** Rows as text: the first column to the left, numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
    )
    .join('\n')
}
