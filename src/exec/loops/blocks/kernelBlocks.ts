/**
 * The blocks that a compiled body runs in: those of its schedule, of what the inspector found, or one for all iterations
 * where order leaves no choice or is not worth its barriers.
 */
import { weightIn } from '../../../core/cost/nominal.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import { cutOrderOf } from '../../../core/loop/schedules.ts'
import { whyCallerOnly } from '../kernelPlan.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { laneChoice, nominalIterationNs } from '../reductions/reductionCopyCount.ts'
import { cutRounds, iterationsOfRound, roundsOf, runsInRounds } from '../reductions/rounds.ts'
import { cutColored } from './coloredBlocks.ts'
import { cutBlocks } from './cutBlocks.ts'
import { type BlockSchedule, extentsOf, type IterationSpace, iterationsOf } from './schedule.ts'

/** A colored schedule that would take more than this share of the serial time, in the model, is not worth it. */
const MOST_SHARE = 0.8
/** Least time of a pass for which the model is asked: shorter ones run on the caller's thread anyway. */
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
  /** The reason why the inspector's finding is not used; absent where it is, or where there is none. */
  readonly notWorth?: string
}

export function cutKernel(loop: CompiledLoop): KernelBlocks {
  const { inputs, ir, space } = loop
  const { analyzed, over } = inputs
  if (over.kind === 'storage' && over.placed !== undefined) return { blocks: over.placed }
  const { options } = analyzed.spec
  const order = options.order ?? 'serial'
  const lanes = laneChoice(inputs, ir, space)
  const isSerial = serialFlushes(loop) !== undefined || whyCallerOnly(inputs, ir) !== undefined
  if (analyzed.schedule.kind === 'colored')
    return isSerial ? { blocks: cutBlocks({ kind: 'serial' }, space, { order }) } : cutFound(loop, lanes)
  const schedule = isSerial ? ({ kind: 'serial' } as const) : analyzed.schedule
  const rounds = roundsOf(inputs)
  if (rounds > 1 && runsInRounds(schedule, order))
    return { blocks: cutRounds(schedule, space, { ...options, order, rounds, lanes: lanes?.most ?? 1, weight: weightOf(inputs, ir) }) }
  // The bits of added floats follow from where lanes are cut: then `partitions` has no say, but over the cells of a grid.
  const isGrid = cutOrderOf((schedule.kind === 'stepped' ? schedule.inner : schedule).kind) !== 'free'
  const isFree = lanes === undefined || lanes.exact || isGrid
  const { partitions, balance } = isFree ? options : { ...options, partitions: undefined }
  return { blocks: cutBlocks(schedule, space, { order, partitions, balance, mostLanes: lanes?.most, weight: weightOf(inputs, ir) }) }
}

/** Cuts a colored loop as the inspector found; leaves it in one block where that is not worth it. */
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

/** The time of an iteration. In key order a sum's values are put in place one by one, since neighbours run in different blocks. */
function coloredIterationNs({ inputs, ir }: CompiledLoop): number {
  const sums = [...inputs.accumulators.values()].some((input) => input === 'sum' || typeof input !== 'string')
  const placing = sums && inputs.analyzed.spec.options.order !== 'any' ? NS_TO_PLACE_A_VALUE : 0
  return nominalIterationNs(inputs, ir) + placing
}

/** How many light iterations one counts as, where blocks are cut. */
export function weightOf(inputs: LoopInputs, ir: FunctionIr): number {
  return weightIn(inputs.analyzed.schedule, nominalIterationNs(inputs, ir))
}

/** Flushes in the serial order, which iterations then run in. */
export interface SerialFlushes {
  /** Iterations between places where some buffer may flush. */
  readonly every: number
  /** The reason why iterations run in serial order, as a sentence. */
  readonly text: string
}

/**
 * The flushes that make the loop run in serial order; undefined where there are none. With maxDelay every iteration sees the
 * flushes before it in that order, and so it does with rounds of blocks that wait for one another.
 */
export function serialFlushes({ inputs, ir, space }: CompiledLoop): SerialFlushes | undefined {
  const delays = [...inputs.buffers.values()].flatMap(({ maxDelay }) => (maxDelay === undefined ? [] : maxDelay))
  if (delays.length > 0) {
    const text = `An update buffer is flushed every ${Math.min(...delays)} iterations, in serial order.`
    return { every: delays.reduce(greatestDivisor), text }
  }
  const rounds = roundsOf(inputs)
  const { schedule, spec } = inputs.analyzed
  if (rounds < 2) return undefined
  const isParallel = schedule.kind !== 'colored' && runsInRounds(schedule, spec.options.order ?? 'serial')
  if (isParallel && whyCallerOnly(inputs, ir) === undefined) return undefined
  const every = iterationsOfRound(iterationsOf(space), rounds)
  const text = `An update buffer is flushed ${rounds} times in a pass, and iterations of a ${schedule.kind} schedule wait for one another: they run in serial order.`
  return { every, text }
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** The most blocks that could run at once: those of one diagonal, or all when they do not wait for each other. */
export function widthOf(blocks: BlockSchedule): number {
  if (blocks.width !== undefined) return blocks.width
  if (blocks.successors.length === 0 && blocks.rounds !== undefined) return blocks.laneCount
  if (blocks.successors.length === 0) return blocks.steps?.blocks ?? blocks.count
  return Math.min(...blocks.cuts.map((cut) => cut.length - 1))
}

/** The number of steps of a stepped schedule; 1 for any other. */
export function stepsOf({ inputs, space }: CompiledLoop): number {
  const { schedule } = inputs.analyzed
  const outer = schedule.kind === 'stepped' ? extentsOf(space).slice(0, schedule.outer) : []
  return Math.max(
    1,
    outer.reduce((steps, extent) => steps * extent, 1),
  )
}
