/**
 * The blocks of a pass that one thread runs by itself, in plan order. Neighbours that lie one behind the other are one:
 *
 *     places    0 … 9 | 10 … 19 | 20 … 24    -->    0 … 24
 *
 * Statement: the same iterations run in the same order with the same ranks, and places of a block still have growing
 * ranks, by which the rest of a block is left out after a failure. So no block is made of several where ranks jump: not
 * where key order is kept though blocks are not in it. Blocks without boxes or slanted sides always lie one behind the other.
 */
import type { BlockSchedule } from './schedule.ts'

/** Joins neighbours into one block each. With `lanesMatter`, blocks of different lanes stay apart: they add to different copies. */
export function aloneBlocks(schedule: BlockSchedule, { lanesMatter }: { readonly lanesMatter: boolean }): BlockSchedule {
  const { count, from, to, base, lanes } = schedule
  if (!lieInARow(schedule)) return schedule
  const blocks = Array.from({ length: count }, (_, block) => block)
  const firsts = blocks.filter((block) => block === 0 || (lanesMatter && lanes[block] !== lanes[block - 1]))
  if (firsts.length === count) return schedule
  return {
    ...schedule,
    count: firsts.length,
    from: Float64Array.from(firsts, (block) => from[block] as number),
    to: Float64Array.from(firsts, (_, i) => to[(firsts[i + 1] ?? count) - 1] as number),
    base: Float64Array.from(firsts, (block) => base[block] as number),
    lanes: Int32Array.from(firsts, (block) => lanes[block] as number),
    waitsFor: new Int32Array(firsts.length),
    successorStart: new Int32Array(firsts.length + 1),
    successors: new Int32Array(),
  }
}

/** Whether neighbours in plan order could be one block, as far as lanes do not matter. */
export function lieInARow({ order, boxes, forms, steps, keyOrder }: BlockSchedule): boolean {
  const areRuns = steps === undefined && boxes === undefined && (forms === undefined || order !== undefined)
  return areRuns && !(keyOrder && order !== undefined)
}
