/** Rows of whole coefficients, a constant at the end, in numbers that stay exact. */

/** One coefficient for each parameter, then the constant. */
export type Row = number[]

/** Numbers have left the integers that a double holds exactly. */
export class TooLarge extends Error {}

/** Sums and products of two numbers up to this are exact, or beyond it. */
const LARGEST = 2 ** 52

/** The number, if it is exact. */
export function checked(value: number): number {
  if (Math.abs(value) > LARGEST) throw new TooLarge()
  // Adding 0 turns -0 into 0.
  return value + 0
}

/** The greatest common divisor of the first `count` coefficients; 0 where all are 0. */
export function gcdOf(row: Row, count: number): number {
  let factor = 0
  for (let column = 0; column < count; column++) {
    let rest = Math.abs(row[column] ?? 0)
    while (rest !== 0) [factor, rest] = [rest, factor % rest]
    if (factor === 1) return 1
  }
  return factor
}

/** The greatest integer not above a / b, exactly, for b > 0. */
export function floorDivided(a: number, b: number): number {
  const rest = a % b
  // Adding 0 turns -0 into 0.
  return (a - (rest < 0 ? rest + b : rest)) / b + 0
}

/**
 * Changes the parameters so that one column alone of those from `first` to before `end` is not 0 in `row`, and returns
 * it; undefined where all are 0. `rows` are all rows that live on these parameters, `row` among them.
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

/**
 * The inequalities without common factors and without those that others imply by their constant alone; undefined where
 * two contradict each other. `equation` is an inequality whose opposite holds too.
 */
export function tightest(inequalities: readonly Row[]): { readonly rows: Row[]; readonly equation?: Row } | undefined {
  const rows: Row[] = []
  // Rows by a number that tells coefficients apart nearly always; where it does not, a row more is kept.
  const places = new Map<number, number>()
  for (const given of inequalities) {
    const row = reduced(given)
    if (row === undefined) return undefined
    if (row.length === 0) continue
    const name = nameOf(row)
    const at = places.get(name)
    const known = at === undefined ? undefined : rows[at]
    if (at === undefined || known === undefined || !sameDirection(row, known, 1)) {
      places.set(name, rows.length)
      rows.push(row)
    } else if (constantOf(row) < constantOf(known)) {
      rows[at] = row
    }
  }
  for (const [at, row] of rows.entries()) {
    const other = places.get(-nameOf(row))
    const opposite = other === undefined || other < at ? undefined : rows[other]
    if (opposite === undefined || !sameDirection(row, opposite, -1)) continue
    const gap = constantOf(row) + constantOf(opposite)
    if (gap < 0) return undefined
    if (gap === 0) return { rows, equation: [...row] }
  }
  return { rows }
}

function constantOf(row: Row): number {
  return row[row.length - 1] ?? 0
}

/** The row divided by the common factor of its coefficients; empty where it always holds, undefined where it never does. */
function reduced(row: Row): Row | undefined {
  const last = row.length - 1
  const factor = gcdOf(row, last)
  const constant = row[last] ?? 0
  if (factor === 0) return constant < 0 ? undefined : []
  if (factor === 1) return row
  return row.map((x, column) => (column === last ? floorDivided(constant, factor) : x / factor + 0))
}

/** A number that is equal for rows of equal coefficients, and opposite for opposite ones. */
function nameOf(row: Row): number {
  let name = 0
  for (let column = 0; column < row.length - 1; column++) name += (row[column] ?? 0) * (column * column + 7.5 * column + 1)
  return name
}

function sameDirection(a: Row, b: Row, sign: 1 | -1): boolean {
  for (let column = 0; column < a.length - 1; column++) if (a[column] !== sign * (b[column] ?? 0)) return false
  return true
}
