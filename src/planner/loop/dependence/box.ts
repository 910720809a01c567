/**
 * Bounds of each parameter, from inequalities that are looked at one at a time (interval propagation).
 *
 *     t >= 0   u >= 1   5 - 2t - 3u >= 0     5 - 2t >= 3u >= 3, so t <= 1; 3u <= 5 - 2t <= 5, so u = 1
 *
 * Far cheaper than elimination, and often all there is to know: tests such as `i < j` in a small space, or quotients that
 * leave one value, end here. Bounds are whole numbers, so rounding them inward loses no solution.
 */
import { constantOf, floorDivided, LARGEST, type Row } from './rows.ts'

/** The bounds of every parameter, infinite where nothing is known. */
export interface Box {
  readonly least: number[]
  readonly greatest: number[]
}

/** Most rounds of propagation: bounds follow from one another, but more rounds are hardly ever worth it. */
const MOST_ROUNDS = 6

/** Returns the bounds of `count` parameters that rows >= 0 leave; undefined where they leave nothing: surely no solution. */
export function boxOf(rows: readonly Row[], count: number): Box | undefined {
  const box: Box = { least: new Array<number>(count).fill(-Infinity), greatest: new Array<number>(count).fill(Infinity) }
  // Rows over one parameter are used once: what they say does not change with other bounds.
  const together: Row[] = []
  for (const row of rows) {
    if (soleColumn(row) === undefined) together.push(row)
    else if (narrow(box, row) === 'empty') return undefined
  }
  let changed = true
  for (let round = 0; round < MOST_ROUNDS && changed; round++) {
    changed = false
    for (const row of together) {
      const outcome = narrow(box, row)
      if (outcome === 'empty') return undefined
      if (outcome === 'changed') changed = true
    }
  }
  return box
}

/** Drops the rows that follow from the rows over one parameter each. */
export function withoutImplied(rows: Row[]): Row[] {
  const singles = rows.filter((row) => soleColumn(row) !== undefined)
  const box = boxOf(singles, (rows[0]?.length ?? 1) - 1)
  if (box === undefined) return rows
  const needed = rows.filter((row) => soleColumn(row) !== undefined || leastIn(row, box) < 0)
  return needed.length === rows.length ? rows : needed
}

/** Returns the one parameter whose coefficient is not 0; undefined where there are several, or none. */
export function soleColumn(row: Row): number | undefined {
  let sole: number | undefined
  for (let column = 0; column < row.length - 1; column++) {
    if (row[column] === 0) continue
    if (sole !== undefined) return undefined
    sole = column
  }
  return sole
}

/** Returns a lower bound of a row's values in a box; minus infinity where that is unknown. */
export function leastIn(row: Row, box: Box): number {
  let least = constantOf(row)
  for (let column = 0; column < row.length - 1; column++) {
    const factor = row[column] ?? 0
    if (factor === 0) continue
    least += factor * ((factor > 0 ? box.least[column] : box.greatest[column]) ?? 0)
    if (!(Math.abs(least) <= LARGEST)) return Number.NEGATIVE_INFINITY
  }
  return least
}

/** Narrows a box to where a row can be at least 0: no term may be below minus the greatest sum of the others. */
function narrow({ least, greatest }: Box, row: Row): 'changed' | 'same' | 'empty' {
  const last = row.length - 1
  let most = row[last] ?? 0
  let open: number | undefined
  for (let column = 0; column < last; column++) {
    const factor = row[column] ?? 0
    if (factor === 0) continue
    const end = factor * ((factor > 0 ? greatest[column] : least[column]) ?? 0)
    if (Math.abs(end) === Infinity) {
      if (open !== undefined) return 'same'
      open = column
    } else {
      most += end
      // Sums beyond the exact integers of a double conclude nothing.
      if (Math.abs(end) > LARGEST || Math.abs(most) > LARGEST) return 'same'
    }
  }
  let outcome: 'changed' | 'same' = 'same'
  for (let column = open ?? 0; column <= (open ?? last - 1); column++) {
    const factor = row[column] ?? 0
    if (factor === 0) continue
    if (factor > 0) {
      const others = open === undefined ? most - factor * (greatest[column] ?? 0) : most
      const end = -floorDivided(others, factor) + 0
      if (end <= (least[column] ?? end)) continue
      least[column] = end
    } else {
      const others = open === undefined ? most - factor * (least[column] ?? 0) : most
      const end = floorDivided(others, -factor)
      if (end >= (greatest[column] ?? end)) continue
      greatest[column] = end
    }
    if ((least[column] ?? 0) > (greatest[column] ?? 0)) return 'empty'
    outcome = 'changed'
  }
  return outcome
}
