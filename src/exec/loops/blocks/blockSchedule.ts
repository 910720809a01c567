/**
 * The blocks of a loop, in plan order, and which must be done before which. Cut from the plan and the data alone.
 *
 *     2d, plan order by diagonals     wavefront
 *          t0  t1  t2                      t0  t1  t2
 *     s0    0   3   6                 s0    0   1   2       block (s, t) waits for (s - 1, t) and (s, t - 1)
 *     s1    7   1   4                 s1    3   4   5
 *     s2    5   8   2                 s2    6   7   8
 *
 * A skewed schedule is a wavefront over bands of two forms instead of two axes, as i + t; see `pieces.ts` for its blocks.
 *
 * In a 2d schedule a block waits for the previous one of its row and of its column in plan order: no two of a row or
 * column ever run together, and their order is fixed. Inside a block iterations run in key order.
 *
 * The *rank* of an iteration is its place in the serial order the run is equivalent to: key order for `order:
 * 'serial'`, plan order for 'any'. Schedules that run in steps are cut by `cutBlocks.ts`.
 */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { Bug } from '../../../core/errors.ts'
import type { Form, Schedule } from '../../../core/loop/loopSpec.ts'
import { blockCounts, cutAtMultiples, cutByHistogram, cutEqual, rangeAlong } from '../../../core/loop/partitioning.ts'
import { piecesOf } from './pieces.ts'

/** What is iterated over: all keys of a box, or the sorted keys of sparse data, or rows 0 … length - 1. */
export type IterationSpace =
  | { readonly kind: 'box'; readonly extents: readonly number[] }
  | { readonly kind: 'sparse'; readonly extents: readonly number[]; readonly keys: readonly Int32Array[]; readonly length: number }
  | { readonly kind: 'rows'; readonly length: number }

export interface BlockSchedule {
  readonly kind: Schedule['kind']
  readonly iterations: number
  /** How many blocks can run at the same time at most; absent where `cuts` say it. */
  readonly width?: number
  /** Blocks in plan order, of all steps. */
  readonly count: number
  /** Absent where nothing runs in steps. Otherwise `lanes`, `waitsFor`, `successors` and, in a box, bounds are those of the blocks of one step. */
  readonly steps?: Steps
  /** Bounds along each cut axis. */
  readonly cuts: readonly (readonly number[])[]
  /**
   * For a box: lower and upper bounds of each block, 2 x rank numbers each; absent where every block is a run of the
   * whole space's keys.
   */
  readonly boxes?: Float64Array
  /** What is cut, where that is no axis; `cuts` are then values of the forms. */
  readonly forms?: readonly Form[]
  /** The block's iterations: places inside its box, or places in `order`. */
  readonly from: Float64Array
  readonly to: Float64Array
  /** Positions of sparse elements in plan order; absent when they are in key order. */
  readonly order?: Int32Array
  /** Plan rank of each block's first iteration. */
  readonly base: Float64Array
  /** Whether ranks are key order (otherwise plan order). */
  readonly keyOrder: boolean
  /** How many blocks each must wait for, and whom it releases (compressed rows). */
  readonly waitsFor: Int32Array
  readonly successorStart: Int32Array
  readonly successors: Int32Array
  /**
   * Adds to arrays that are only added to go to private copies, one a lane. Blocks of one lane run one after another in plan order.
   */
  readonly lanes: Int32Array
  readonly laneCount: number
  /** The first block of each round, and how many blocks there are; absent where a pass is one round. Blocks of a round have the lanes of the others. */
  readonly rounds?: readonly number[]
}

/** Steps run one after another: all blocks of one before any of the next. */
export interface Steps {
  /** Of the outer axes: a step for each of their keys. */
  readonly extents: readonly number[]
  /** Blocks of one step. */
  readonly blocks: number
}

