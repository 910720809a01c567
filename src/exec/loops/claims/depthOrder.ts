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
import type { BlockSchedule } from '../blocks/schedule.ts'

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

function foundOrder({ count, successorStart, successors }: Ordered, own: Int32Array): Int32Array | undefined {
  const depths = own.slice()
  let [most, isPlanOrder, last] = [0, true, 0]
  for (let block = 0; block < count; block++) {
    const depth = depths[block] as number
    isPlanOrder &&= depth >= last
    last = depth
    most = Math.max(most, depth)
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      depths[next] = Math.max(depths[next] as number, depth)
    }
  }
  if (isPlanOrder) return undefined
  // a counting sort keeps plan order within a depth
  const starts = new Int32Array(most + 2)
  for (const depth of depths) starts[depth + 1]!++
  for (let depth = 0; depth <= most; depth++) starts[depth + 1]! += starts[depth] as number
  const order = new Int32Array(count)
  for (let block = 0; block < count; block++) order[starts[depths[block] as number]!++] = block
  return order
}
