/** Blocks as cells of a grid over axes, or over bands of hyperplanes (forms): their iterations, and which cells wait for which. */
import { cutByHistogram, cutEqual, rangeAlong } from '../../../core/loop/partitioning.ts'
import type { Form, Schedule } from '../../../core/loop/schedules.ts'
import { piecesOf } from './pieces.ts'
import { type BlockSchedule, byBlock, type CutOptions, extentsOf, type IterationSpace, iterationsOf, releases } from './schedule.ts'

export type Cell = readonly number[]

export function diagonals(rows: number, columns: number): Cell[] {
  const cells: Cell[] = []
  for (let step = 0; step < columns; step++) for (let s = 0; s < rows; s++) cells.push([s, (s + step) % columns])
  return cells
}

export function rowByRow(rows: number, columns: number): Cell[] {
  const cells: Cell[] = []
  for (let s = 0; s < rows; s++) for (let t = 0; t < columns; t++) cells.push([s, t])
  return cells
}

/** The latest blocks of the row and of the column before a block in plan order; of a wavefront these are (s, t - 1) and (s - 1, t). */
export function previousInRowAndColumn(cells: readonly Cell[], block: number): number[] {
  const [s, t] = cells[block] ?? []
  const found: number[] = []
  for (let before = block - 1, row = false, column = false; before >= 0 && !(row && column); before--) {
    const cell = cells[before]
    const sameRow: boolean = !row && cell?.[0] === s
    const sameColumn: boolean = !column && cell?.[1] === t
    row ||= sameRow
    column ||= sameColumn
    if (sameRow || sameColumn) found.push(before)
  }
  return found
}

/** Blocks that are cells of a grid over one or two axes. */
export function grid(
  kind: Schedule['kind'],
  space: IterationSpace,
  axes: readonly number[],
  cuts: readonly (readonly number[])[],
  cells: readonly Cell[],
  keyOrder: boolean,
  predecessorsOf: (block: number) => readonly number[],
): BlockSchedule {
  const count = cells.length
  // Row s of the grid is a lane: its blocks run one after another. Without a second axis every block is alone.
  const lanes = Int32Array.from(cells, (cell) => cell[0] ?? 0)
  const shared = {
    kind,
    iterations: iterationsOf(space),
    count,
    cuts,
    keyOrder,
    ...releases(count, predecessorsOf),
    lanes,
    laneCount: (cuts[0]?.length ?? 1) - 1,
  }
  return space.kind === 'box'
    ? { ...shared, ...boxCells(space.extents, axes, cuts, cells) }
    : { ...shared, ...sparseCells(space, axes, cuts, cells) }
}

/** Blocks that are cells of a grid over bands of one or two hyperplanes; `ordered` as a wavefront. */
export function skewed(
  kind: Schedule['kind'],
  space: IterationSpace,
  forms: readonly Form[],
  counts: readonly number[],
  options: Pick<CutOptions, 'balance'> & { readonly keyOrder: boolean; readonly ordered: boolean },
): BlockSchedule {
  const cuts = forms.map((form, i) => boundsOfForm(space, form, counts[i] ?? 1, options.balance))
  const [rows, columns] = cuts.map((cut) => cut.length - 1)
  const cells = rowByRow(rows ?? 1, columns ?? 1)
  const shared = {
    kind,
    iterations: iterationsOf(space),
    count: cells.length,
    cuts,
    keyOrder: options.keyOrder,
    ...releases(cells.length, (block) => (options.ordered ? previousInRowAndColumn(cells, block) : [])),
    lanes: Int32Array.from(cells, (cell) => cell[0] ?? 0),
    laneCount: rows ?? 1,
  }
  if (space.kind !== 'box') {
    const values = forms.map((form) => valuesOfForm(space, form))
    return { ...shared, forms, ...bucketed(values, cuts, cells) }
  }
  const empty = { from: new Float64Array(cells.length), to: new Float64Array(cells.length), base: new Float64Array(cells.length) }
  const cut = { ...shared, forms, ...empty }
  let before = 0
  for (let block = 0; block < cut.count; block++) {
    cut.base[block] = before
    for (const piece of piecesOf(cut, space.extents, block)) cut.to[block]! += piece.to
    before += cut.to[block] as number
  }
  return cut
}

function boundsOfForm(space: IterationSpace, form: Form, parts: number, balance: 'histogram' | 'equal' | undefined): number[] {
  const [low, high] = rangeAlong(form, extentsOf(space))
  if (space.kind !== 'sparse' || balance === 'equal') return cutEqual(high - low, parts).map((bound) => bound + low)
  const counts = new Uint32Array(high - low)
  for (const value of valuesOfForm(space, form)) counts[value - low]!++
  return cutByHistogram(counts, parts).map((bound) => bound + low)
}