export interface CutOptions {
  readonly order: 'serial' | 'any'
  readonly partitions?: number | readonly number[] | undefined
  readonly balance?: 'histogram' | 'equal' | undefined
  /** Most lanes when private copies are needed; 1 forces a single block along the first cut. */
  readonly mostLanes?: number | undefined
  /** How many light iterations one is worth: dear iterations are cut into more blocks. Default: 1. */
  readonly weight?: number
}

/** A schedule that needs no inspector. */
export type StaticSchedule = Exclude<Schedule, { kind: 'colored' }>

/** The blocks of a schedule without steps. */
export function cutUnstepped(
  schedule: Exclude<StaticSchedule, { readonly kind: 'stepped' }>,
  space: IterationSpace,
  options: CutOptions,
): BlockSchedule {
  const iterations = iterationsOf(space)
  const partitions = options.partitions
  const counts = blockCounts(schedule, extentsOf(space), partitions, iterations, options.weight)
  if (options.mostLanes !== undefined && counts[0] !== undefined) counts[0] = Math.min(counts[0], options.mostLanes)
  const keyOrder = options.order === 'serial'
  switch (schedule.kind) {
    case 'serial':
      return runs(schedule.kind, iterations, [0, iterations])
    case 'independent':
      return runs(schedule.kind, iterations, cutAtMultiples(iterations, counts[0] ?? 1, CHUNK))
    case '1d': {
      if ('form' in schedule) return skewed(schedule.kind, space, [schedule.form], counts, { ...options, keyOrder, ordered: false })
      const bounds = boundsAlong(space, schedule.axis, counts[0] ?? 1, options.balance)
      if (schedule.axis === 0) return runs(schedule.kind, iterations, runBounds(space, bounds), bounds)
      const cells = bounds.slice(1).map((_, part): Cell => [part])
      return grid(schedule.kind, space, [schedule.axis], [bounds], cells, keyOrder, () => [])
    }
    case '2d':
    case 'wavefront': {
      const cuts = schedule.axes.map((axis, i) => boundsAlong(space, axis, counts[i] ?? 1, options.balance))
      const [rows, columns] = [(cuts[0]?.length ?? 1) - 1, (cuts[1]?.length ?? 1) - 1]
      const cells = schedule.kind === '2d' ? diagonals(rows, columns) : rowByRow(rows, columns)
      return grid(schedule.kind, space, schedule.axes, cuts, cells, keyOrder, (block) => previousInRowAndColumn(cells, block))
    }
    case 'skewed':
      return skewed(schedule.kind, space, schedule.forms, counts, { ...options, keyOrder, ordered: true })
  }
}

type Cell = readonly number[]

export function iterationsOf(space: IterationSpace): number {
  switch (space.kind) {
    case 'box':
      return space.extents.reduce((size, extent) => size * extent, 1)
    case 'sparse':
    case 'rows':
      return space.length
  }
}

export function extentsOf(space: IterationSpace): readonly number[] {
  return space.kind === 'rows' ? [space.length] : space.extents
}

function boundsAlong(space: IterationSpace, axis: number, parts: number, balance: 'histogram' | 'equal' | undefined): number[] {
  const extent = extentsOf(space)[axis] ?? 0
  const keys = space.kind === 'sparse' ? space.keys[axis] : undefined
  if (keys === undefined || balance === 'equal') return cutEqual(extent, parts)
  const counts = new Uint32Array(extent)
  for (let i = 0; i < keys.length; i++) counts[keys[i] as number]!++
  return cutByHistogram(counts, parts)
}

/** Cuts along axis 0 as cuts of the sorted positions. */
function runBounds(space: IterationSpace, bounds: readonly number[]): number[] {
  switch (space.kind) {
    case 'rows':
      return [...bounds]
    case 'box': {
      const inner = space.extents.slice(1).reduce((size, extent) => size * extent, 1)
      return bounds.map((bound) => bound * inner)
    }
    case 'sparse':
      return bounds.map((bound) => lowerBound(space.keys[0] ?? new Int32Array(0), bound))
  }
}

