/**
 * The blocks of any schedule but a colored one; of one that runs in steps, those of one step, again and again for each key of its outer axes:
 *
 *     k = 0    0  1  2      A step starts when all blocks of the one before are done: 3, 4 and 5 wait for 0, 1 and 2.
 *     k = 1    3  4  5      Inside a step blocks wait for one another as the inner schedule has it.
 *     k = 2    6  7  8
 *
 * In a box the blocks of step k are those of step 0, moved along the outer axes, so nothing is kept for each step. Sparse
 * elements differ from step to step: their blocks are listed.
 */

import { blockCounts, bySubscript, MOST_LISTED_BLOCKS } from '../../../core/loop/partitioning.ts'
import type { Schedule } from '../../../core/loop/schedules.ts'
import { checkCovered, cutUnstepped, runs } from './blockSchedule.ts'
import {
  type BlockSchedule,
  byBlock,
  type CutOptions,
  extentsOf,
  type IterationSpace,
  iterationsOf,
  type StaticSchedule,
} from './schedule.ts'

type Stepped = Extract<Schedule, { readonly kind: 'stepped' }>
type Sparse = Extract<IterationSpace, { readonly kind: 'sparse' }>

export function cutBlocks(schedule: StaticSchedule, space: IterationSpace, options: CutOptions): BlockSchedule {
  const blocks = schedule.kind === 'stepped' ? cutStepped(schedule, space, options) : cutUnstepped(schedule, space, options)
  checkCovered(blocks)
  return blocks
}

/** Blocks along each axis that is cut, those that run in order first. */
export function blocksAlong({ steps, cuts }: BlockSchedule): number[] {
  return [...(steps?.extents ?? []), ...cuts.map((cut) => cut.length - 1)]
}

/** Most blocks of a schedule: those who claim them count in 32 bits. */
const MOST_BLOCKS = 2 ** 30

/** Cuts each step; leaves one block for all steps where a step is too small to be cut, or blocks would be too many. */
function cutStepped(schedule: Stepped, space: IterationSpace, options: CutOptions): BlockSchedule {
  const { outer } = schedule
  const [extents, iterations] = [extentsOf(space), iterationsOf(space)]
  const outerExtents = extents.slice(0, outer)
  const steps = productOf(outerExtents)
  const counts = blockCounts(schedule, extents, options.partitions, iterations, options.weight).slice(outer)
  if (options.mostLanes !== undefined && counts[0] !== undefined) counts[0] = Math.min(counts[0], options.mostLanes)
  const blocks = steps * productOf(counts)
  if (productOf(counts) === 1 || iterations === 0 || blocks > (space.kind === 'sparse' ? MOST_LISTED_BLOCKS : MOST_BLOCKS)) {
    const bounds = [0, iterations]
    return { ...runs(schedule.kind, iterations, bounds), cuts: Array.from({ length: outer + counts.length }, () => bounds) }
  }
  const inStep = { ...options, partitions: counts }
  const cut =
    space.kind === 'sparse'
      ? cutUnstepped(bySubscript(schedule.inner, outer, extents), space, inStep)
      : cutUnstepped(schedule.inner, { kind: 'box', extents: extents.map((extent, axis) => (axis < outer ? 1 : extent)) }, inStep)
  const stepped = {
    ...cut,
    kind: schedule.kind,
    iterations,
    count: steps * cut.count,
    steps: { extents: outerExtents, blocks: cut.count },
  }
  return space.kind === 'sparse' ? { ...stepped, ...splitBySteps(cut, stepsOf(space, outer), steps) } : stepped
}

/** The step of each position. */
function stepsOf({ keys, extents, length }: Sparse, outer: number): Int32Array {
  const outerExtents = extents.slice(0, outer)
  return Int32Array.from({ length }, (_, position) =>
    outerExtents.reduce((step, extent, axis) => step * extent + (keys[axis]?.[position] ?? 0), 0),
  )
}

/** The blocks of the whole space, each split into those of the steps. */
function splitBySteps(cut: BlockSchedule, stepOf: Int32Array, steps: number): Pick<BlockSchedule, 'order' | 'from' | 'to' | 'base'> {
  const blockOf = new Int32Array(cut.iterations)
  for (let block = 0; block < cut.count; block++) {
    for (let place = cut.from[block] as number; place < (cut.to[block] as number); place++) {
      const position = cut.order?.[place] ?? place
      blockOf[position] = (stepOf[position] as number) * cut.count + block
    }
  }
  return byBlock(blockOf, steps * cut.count)
}

function productOf(numbers: readonly number[]): number {
  return numbers.reduce((product, number) => product * number, 1)
}
