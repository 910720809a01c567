/**
 * The blocks that a compiled body runs in: those of its schedule, of what the inspector found, or one for all iterations
 * where order leaves no choice or is not worth its barriers.
 */
import { nominalNs, weightIn } from '../../core/cost/nominal.ts'
import type { FunctionIr } from '../../core/functionIr.ts'
import type { Schedule } from '../../core/loopSpec.ts'
import { type BlockSchedule, extentsOf, type IterationSpace } from './blockSchedule.ts'
import { cutColored } from './coloredBlocks.ts'
import { cutBlocks } from './cutBlocks.ts'
import { whyCallerOnly } from './kernelPlan.ts'
import { laneChoice } from './laneChoice.ts'
import type { LoopInputs } from './loopInputs.ts'
import { extentOf } from './structure.ts'

/** A colored schedule that would take more than this share of the serial time, in the model, is not worth it. */
const MOST_SHARE = 0.8
/** Shorter passes run on the caller's thread anyway. */
const LEAST_TO_JUDGE_NS = 1e6
const NS_TO_PLACE_A_VALUE = 150

/** A compiled body over an iteration space. */
export interface CompiledLoop {
  readonly inputs: LoopInputs
  readonly ir: FunctionIr
  readonly space: IterationSpace
}

export interface KernelBlocks {
  readonly blocks: BlockSchedule
  /** Why the inspector's finding is not used. */
  readonly notWorth?: string
}

export function cutKernel(loop: CompiledLoop): KernelBlocks {
  const { inputs, ir, space } = loop
  const { analyzed } = inputs
  const { options } = analyzed.spec
  const order = options.order ?? 'serial'
  const lanes = laneChoice(inputs, ir, space)
  // With maxDelay every iteration sees the flushes before it in the serial order, and on the caller's thread nothing is
  // gained by another order than that of keys.
  const isSerial = Number.isFinite(flushEveryOf(inputs)) || whyCallerOnly(inputs, ir) !== undefined
  if (analyzed.schedule.kind === 'colored')
    return isSerial ? { blocks: cutBlocks({ kind: 'serial' }, space, { order }) } : cutFound(loop, lanes)
  const schedule = isSerial ? ({ kind: 'serial' } as const) : analyzed.schedule
  // The bits of added floats follow from where lanes are cut: then `partitions` has no say, but over two axes.
  const isFree = lanes === undefined || lanes.exact || cutsTwice(schedule.kind === 'stepped' ? schedule.inner : schedule)
  const { partitions, balance } = isFree ? options : { ...options, partitions: undefined }
  return { blocks: cutBlocks(schedule, space, { order, partitions, balance, mostLanes: lanes?.most, weight: weightOf(inputs, ir) }) }
}

/** As the inspector found; in one block where that is not worth it. */
function cutFound(loop: CompiledLoop, lanes: ReturnType<typeof laneChoice>): KernelBlocks {
  const { finding, analyzed } = loop.inputs
  const { order = 'serial', partitions } = analyzed.spec.options
  const serial = () => cutBlocks({ kind: 'serial' }, loop.space, { order })
  if (finding === undefined || finding.kind === 'nothing') {
    return finding === undefined ? { blocks: serial() } : { blocks: serial(), notWorth: finding.text }
  }
  if (lanes !== undefined && lanes.most < 2) return { blocks: serial() }
  const isFree = lanes === undefined || lanes.exact
  const { blocks, share } = cutColored(finding, {
    order,
    partitions: isFree ? partitions : undefined,
    mostLanes: lanes?.most,
    iterationNs: coloredIterationNs(loop),
  })
  const totalNs = blocks.iterations * coloredIterationNs(loop)
  if (partitions === undefined && share > MOST_SHARE && totalNs > LEAST_TO_JUDGE_NS) {
    return { blocks: serial(), notWorth: `${finding.text}: too little at a time to be worth the barriers between.` }
  }
  return { blocks }
}

/** In key order each value of a sum is put in its place on its own, where neighbours run in different blocks. */
function coloredIterationNs({ inputs, ir }: CompiledLoop): number {
  const sums = [...inputs.accumulators.values()].some((input) => input === 'sum' || typeof input !== 'string')
  const placing = sums && inputs.analyzed.spec.options.order !== 'any' ? NS_TO_PLACE_A_VALUE : 0
  return nominalIterationNs(inputs, ir) + placing
}

/** Nominal nanoseconds of one iteration over the arrays that the loop has now. */
function nominalIterationNs(inputs: LoopInputs, ir: FunctionIr): number {
  return nominalNs(ir, (name, axis) => extentOf(inputs, name, axis))
}

/** How many light iterations one counts as, where blocks are cut. */
export function weightOf(inputs: LoopInputs, ir: FunctionIr): number {
  return weightIn(inputs.analyzed.schedule, nominalIterationNs(inputs, ir))
}

/** Iterations between places where buffers with maxDelay may flush: a divisor of all delays; Infinity without. */
export function flushEveryOf({ buffers }: LoopInputs): number {
  const delays = [...buffers.values()].flatMap(({ maxDelay }) => (maxDelay === undefined ? [] : maxDelay))
  return delays.length === 0 ? Number.POSITIVE_INFINITY : delays.reduce(greatestDivisor)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** The most blocks that could run at once: those of one diagonal, or all when they do not wait for each other. */
export function widthOf(blocks: BlockSchedule): number {
  if (blocks.width !== undefined) return blocks.width
  if (blocks.successors.length === 0) return blocks.steps?.blocks ?? blocks.count
  return Math.min(...blocks.cuts.map((cut) => cut.length - 1))
}

/** How often the outer axes of a stepped schedule go on; 1 of any other. */
export function stepsOf({ inputs, space }: CompiledLoop): number {
  const { schedule } = inputs.analyzed
  const outer = schedule.kind === 'stepped' ? extentsOf(space).slice(0, schedule.outer) : []
  return Math.max(
    1,
    outer.reduce((steps, extent) => steps * extent, 1),
  )
}

/** Whether blocks are cells of a grid, so that `partitions` tells where lanes are cut. */
function cutsTwice({ kind }: Schedule): boolean {
  return kind === '2d' || kind === 'wavefront' || kind === 'skewed'
}