/** The first place in sorted `keys` that is at least `key`. */
export function lowerBound(keys: Int32Array, key: number, from = 0, to: number = keys.length): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as number) < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Blocks that are runs of the whole space in key order, with no order among them. */
export function runs(
  kind: Schedule['kind'],
  iterations: number,
  bounds: readonly number[],
  cut: readonly number[] = bounds,
): BlockSchedule {
  const count = bounds.length - 1
  return {
    kind,
    iterations,
    count,
    cuts: kind === 'serial' ? [] : [cut],
    from: Float64Array.from(bounds.slice(0, count)),
    to: Float64Array.from(bounds.slice(1)),
    base: Float64Array.from(bounds.slice(0, count)),
    keyOrder: true,
    ...releases(count, () => []),
    lanes: Int32Array.from({ length: count }, (_, block) => block),
    laneCount: count,
  }
}

/**
 * The blocks of lanes `from` up to `to`, in plan order, and which they are of the whole; ranks and rounds stay those of the whole, be
 * it that a round has no block. Of whom they wait for, those that are not among them are left out.
 */
export function blocksOfLanes(
  whole: BlockSchedule,
  from: number,
  to: number,
): { readonly blocks: BlockSchedule; readonly numbers: Int32Array } {
  if (whole.steps !== undefined) throw new Bug(`Blocks of a ${whole.kind} schedule were to run by themselves.`)
  const { boxes, lanes, cuts, successorStart, successors, rounds } = whole
  const numbers = Int32Array.from({ length: whole.count }, (_, block) => block).filter(
    (block) => (lanes[block] as number) >= from && (lanes[block] as number) < to,
  )
  const placeOf = new Map(Array.from(numbers, (number, place) => [number, place]))
  const predecessors: number[][] = Array.from(numbers, () => [])
  for (const [place, block] of numbers.entries()) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = placeOf.get(successors[i] as number)
      if (next !== undefined) predecessors[next]?.push(place)
    }
  }
  const perBlock = boxes === undefined ? 0 : boxes.length / whole.count
  const picked = (values: Float64Array): Float64Array => Float64Array.from(numbers, (block) => values[block] as number)
  const blocks = {
    ...whole,
    count: numbers.length,
    ...(successors.length === 0 ? { width: rounds === undefined ? numbers.length : to - from } : {}),
    ...(rounds === undefined ? {} : { rounds: rounds.map((first) => numbers.filter((block) => block < first).length) }),
    cuts: cuts.map((cut, i) => (i === 0 ? cut.slice(from, to + 1) : cut)), // a lane lies between two bounds of the first
    ...(boxes === undefined
      ? {}
      : {
          boxes: Float64Array.from(
            { length: perBlock * numbers.length },
            (_, i) => boxes[(numbers[Math.floor(i / perBlock)] as number) * perBlock + (i % perBlock)] as number,
          ),
        }),
    from: picked(whole.from),
    to: picked(whole.to),
    base: picked(whole.base),
    ...releases(numbers.length, (place) => predecessors[place] ?? []),
    lanes: Int32Array.from(numbers, (block) => lanes[block] as number),
  }
  return { blocks, numbers }
}

function diagonals(rows: number, columns: number): Cell[] {
  const cells: Cell[] = []
  for (let step = 0; step < columns; step++) for (let s = 0; s < rows; s++) cells.push([s, (s + step) % columns])
  return cells
}

function rowByRow(rows: number, columns: number): Cell[] {
  const cells: Cell[] = []
  for (let s = 0; s < rows; s++) for (let t = 0; t < columns; t++) cells.push([s, t])
  return cells
}

