/**
 * The order in which one thread runs the blocks of a 2d schedule whose arrays are larger than a cache: by tiles.
 *
 *     plan order, a step after another               tiles of two steps
 *          t0  t1  t2  t3                                 t0  t1  t2  t3
 *     s0    0   4   8  12   every block reads        s0    0   2   8  10   the row or the column of a block
 *     s1   13   1   5   9   a row and a column       s1   12   1   4   9   is that of the one before, or of
 *     s2   10  14   2   6   that were not used       s2   11  15   3   7   one of the last few
 *     s3    7  11  15   3   for a step               s3    6  13  14   5
 *
 * After a block, what it made ready runs next: first of its own row, else another. So that rows and columns in between
 * stay few, no block runs before all blocks that are earlier by whole tiles of steps: time skewing (D. Wonnacott, "Using Time
 * Skewing to Eliminate Idle Time due to Memory Bandwidth and Network Limitations", IPDPS 2000).
 *
 * Statement: a block comes after those that it waits for, and after all blocks of smaller depth (`depthOrder.ts`); no result
 * depends on the rest. A block's depth and its step are at least those of the blocks that it waits for.
 */
import { type BlockSchedule, byBlock } from '../blocks/schedule.ts'
import { depthsOf } from './depthOrder.ts'

type Ordered = Pick<BlockSchedule, 'count' | 'waitsFor' | 'successorStart' | 'successors' | 'lanes'>

/** Steps of a tile: as many blocks' rows and columns should fit into a core's own cache. */
const TILE = 16

/** Arrays of fewer bytes stay in a core's cache, and their pages in its table of translations, whatever the order. */
const LARGE_BYTES = 2 ** 22

/** The last order of each schedule, since passes repeat; with the depths that it was found for. */
const known = new WeakMap<Int32Array, { readonly depths: Int32Array | undefined; readonly order: Int32Array }>()

/** Whether tiles save what calls of a kernel for each block cost; `bytes` are those of the arrays that the body touches. */
export function isWorthTiles({ kind, steps, rounds }: BlockSchedule, bytes: number): boolean {
  return kind === '2d' && steps === undefined && rounds === undefined && bytes > LARGE_BYTES
}

/** All blocks in that order. `depths` are those that blocks have by themselves, as for `depthOrder`; without, all have the same. */
export function tiledOrder(blocks: Ordered, depths?: Int32Array): Int32Array {
  const found = known.get(blocks.successors)
  if (found !== undefined && found.depths === depths) return found.order
  const order = orderByTiles(blocks, depths, TILE)
  known.set(blocks.successors, { depths, order })
  return order
}

export function orderByTiles(blocks: Ordered, own: Int32Array | undefined, tile: number): Int32Array {
  const { count, waitsFor, successorStart, successors, lanes } = blocks
  const depths = own && depthsOf(blocks, own)
  const steps = new Int32Array(count)
  let [deepest, lastStep] = [0, 0]
  // a block comes before those that wait for it
  for (let block = 0; block < count; block++) {
    const step = steps[block] as number
    lastStep = Math.max(lastStep, step)
    deepest = Math.max(deepest, depths?.[block] ?? 0)
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      steps[next] = Math.max(steps[next] as number, step + 1)
    }
  }
  const tiles = 1 + Math.floor(lastStep / tile)
  const tileOf = steps.map((step, block) => (depths?.[block] ?? 0) * tiles + Math.floor(step / tile))
  const waits = waitsFor.slice()
  const order = new Int32Array(count)
  const isDone = new Uint8Array(count)
  const ready: number[] = []
  let at = 0
  for (const first of byBlock(tileOf, tiles * (deepest + 1)).order) {
    if (isDone[first] === 0 && waits[first] === 0) ready.push(first)
    for (let block = ready.pop(); block !== undefined; block = ready.pop()) {
      order[at++] = block
      isDone[block] = 1
      let ofRow = -1
      for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
        const next = successors[i] as number
        if (--waits[next]! > 0 || tileOf[next] !== tileOf[block]) continue
        if (lanes[next] === lanes[block]) ofRow = next
        else ready.push(next)
      }
      if (ofRow >= 0) ready.push(ofRow)
    }
  }
  return order
}