/** The value of the form (an affine function of the key) at each position. */
function valuesOfForm(space: IterationSpace, form: Form): Int32Array {
  const keys = space.kind === 'sparse' ? space.keys : []
  return Int32Array.from({ length: iterationsOf(space) }, (_, position) =>
    form.reduce((sum, coefficient, axis) => sum + coefficient * (keys[axis]?.[position] ?? position), 0),
  )
}

function boxCells(
  extents: readonly number[],
  axes: readonly number[],
  cuts: readonly (readonly number[])[],
  cells: readonly Cell[],
): Pick<BlockSchedule, 'boxes' | 'from' | 'to' | 'base'> {
  const rank = extents.length
  const boxes = new Float64Array(cells.length * 2 * rank)
  const from = new Float64Array(cells.length)
  const to = new Float64Array(cells.length)
  const base = new Float64Array(cells.length)
  let before = 0
  for (const [block, cell] of cells.entries()) {
    let size = 1
    for (let axis = 0; axis < rank; axis++) {
      const cut = axes.indexOf(axis)
      const low = cut < 0 ? 0 : (cuts[cut]?.[cell[cut] ?? 0] ?? 0)
      const high = cut < 0 ? (extents[axis] ?? 0) : (cuts[cut]?.[(cell[cut] ?? 0) + 1] ?? 0)
      boxes[(block * rank + axis) * 2] = low
      boxes[(block * rank + axis) * 2 + 1] = high
      size *= high - low
    }
    to[block] = size
    base[block] = before
    before += size
  }
  return { boxes, from, to, base }
}

function sparseCells(
  space: IterationSpace,
  axes: readonly number[],
  cuts: readonly (readonly number[])[],
  cells: readonly Cell[],
): Pick<BlockSchedule, 'order' | 'from' | 'to' | 'base'> {
  const positions = (): Int32Array => Int32Array.from({ length: iterationsOf(space) }, (_, position) => position)
  return bucketed(
    axes.map((axis) => (space.kind === 'sparse' ? space.keys[axis] : undefined) ?? positions()),
    cuts,
    cells,
  )
}

/** Buckets the positions by cell, given the value of each position along each cut; a bucket is in key order. */
function bucketed(
  values: readonly Int32Array[],
  cuts: readonly (readonly number[])[],
  cells: readonly Cell[],
): Pick<BlockSchedule, 'order' | 'from' | 'to' | 'base'> {
  const columns = cuts.length === 2 ? (cuts[1]?.length ?? 1) - 1 : 1
  const blockOfCell = new Int32Array(cells.length)
  for (const [block, cell] of cells.entries()) blockOfCell[(cell[0] ?? 0) * columns + (cell[1] ?? 0)] = block
  const [rows, inRow] = cuts.map(
    (bounds, i): Cut => ({ along: values[i] as Int32Array, low: bounds[0] ?? 0, partOf: partTable(bounds, i === 0 ? columns : 1) }), // one for each cut
  )
  const blockOf = new Int32Array(rows?.along.length ?? 0)
  if (rows !== undefined) fillBlocks(rows, inRow, blockOfCell, blockOf)
  return byBlock(blockOf, cells.length)
}

/** One cut: the value of each position along it, and for each value from `low` on what its part adds to the number of a cell. */
interface Cut {
  readonly along: Int32Array
  readonly low: number
  readonly partOf: Int32Array
}

/** Fills in the block of each position; one cut and two have loops of their own, for millions of positions. Values are in bounds. */
function fillBlocks(rows: Cut, inRow: Cut | undefined, blockOfCell: Int32Array, blockOf: Int32Array): void {
  const { along: a, low: lowA, partOf: partA } = rows
  if (inRow === undefined) {
    for (let i = 0; i < a.length; i++) blockOf[i] = blockOfCell[partA[a[i]! - lowA]!]!
    return
  }
  const { along: b, low: lowB, partOf: partB } = inRow
  for (let i = 0; i < a.length; i++) blockOf[i] = blockOfCell[partA[a[i]! - lowA]! + partB[b[i]! - lowB]!]!
}

/** The part of each value from the first bound on, times `stride`. */
function partTable(bounds: readonly number[], stride: number): Int32Array {
  const low = bounds[0] ?? 0
  const table = new Int32Array((bounds[bounds.length - 1] ?? low) - low)
  for (let part = 0; part + 1 < bounds.length; part++) table.fill(part * stride, (bounds[part] ?? 0) - low, (bounds[part + 1] ?? 0) - low)
  return table
}