/** Sound for wavefronts too: row by row, the previous blocks of row and column are (s, t - 1) and (s - 1, t). */
function previousInRowAndColumn(cells: readonly Cell[], block: number): number[] {
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

export function releases(
  count: number,
  predecessorsOf: (block: number) => readonly number[],
): Pick<BlockSchedule, 'waitsFor' | 'successorStart' | 'successors'> {
  const waitsFor = new Int32Array(count)
  const lists: number[][] = Array.from({ length: count }, () => [])
  for (let block = 0; block < count; block++) {
    const predecessors = predecessorsOf(block)
    waitsFor[block] = predecessors.length
    for (const predecessor of predecessors) lists[predecessor]?.push(block)
  }
  const successorStart = new Int32Array(count + 1)
  for (let block = 0; block < count; block++) successorStart[block + 1] = (successorStart[block] ?? 0) + (lists[block]?.length ?? 0)
  return { waitsFor, successorStart, successors: Int32Array.from(lists.flat()) }
}

/** Blocks that are cells of a grid over one or two axes. */
function grid(
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

/** Blocks that are cells of a grid over bands of one or two forms; `ordered` as a wavefront. */
function skewed(
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

/** The value of a form at each position. */
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

/**
 * Buckets the positions by cell, given what each position has along each cut; each bucket is in key order.
 */
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

/** What each position has along a cut, and what a part of it adds to the number of a cell. */
interface Cut {
  readonly along: Int32Array
  readonly low: number
  readonly partOf: Int32Array
}

/** Loops of their own for one cut and two: there are millions of positions. All values lie between the bounds of their cut. */
function fillBlocks(rows: Cut, inRow: Cut | undefined, blockOfCell: Int32Array, blockOf: Int32Array): void {
  const { along: a, low: lowA, partOf: partA } = rows
  if (inRow === undefined) {
    for (let i = 0; i < a.length; i++) blockOf[i] = blockOfCell[partA[a[i]! - lowA]!]!
    return
  }
  const { along: b, low: lowB, partOf: partB } = inRow
  for (let i = 0; i < a.length; i++) blockOf[i] = blockOfCell[partA[a[i]! - lowA]! + partB[b[i]! - lowB]!]!
}

/** The positions block after block, those of a block in key order, given the block of each. */
export function byBlock(blockOf: Int32Array, count: number): Required<Pick<BlockSchedule, 'order' | 'from' | 'to' | 'base'>> {
  const next = new Int32Array(count + 1)
  for (let position = 0; position < blockOf.length; position++) next[blockOf[position]! + 1]!++
  for (let block = 1; block < count; block++) next[block]! += next[block - 1]!
  const base = Float64Array.from(next.subarray(0, count))
  const order = new Int32Array(blockOf.length)
  for (let position = 0; position < blockOf.length; position++) order[next[blockOf[position]!]!++] = position
  return { order, from: base, to: Float64Array.from(next.subarray(0, count)), base }
}

/** Every iteration lies in a block, whatever the cut was made of: an iteration that is left out would not be missed by anyone else. */
export function checkCovered({ kind, iterations, from, to, steps, order }: BlockSchedule): void {
  let covered = 0
  let isForward = true
  for (let block = 0; block < from.length; block++) {
    const size = to[block]! - from[block]!
    isForward &&= size >= 0
    covered += size
  }
  // in a box the blocks of one step stand for those of all
  const times = steps === undefined || order !== undefined ? 1 : steps.extents.reduce((product, extent) => product * extent, 1)
  if (isForward && covered * times === iterations) return
  throw new Bug(`The blocks of a ${kind} loop of ${iterations} iterations have ${covered * times} of them.`)
}

/** The part of each value from the first bound on, times `stride`. */
function partTable(bounds: readonly number[], stride: number): Int32Array {
  const low = bounds[0] ?? 0
  const table = new Int32Array((bounds[bounds.length - 1] ?? low) - low)
  for (let part = 0; part + 1 < bounds.length; part++) table.fill(part * stride, (bounds[part] ?? 0) - low, (bounds[part + 1] ?? 0) - low)
  return table
}
