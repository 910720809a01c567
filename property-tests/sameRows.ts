/** Rows of both engines in one form: columns of one name hold equal values, numbers within rounding. */

/** What is different, or undefined. Sums of decimals are exact in SQL and sums of doubles here. */
export function differenceOfRows(ours: readonly object[], theirs: readonly object[]): string | undefined {
  if (ours.length !== theirs.length) return `${ours.length} rows, not ${theirs.length}`
  for (const [i, row] of ours.entries()) {
    const other: object = theirs[i] ?? {}
    for (const name of Object.keys(other)) {
      const a = plain(valueAt(row, name))
      const b = plain(valueAt(other, name))
      if (!same(a, b)) return `row ${i}, ${name}: ${String(a)}, not ${String(b)}`
    }
  }
  return undefined
}

const TOLERANCE = 1e-9

function same(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number' && !Object.is(a, b))
    return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b))
  return Object.is(a, b)
}

function valueAt(row: object, name: string): unknown {
  return (row as Readonly<Record<string, unknown>>)[name]
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.getTime()
  return typeof value === 'bigint' ? Number(value) : value
}
