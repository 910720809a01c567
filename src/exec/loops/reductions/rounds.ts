/**
 * Rounds of a pass: what an update buffer's `flushes` cut it into. All blocks of a round are done, and its buffers are flushed, before
 * one of the next begins.
 *
 *     independent, 3 rounds of 2 blocks      0 1 | 2 3 | 4 5      lanes  0 1 | 0 1 | 0 1
 *     2d, 3 rounds of a diagonal             0 3 6
 *                                            7 1 4
 *                                            5 8 2
 *
 * Statement: a round is a stretch of the serial order, so a serial program that flushes at the same places reads the same. Blocks
 * that lie in the order of keys, or whose order is free, are cut into rounds; other loops run one iteration after another, and flush after as many.
 */
import { blockCounts, cutEqual } from '../../../core/loop/partitioning.ts'
import { cutUnstepped, runs } from '../blocks/blockSchedule.ts'
import {
  type BlockSchedule,
  type CutOptions,
  extentsOf,
  type IterationSpace,
  iterationsOf,
  type StaticSchedule,
} from '../blocks/schedule.ts'
import type { LoopInputs } from '../loopInputs.ts'

/** How many rounds a pass has; 1 where buffers flush at its end, or in serial order. */
export function roundsOf({ buffers }: Pick<LoopInputs, 'buffers'>): number {
  return Math.max(1, ...[...buffers.values()].map(({ rounds }) => rounds?.count ?? 1))
}

type InRounds = Extract<StaticSchedule, { readonly kind: 'independent' | '1d' | '2d' }>

/** Whether iterations of a round may run side by side. */
export function runsInRounds(schedule: StaticSchedule, order: 'serial' | 'any'): schedule is InRounds {
  if (schedule.kind === 'independent' || schedule.kind === '2d') return true
  return schedule.kind === '1d' && (order === 'any' || (!('form' in schedule) && schedule.axis === 0))
}

/** Iterations of a round, of a loop that runs them one after another. */
export function iterationsOfRound(iterations: number, rounds: number): number {
  return Math.max(1, Math.ceil(iterations / rounds))
}

interface RoundOptions extends CutOptions {
  readonly rounds: number
  /** Reduction copies, to which blocks of a round add side by side. */
  readonly lanes: number
}

export function cutRounds(schedule: InRounds, space: IterationSpace, options: RoundOptions): BlockSchedule {
  const { rounds, lanes, order, balance, weight = 1 } = options
  switch (schedule.kind) {
    case 'independent':
      return cutEvenly(space, rounds, lanes)
    case '1d':
      return inRounds(cutUnstepped(schedule, space, { order, balance, partitions: rounds * lanes }), rounds)
    case '2d': {
      const [rows = 1, columns = 1] = blockCounts(schedule, extentsOf(space), options.partitions, iterationsOf(space), weight)
      const partitions = [Math.min(rows, lanes), Math.max(columns, rounds)]
      const blocks = cutUnstepped(schedule, space, { order, balance, partitions })
      const diagonals = (blocks.cuts[1]?.length ?? 2) - 1
      const firsts = cutEqual(diagonals, Math.min(rounds, diagonals)).map((diagonal) => (diagonal * blocks.count) / diagonals)
      return { ...blocks, rounds: withIterations(blocks, firsts) }
    }
  }
}

/** Cuts blocks that wait for no other into rounds, each of which uses the same lanes. */
function inRounds(blocks: BlockSchedule, rounds: number): BlockSchedule {
  const firsts = cutEqual(blocks.count, Math.min(rounds, blocks.count))
  const lanes = new Int32Array(blocks.count)
  for (let block = 0, round = 0; block < blocks.count; block++) {
    if (block === firsts[round + 1]) round++
    lanes[block] = block - (firsts[round] as number)
  }
  return { ...blocks, lanes, laneCount: 1 + lanes.reduce((most, lane) => Math.max(most, lane), 0), rounds: withIterations(blocks, firsts) }
}

/** Drops the rounds without iterations; `bounds` are the first blocks of rounds and the number of blocks. */
function withIterations(blocks: BlockSchedule, bounds: readonly number[]): readonly number[] {
  return bounds.filter((bound, round) => {
    const next = bounds[round + 1]
    return bound === 0 || next === undefined || iterationsIn(blocks, bound, next) > 0
  })
}

function iterationsIn({ from, to }: BlockSchedule, first: number, end: number): number {
  let iterations = 0
  for (let block = first; block < end; block++) iterations += (to[block] as number) - (from[block] as number)
  return iterations
}

/** Rounds of the same number of iterations, the last of what is left. */
function cutEvenly(space: IterationSpace, rounds: number, lanes: number): BlockSchedule {
  const iterations = iterationsOf(space)
  const every = iterationsOfRound(iterations, rounds)
  const count = Math.max(1, Math.ceil(iterations / every))
  const bounds = Array.from({ length: count }, (_, round) => {
    const from = round * every
    return cutEqual(Math.min(every, iterations - from), lanes)
      .slice(0, -1)
      .map((bound) => from + bound)
  })
  return inRounds(runs('independent', iterations, [...bounds.flat(), iterations]), count)
}

/** The numbers of iterations after which a round ends that is not the pass's last. */
export function roundEnds(blocks: BlockSchedule, count: number): ReadonlySet<number> {
  const { iterations, rounds } = blocks
  if (rounds === undefined) {
    const every = iterationsOfRound(iterations, count)
    return new Set(Array.from({ length: Math.max(0, Math.ceil(iterations / every) - 1) }, (_, round) => (round + 1) * every))
  }
  const ends = new Set<number>()
  let done = 0
  for (let round = 0; round + 2 < rounds.length; round++) {
    done += iterationsIn(blocks, rounds[round] as number, rounds[round + 1] as number)
    ends.add(done)
  }
  return ends
}
