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
 * Statement: no result depends on it, and processes that all do so never wait for each other in a circle. A block comes after those
 * that it waits for, here and elsewhere: none of them is deeper, and all are earlier in plan order. So of all blocks that have not
 * run, the first by depth and plan order can.
 */
import { type BlockSchedule, byBlock } from '../blocks/schedule.ts'

type Ordered = Pick<BlockSchedule, 'count' | 'successorStart' | 'successors'>

/** The last order for each array of depths, since passes repeat. */
const known = new WeakMap<Int32Array, { readonly blocks: Ordered; readonly order: Int32Array | undefined }>()

/** `own` are depths that blocks have by themselves, before what they get from those that they wait for. Undefined for plan order. */
export function depthOrder(blocks: Ordered, own: Int32Array): Int32Array | undefined {
  const found = known.get(own)
  if (found?.blocks === blocks) return found.order
  const order = foundOrder(blocks, own)
  known.set(own, { blocks, order })
  return order
}

function foundOrder(blocks: Ordered, own: Int32Array): Int32Array | undefined {
  const depths = depthsOf(blocks, own)
  const isPlanOrder = depths.every((depth, block) => block === 0 || depth >= (depths[block - 1] as number))
  return isPlanOrder ? undefined : byBlock(depths, 1 + depths.reduce((most, depth) => Math.max(most, depth), 0)).order
}

/** The depth of each block: its own, or that of what it waits for. */
export function depthsOf({ count, successorStart, successors }: Ordered, own: Int32Array): Int32Array {
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
