/** Rows of integer coefficients, a constant at the end, in numbers that stay exact. */

/** One coefficient for each parameter, then the constant. */
export type Row = number[]

/** Thrown where a number leaves the integers that a double holds exactly. */
export class TooLarge extends Error {}

/** Largest absolute value: sums and products of two numbers up to it are exact, or beyond it. */
export const LARGEST: number = 2 ** 52

/** Returns the number; throws `TooLarge` where it may not be exact. */
export function checked(value: number): number {
  if (Math.abs(value) > LARGEST) throw new TooLarge()
  // Adding 0 turns -0 into 0.
  return value + 0
}

/** Returns the greatest common divisor of the first `count` coefficients; 0 where all are 0. */
export function gcdOf(row: Row, count: number): number {
  let factor = 0
  for (let column = 0; column < count; column++) {
    let rest = Math.abs(row[column] ?? 0)
    while (rest !== 0) [factor, rest] = [rest, factor % rest]
    if (factor === 1) return 1
  }
  return factor
}

/** Returns the greatest integer not above a / b, exactly, for b > 0. */
export function floorDivided(a: number, b: number): number {
  const rest = a % b
  // Adding 0 turns -0 into 0.
  return (a - (rest < 0 ? rest + b : rest)) / b + 0
}

/**
 * Changes the parameters so that `row` has one coefficient other than 0 in the columns from `first` to before `end`, and returns its
 * column; undefined where all are 0. `rows` are all rows over these parameters, `row` among them.
 */
export function gathered(row: Row, rows: readonly Row[], first: number, end: number): number | undefined {
  for (;;) {
    let least: number | undefined
    for (let column = first; column < end; column++) {
      const size = Math.abs(row[column] ?? 0)
      if (size !== 0 && (least === undefined || size < Math.abs(row[least] ?? 0))) least = column
    }
    if (least === undefined) return undefined
    let alone = true
    for (let column = first; column < end; column++) {
      if (column === least || row[column] === 0) continue
      const times = Math.round((row[column] ?? 0) / (row[least] ?? 1))
      for (const one of rows) {
        const moved = one[least] ?? 0
        if (moved !== 0) one[column] = checked((one[column] ?? 0) - checked(times * moved))
      }
      if (row[column] !== 0) alone = false
    }
    if (alone) return least
  }
}

/** Returns a basis of the integer rows orthogonal to all directions; empty where there is none, or numbers grow too large. */
export function perpendicular(directions: readonly (readonly number[])[], length: number): Row[] {
  // Columns are changed until each direction needs one column more; those that none needs are orthogonal to all.
  const units = Array.from({ length }, (_, at) => Array.from({ length }, (__, column) => (column === at ? 1 : 0)))
  const rows = [...units, ...directions.map((direction) => [...direction])]
  let used = 0
  try {
    for (const row of rows.slice(length)) {
      const column = gathered(row, rows, used, length)
      if (column === undefined) continue
      for (const one of rows) [one[used], one[column]] = [one[column] ?? 0, one[used] ?? 0]
      used++
    }
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return []
  }
  return units
    .map((_, at) => at)
    .slice(used)
    .map((column) => units.map((row) => row[column] ?? 0))
}

/**
 * Adds an inequality, row >= 0, to others: divided by the common factor, and replacing one with the same coefficients if it is tighter.
 * False where it can never hold.
 */
export function insert(rows: Row[], inequality: Row): boolean {
  const row = reduced(inequality)
  if (row === undefined) return false
  if (row.length === 0) return true
  const at = parallelTo(row, rows, 1)
  if (at === undefined) rows.push(row)
  else if (constantOf(row) < constantOf(rows[at] ?? row)) rows[at] = row
  return true
}

/** Returns the index of the first of `rows` with the same coefficients, or with the opposite ones; undefined where there is none. */
export function parallelTo(row: Row, rows: readonly Row[], sign: 1 | -1): number | undefined {
  const last = row.length - 1
  for (let at = 0; at < rows.length; at++) {
    const other = rows[at] ?? row
    let column = 0
    while (column < last && row[column] === sign * (other[column] ?? 0)) column++
    if (column === last) return at
  }
  return undefined
}

export function constantOf(row: Row): number {
  return row[row.length - 1] ?? 0
}

/** Returns the row divided by the common factor of its coefficients; empty where it always holds, undefined where it never does. */
function reduced(row: Row): Row | undefined {
  const last = row.length - 1
  const factor = gcdOf(row, last)
  const constant = row[last] ?? 0
  if (factor === 0) return constant < 0 ? undefined : []
  if (factor === 1) return row
  return row.map((x, column) => (column === last ? floorDivided(constant, factor) : x / factor + 0))
}
