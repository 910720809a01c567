/**
 * The order in which one thread runs its process's blocks, some of which wait for other processes: by how many times what they need
 * has gone from process to process, and in plan order among these.
 *
 *     2d, rows s0 and s1 of 4          plan order     0 1 | 4 5 | 8 9 | 12 13     t2 is needed at once, and then t3
 *          t0  t1  t2  t3
 *     s0    0   4   8  12    depth     0 0 1 1        by depth     0 1 4 | 5 8 9 12 | 13
 *     s1   13   1   5   9              2 0 0 1
 *
 * In plan order a thread would wait for each column as soon as that is sent; so it has all of depth 0 to do while the first are on their
 * way, and columns can go several at a time.
 *
 *     wavefront, rows s0 to s2 of 6    plan order     0 1 2 3 | 4 5 6 7 | 8 9 10 11     t0 of s2 is needed, and all of t0 can run
 *          t0  t1  t2  t3
 *     s0    0   1   2   3              downwards      0 4 8 | 1 5 9 | 2 6 10 | 3 7 11
 *     s1    4   5   6   7
 *     s2    8   9  10  11
 *
 * Of a wavefront, and of a skewed loop, what a block makes ready runs next, the block farthest down first, as workers have it (`claim.ts`): in
 * plan order the others would begin when this process is nearly done, and this one would wait for what they do last before it does all that
 * it can.
 *
 * Statement: no result depends on it, and processes that all do so never wait for each other in a circle. A block comes after those
 * that it waits for here, none of which is deeper; those that it waits for elsewhere are less deep. So once all blocks of a depth have
 * run everywhere, all of the next depth can, in any order that has a block behind those of its own process that it waits for.
 */
import { type BlockSchedule, byBlock } from '../blocks/schedule.ts'

type Ordered = Pick<BlockSchedule, 'kind' | 'count' | 'waitsFor' | 'successorStart' | 'successors'>

/** The last order for each array of depths, since passes repeat. */
const known = new WeakMap<Int32Array, { readonly blocks: Ordered; readonly order: Int32Array | undefined }>()

/** `own` are depths that blocks have by themselves, before what they get from those that they wait for. Undefined for plan order. */
export function depthOrder(blocks: Ordered, own: Int32Array): Int32Array | undefined {
  const found = known.get(own)
  if (found?.blocks === blocks) return found.order
  const depths = depthsOf(blocks, own)
  const { order: byDepth } = byBlock(depths, 1 + depths.reduce((most, depth) => Math.max(most, depth), 0))
  const whole = goesDown(blocks.kind) ? downwards(blocks, { byDepth, own }) : byDepth
  const order = whole.every((block, at) => block === at) ? undefined : whole
  known.set(own, { blocks, order })
  return order
}

/** Whether what a block makes ready runs before what was ready earlier. */
export function goesDown(kind: BlockSchedule['kind']): boolean {
  return kind === 'wavefront' || kind === 'skewed'
}

/** The blocks of each depth with each behind that one of those it waits for which comes last, or what it waits for elsewhere. */
function downwards(
  { count, waitsFor, successorStart, successors }: Ordered,
  { byDepth, own }: { readonly byDepth: Int32Array; readonly own: Int32Array },
): Int32Array {
  const waits = waitsFor.slice()
  const order = new Int32Array(count)
  const isPlaced = new Uint8Array(count)
  const ready: number[] = []
  let placed = 0
  // whatever a block waits for here is not deeper, and earlier in plan order: all of it is placed by then
  for (const first of byDepth) {
    if (isPlaced[first] === 0) ready.push(first)
    for (let block = ready.pop(); block !== undefined; block = ready.pop()) {
      isPlaced[block] = 1
      order[placed++] = block
      for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
        const next = successors[i] as number
        if (--waits[next]! === 0 && own[next] === 0) ready.push(next) // it is of this depth
      }
    }
  }
  return order
}

/** The depth of each block: its own, or that of what it waits for. */
export function depthsOf(
  { count, successorStart, successors }: Pick<Ordered, 'count' | 'successorStart' | 'successors'>,
  own: Int32Array,
): Int32Array {
  const depths = own.slice()
  // a block comes before those that wait for it
  for (let block = 0; block < count; block++) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      depths[next] = Math.max(depths[next] as number, depths[block] as number)
    }
  }
  return depths
}
