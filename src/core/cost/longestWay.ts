/**
 * The makespan of a grid of blocks on some workers, in iterations, by list scheduling: each worker claims the first ready block in plan
 * order. (In a run, ready queues and timing play a part too: `exec/loops/claims/claim.ts`.)
 *
 *     free       blocks wait for nobody
 *     lines      plan order diagonal by diagonal; a block waits for those before it in its row and its column
 *     forward    plan order row by row; a block waits for the one to its left and the one above
 */
import type { CutOrder } from '../loop/schedules.ts'

export interface Grid {
  readonly order: CutOrder
  readonly rows: number
  /** The number of columns; 1 for free blocks. */
  readonly columns: number
  /** The iterations of each block, row by row. */
  readonly sizes: Float64Array
}

/** A block that a worker has claimed, and the time at which it will be done. */
interface Claimed {
  readonly cell: number
  readonly end: number
}

export function longestWay(grid: Grid, workers: number): number {
  const { sizes } = grid
  const plan = planOf(grid)
  const { waitsFor, nextInRow, nextInColumn } = waitsOf(grid, plan)
  const placeOf = new Int32Array(sizes.length)
  for (const [place, cell] of plan.entries()) placeOf[cell] = place
  const ready = plan.filter((cell) => waitsFor[cell] === 0)
  let claimed: Claimed[] = []
  let now = 0
  const release = (cell: number): void => {
    if (cell < 0 || --waitsFor[cell]! > 0) return
    const later = ready.findIndex((other) => placeOf[other]! > placeOf[cell]!)
    ready.splice(later < 0 ? ready.length : later, 0, cell)
  }
  for (;;) {
    while (claimed.length < workers && ready.length > 0) {
      const cell = ready.shift() as number // there is one
      claimed.push({ cell, end: now + sizes[cell]! })
    }
    if (claimed.length === 0) return now
    now = Math.min(...claimed.map(({ end }) => end))
    const done = claimed.filter(({ end }) => end === now)
    claimed = claimed.filter(({ end }) => end > now)
    for (const { cell } of done) {
      release(nextInRow[cell]!)
      release(nextInColumn[cell]!)
    }
  }
}

/** The cells in the order in which the plan runs them. */
function planOf({ order, rows, columns }: Grid): number[] {
  if (order !== 'lines') return Array.from({ length: rows * columns }, (_, cell) => cell)
  return Array.from({ length: rows * columns }, (_, place) => {
    const [step, row] = [Math.floor(place / rows), place % rows]
    return row * columns + ((row + step) % columns)
  })
}

/** For each cell the number of cells that it waits for, and the cells in its row and its column that wait for it, -1 for none. */
function waitsOf({ order, rows, columns }: Grid, plan: readonly number[]) {
  const [waitsFor, nextInRow, nextInColumn] = [0, -1, -1].map((value) => new Int32Array(plan.length).fill(value)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ]
  if (order === 'free') return { waitsFor, nextInRow, nextInColumn }
  const lastInRow = new Int32Array(rows).fill(-1)
  const lastInColumn = new Int32Array(columns).fill(-1)
  for (const cell of plan) {
    const [row, column] = [Math.floor(cell / columns), cell % columns]
    const [left, above] = [lastInRow[row]!, lastInColumn[column]!]
    if (left >= 0) nextInRow[left] = cell
    if (above >= 0) nextInColumn[above] = cell
    waitsFor[cell] = (left >= 0 ? 1 : 0) + (above >= 0 ? 1 : 0)
    lastInRow[row] = cell
    lastInColumn[column] = cell
  }
  return { waitsFor, nextInRow, nextInColumn }
}
