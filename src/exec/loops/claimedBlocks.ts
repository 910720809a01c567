/**
 * What workers claim: blocks, or *groups* of blocks that lie next to each other in plan order, where claiming a block would
 * take as long as running it.
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
 * How many blocks make a group follows from what the body was estimated to take, not from a clock.
 */
import { lieInARow } from './aloneBlocks.ts'
import { type BlockSchedule, releases } from './blockSchedule.ts'
import { predictedMs } from './passCost.ts'

/** What is claimed, as if each were a block; `firsts` has the first block of each group and, last, how many blocks there are. */
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

/** No estimate is to be trusted so far that a worker has fewer than this many groups to even out what others take. */
const LEAST_GROUPS_A_WORKER = 8

/** The groups with which a pass of `aloneMs` on one thread is foreseen to end soonest. `lanesMatter` as for `aloneBlocks`. */
export function shareBlocks(
  schedule: BlockSchedule,
  { workers, aloneMs, lanesMatter }: { readonly workers: number; readonly aloneMs: number; readonly lanesMatter: boolean },
): SharedBlocks {
  let best: SharedBlocks = { schedule, claimed: schedule }
  let least = predictedMs(aloneMs, schedule, workers)
  const most = schedule.steps === undefined ? schedule.count / (LEAST_GROUPS_A_WORKER * workers) : 0
  for (let size = 2; size <= most; size *= 2) {
    const firsts = groupsOf(schedule, size, workers)
    const grouped = groupBlocks(schedule, firsts)
    const predicted = predictedMs(aloneMs, grouped, workers)
    if (predicted >= least) continue
    least = predicted
    const isOne = lieInARow(schedule) && !lanesMatter
    best = isOne ? { schedule: grouped, claimed: grouped } : { schedule, claimed: { ...grouped, firsts } }
  }
  return best
}

/** The first block of each group of at most `size`, and how many blocks there are: blocks of one home, and all of one lane or each of another. */
export function groupsOf({ count, lanes, laneCount }: BlockSchedule, size: number, homes: number): Int32Array {
  const homeOf = (block: number): number => Math.floor(((lanes[block] as number) * homes) / laneCount)
  const staysInLane = (block: number): boolean => lanes[block] === lanes[block - 1]
  const firsts: number[] = []
  let first = 0
  for (let block = 0; block < count; block++) {
    const turns = block - first > 1 && staysInLane(block) !== staysInLane(block - 1)
    if (block === 0 || block - first === size || turns || homeOf(block) !== homeOf(first)) {
      first = block
      firsts.push(block)
    }
  }
  return Int32Array.from([...firsts, count])
}

/**
 * The groups as blocks that have the iterations of all of theirs: where these lie, if the blocks lie one behind the other;
 * otherwise only how many there are.
 */
export function groupBlocks(schedule: BlockSchedule, firsts: Int32Array): BlockSchedule {
  const { from, to, base, lanes, successorStart, successors } = schedule
  const count = firsts.length - 1
  const groups = Array.from({ length: count }, (_, group) => group)
  const firstOf = (group: number): number => firsts[group] as number // count + 1 of them
  const groupOf = new Int32Array(schedule.count)
  for (const group of groups) groupOf.fill(group, firstOf(group), firstOf(group + 1))
  const predecessors: Set<number>[] = groups.map(() => new Set())
  const end = new Float64Array(count)
  for (const group of groups) {
    end[group] = from[firstOf(group)] as number
    for (let block = firstOf(group); block < firstOf(group + 1); block++) end[group]! += (to[block] as number) - (from[block] as number)
    for (let i = successorStart[firstOf(group)] as number; i < (successorStart[firstOf(group + 1)] as number); i++) {
      const next = groupOf[successors[i] as number] as number
      if (next !== group) predecessors[next]?.add(group)
    }
  }
  return {
    ...schedule,
    count,
    from: Float64Array.from(groups, (group) => from[firstOf(group)] as number),
    to: end,
    base: Float64Array.from(groups, (group) => base[firstOf(group)] as number),
    lanes: Int32Array.from(groups, (group) => lanes[firstOf(group)] as number),
    ...releases(count, (group) => [...(predecessors[group] ?? [])]),
  }
}
