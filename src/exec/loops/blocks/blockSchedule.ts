/**
 * The blocks of a loop, in plan order, and which must be done before which. Cut from the plan and the data alone.
 *
 *     2d, plan order by diagonals     wavefront
 *          t0  t1  t2                      t0  t1  t2
 *     s0    0   3   6                 s0    0   1   2       block (s, t) waits for (s - 1, t) and (s, t - 1)
 *     s1    7   1   4                 s1    3   4   5
 *     s2    5   8   2                 s2    6   7   8
 *
 * A skewed schedule is a wavefront over bands of two hyperplanes (forms, as i + t) instead of two axes; `pieces.ts` has its blocks.
 *
 * In a 2d schedule a block waits for the previous one of its row and of its column in plan order: no two of a row or
 * column ever run together, and their order is fixed. Inside a block iterations run in key order.
 *
 * The *rank* of an iteration is its place in the serial order the run is equivalent to: key order for `order:
 * 'serial'`, plan order for 'any'. Schedules that run in steps are cut by `cutBlocks.ts`.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { Bug } from '../../../core/errors.ts'
import { blockCounts, cutAtMultiples, cutByHistogram, cutEqual } from '../../../core/loop/partitioning.ts'
import type { Schedule } from '../../../core/loop/schedules.ts'
import { CUT_ORDERS, cutAxesOf, cutFormsOf } from '../../../core/loop/schedules.ts'
import { diagonals, grid, previousInRowAndColumn, rowByRow, skewed } from './gridBlocks.ts'
import {
  type BlockSchedule,
  type CutOptions,
  extentsOf,
  type IterationSpace,
  iterationsOf,
  lowerBound,
  releases,
  type StaticSchedule,
} from './schedule.ts'

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
  if (schedule.kind === 'serial') return runs(schedule.kind, iterations, [0, iterations])
  if (schedule.kind === 'independent') return runs(schedule.kind, iterations, cutAtMultiples(iterations, counts[0] ?? 1, CHUNK))
  const cutOrder = CUT_ORDERS[schedule.kind]
  const axes = cutAxesOf(schedule)
  if (axes === undefined) {
    const forms = cutFormsOf(schedule, extentsOf(space).length)
    return skewed(schedule.kind, space, forms, counts, { ...options, keyOrder, ordered: cutOrder !== 'free' })
  }
  const cuts = axes.map((axis, i) => boundsAlong(space, axis, counts[i] ?? 1, options.balance))
  const [first = []] = cuts
  if (cuts.length === 1 && axes[0] === 0) return runs(schedule.kind, iterations, runBounds(space, first), first)
  const [rows = 1, columns = 1] = cuts.map((cut) => cut.length - 1)
  const cells = cutOrder === 'lines' ? diagonals(rows, columns) : rowByRow(rows, columns)
  const waitsFor = (block: number) => (cutOrder === 'free' ? [] : previousInRowAndColumn(cells, block))
  return grid(schedule.kind, space, axes, cuts, cells, keyOrder, waitsFor)
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
 * The blocks of lanes `from` up to `to`, in plan order, and their numbers in the whole. Ranks and rounds stay those of the whole,
 * so a round may have no block. Of the blocks that they wait for, those of other lanes are left out.
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

/** Throws unless blocks have as many iterations as the loop: nothing else would notice iterations that are left out. */
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
