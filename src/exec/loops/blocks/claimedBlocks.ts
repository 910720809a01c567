/**
 * The units that workers claim: blocks, or *groups* of blocks that lie next to each other in plan order, where claiming a
 * block would take as long as running it.
 *
 *     2d, two homes                         wavefront
 *          t0  t1  t2  t3                        t0  t1  t2  t3
 *     s0    0   2   4   6                   s0    0   0   1   1       groups of two blocks, by their numbers
 *     s1    6   0   2   4                   s1    2   2   3   3
 *     s2    5   7   1   3                   s2    4   4   5   5
 *     s3    3   5   7   1                   s3    6   6   7   7
 *
 * Statement: whoever claims a group runs its blocks one after another in plan order, each as if it had been claimed by
 * itself: groups decide who runs a block and when, never what it does. A block waits only for earlier ones of plan
 * order, so groups, which are stretches of it, wait only for earlier groups: none for itself in a circle.
 *
 * A group of a wavefront lies side by side in one row of blocks, and is one box. Where ranks are key order it runs as one block,
 * in key order like each of its blocks: no iteration waits for a later one.
 *
 * How many blocks make a group follows from what the body was estimated to take, not from a clock.
 */

import { predictedMs } from '../passCost.ts'
import { lieInARow } from './aloneBlocks.ts'
import { type BlockSchedule, releases } from './schedule.ts'

/** The groups that are claimed, each as a block; `firsts` has the first block of each and, last, the number of blocks. */
export interface ClaimedBlocks
  extends Pick<BlockSchedule, 'count' | 'steps' | 'waitsFor' | 'successorStart' | 'successors' | 'lanes' | 'laneCount'> {
  readonly firsts?: Int32Array
}

/** The blocks that workers run, and what they claim of them. */
export interface SharedBlocks {
  readonly schedule: BlockSchedule
  readonly claimed: ClaimedBlocks
}

/** The first block of a group; of the group after the last, how many blocks there are. */
export function firstOf({ firsts }: ClaimedBlocks, group: number): number {
  return firsts === undefined ? group : (firsts[group] as number) // one more than there are groups
}

/** Least number of groups per worker: estimates err, and with fewer groups workers cannot even out their loads. */
const LEAST_GROUPS_A_WORKER = 8
/** Time of a block beside which that of its claim is nothing. */
const LONG_BLOCK_MS = 0.05

/** The groups with which a pass of `aloneMs` on one thread is foreseen to end soonest. `lanesMatter` as for `aloneBlocks`. */
export function shareBlocks(
  schedule: BlockSchedule,
  { workers, aloneMs, lanesMatter }: { readonly workers: number; readonly aloneMs: number; readonly lanesMatter: boolean },
): SharedBlocks {
  let best: SharedBlocks = { schedule, claimed: schedule }
  let least = predictedMs(aloneMs, schedule, workers)
  const areLong = aloneMs > LONG_BLOCK_MS * schedule.count
  const most = schedule.steps === undefined && !areLong ? schedule.count / (LEAST_GROUPS_A_WORKER * workers) : 0
  for (let size = 2; size <= most; size *= 2) {
    const firsts = groupsOf(schedule, size, workers)
    const grouped = groupBlocks(schedule, firsts)
    const predicted = predictedMs(aloneMs, grouped, workers)
    if (predicted >= least) continue
    least = predicted
    const isOne = (lieInARow(schedule) || areBoxes(schedule)) && !lanesMatter
    best = isOne ? { schedule: grouped, claimed: grouped } : { schedule, claimed: { ...grouped, firsts } }
  }
  return best
}

/**
 * The first block of each group of at most `size`, and how many blocks there are: blocks of one home, and all of one lane or,
 * but for wavefronts, each of another.
 */
export function groupsOf({ kind, count, lanes, laneCount }: BlockSchedule, size: number, homes: number): Int32Array {
  const homeOf = (block: number): number => Math.floor(((lanes[block] as number) * homes) / laneCount)
  const staysInLane = (block: number): boolean => lanes[block] === lanes[block - 1]
  const firsts: number[] = []
  let first = 0
  for (let block = 0; block < count; block++) {
    const turns = kind === 'wavefront' ? !staysInLane(block) : block - first > 1 && staysInLane(block) !== staysInLane(block - 1)
    if (block === 0 || block - first === size || turns || homeOf(block) !== homeOf(first)) {
      first = block
      firsts.push(block)
    }
  }
  return Int32Array.from([...firsts, count])
}

/** Whether groups are boxes that may be walked in key order: blocks of one lane that follow one another lie side by side. */
function areBoxes({ kind, keyOrder, boxes }: BlockSchedule): boolean {
  return kind === 'wavefront' && keyOrder && boxes !== undefined
}

/** The smallest box around the blocks of each group: lower and upper bounds along each axis. */
function boxesOf(boxes: Float64Array, blocks: number, firsts: Int32Array): Float64Array {
  const numbers = boxes.length / blocks
  const found = new Float64Array(numbers * (firsts.length - 1))
  for (let group = 0; group + 1 < firsts.length; group++) {
    const first = numbers * (firsts[group] as number)
    const last = numbers * ((firsts[group + 1] as number) - 1)
    for (let i = 0; i < numbers; i++) found[numbers * group + i] = boxes[(i % 2 === 0 ? first : last) + i] as number // lower, upper, lower, …
  }
  return found
}

/** Fills a list with the value of each group's first member. */
function firstMembers<T extends Float64Array | Int32Array>(into: T, values: ArrayLike<number>, firsts: Int32Array): T {
  for (let group = 0; group < into.length; group++) into[group] = values[firsts[group] as number] as number // a group has a member
  return into
}

/**
 * The groups as blocks with the iterations of all their members. Bounds are those of the iterations if members lie one behind
 * the other or side by side in a box; otherwise only their difference, the number of iterations, holds.
 */
export function groupBlocks(schedule: BlockSchedule, firsts: Int32Array): BlockSchedule {
  const { from, to, base, boxes, lanes, successorStart, successors } = schedule
  const count = firsts.length - 1
  const groups = Array.from({ length: count }, (_, group) => group)
  const firstOf = (group: number): number => firsts[group] as number // count + 1 of them
  const groupOf = new Int32Array(schedule.count)
  for (const group of groups) groupOf.fill(group, firstOf(group), firstOf(group + 1))
  const predecessors: Set<number>[] | undefined = successors.length === 0 ? undefined : groups.map(() => new Set())
  const end = new Float64Array(count)
  for (const group of groups) {
    end[group] = from[firstOf(group)] as number
    for (let block = firstOf(group); block < firstOf(group + 1); block++) end[group]! += (to[block] as number) - (from[block] as number)
    for (let i = successorStart[firstOf(group)] as number; i < (successorStart[firstOf(group + 1)] as number); i++) {
      const next = groupOf[successors[i] as number] as number
      if (next !== group) predecessors?.[next]?.add(group)
    }
  }
  return {
    ...schedule,
    count,
    ...(boxes === undefined ? {} : { boxes: boxesOf(boxes, schedule.count, firsts) }),
    from: firstMembers(new Float64Array(count), from, firsts),
    to: end,
    base: firstMembers(new Float64Array(count), base, firsts),
    lanes: firstMembers(new Int32Array(count), lanes, firsts),
    ...releases(count, (group) => (predecessors === undefined ? [] : [...(predecessors[group] ?? [])])),
  }
}
