/**
 * The elements that each block of a loop touches, as boxes: the footprints of an iteration, over all iterations of the block.
 *
 *     block  i = 4 … 7, j = 0 … 9        g.get(i + 1, j)   -->   rows 5 … 8, columns 0 … 9
 */

import type { DenseStorage } from '../../../core/arrays/storage.ts'
import type { Footprint, Reach } from '../../../core/loop/loopSpec.ts'
import { cutAxesOf } from '../../../core/loop/schedules.ts'
import { lieInARow } from '../../loops/blocks/aloneBlocks.ts'
import { groupBlocks } from '../../loops/blocks/claimedBlocks.ts'
import { piecesOf } from '../../loops/blocks/pieces.ts'
import { type BlockSchedule, extentsOf, type IterationSpace } from '../../loops/blocks/schedule.ts'
import type { LoopInputs } from '../../loops/loopInputs.ts'
import type { Touch } from './transfers.ts'

/** A box of iterations: bounds along each axis; `to` is not included. */
interface Part {
  readonly bounds: readonly (readonly [from: number, to: number])[]
}

/** The most pieces of a block with slanted sides that are parts of their own; a block of more is one part around them all. */
const MOST_PIECES = 64

/** The boxes of an array that each block touches, by block; one list for all blocks that touch the same. `schedule` has no steps. */
export function touchesOf(
  { analyzed }: Pick<LoopInputs, 'analyzed'>,
  { blocks, space }: { readonly blocks: BlockSchedule; readonly space: IterationSpace },
  { array, storage }: { readonly array: number; readonly storage: DenseStorage },
): readonly (readonly Touch[])[] {
  const footprints = (analyzed.footprints ?? []).filter((one) => one.array === array)
  const parts = partsOfBlocks(analyzed.schedule, blocks, space)
  const known = new Map<string, readonly Touch[]>()
  return parts.map((list) => {
    const touches = list.flatMap((part) =>
      footprints.flatMap((footprint): Touch[] => {
        const box = boxOf(footprint, part, storage.shape)
        return box === undefined ? [] : [{ box, writes: footprint.writes }]
      }),
    )
    const key = touches.map(({ box, writes }) => `${box.join()} ${writes}`).join(';')
    const same = known.get(key) ?? touches
    known.set(key, same)
    return same
  })
}

/**
 * The blocks of each process as one, where they are runs of iterations that lie one behind the other: a grid of 2,500 rows that is cut into
 * 1,024 blocks, anywhere in its rows, has millions of cells, and its halves have a dozen.
 */
export function joinedByOwner(
  blocks: BlockSchedule,
  owners: Int32Array,
): { readonly blocks: BlockSchedule; readonly owners: Int32Array } | undefined {
  if (blocks.rounds !== undefined || blocks.order !== undefined || !lieInARow(blocks)) return undefined
  if (owners.some((owner, block) => block > 0 && owner < (owners[block - 1] as number))) return undefined
  const firsts = Array.from(owners.keys()).filter((block) => block === 0 || owners[block] !== owners[block - 1])
  return {
    blocks: groupBlocks(blocks, Int32Array.from([...firsts, blocks.count])),
    owners: Int32Array.from(firsts, (block) => owners[block] as number),
  }
}

/** The box that a footprint covers over the iterations of a part; undefined where it is empty. */
function boxOf({ along }: Footprint, part: Part, shape: readonly number[]): number[] | undefined {
  const box: number[] = []
  for (const [axis, extent] of shape.entries()) {
    const reach = along[axis] ?? 'any'
    const [low, high] = reach === 'any' ? [0, extent - 1] : rangeOver(reach, part)
    const [from, to] = [Math.max(0, low), Math.min(extent, high + 1)]
    if (from >= to) return undefined
    box.push(from, to)
  }
  return box
}

/** The least and the greatest index of a reach over the iterations of a part. */
function rangeOver({ key, low, high }: Reach, { bounds }: Part): readonly [number, number] {
  let [least, most] = [0, 0]
  for (const [axis, factor] of key.entries()) {
    const [from, to] = bounds[axis] ?? [0, 0]
    const ends = factor < 0 ? [factor * (to - 1), factor * from] : [factor * from, factor * (to - 1)]
    least += factor === 0 ? 0 : (ends[0] as number)
    most += factor === 0 ? 0 : (ends[1] as number)
  }
  return [least + low, most + high]
}

function partsOfBlocks(
  schedule: LoopInputs['analyzed']['schedule'],
  blocks: BlockSchedule,
  space: IterationSpace,
): readonly (readonly Part[])[] {
  const extents = extentsOf(space)
  const whole = extents.map((extent) => [0, extent] as const)
  const numbers = Array.from({ length: blocks.count }, (_, block) => block)
  if (space.kind === 'box' && (blocks.boxes !== undefined || blocks.forms !== undefined))
    return numbers.map((block) => piecesAsParts(blocks, extents, block))
  if (space.kind === 'box') return numbers.map((block) => runAsParts(blocks.from[block] as number, blocks.to[block] as number, extents))
  if (space.kind === 'rows') return numbers.map((block) => [{ bounds: [[blocks.from[block] as number, blocks.to[block] as number]] }])
  if (blocks.forms !== undefined) return numbers.map((block) => piecesAsParts(withoutOrder(blocks), extents, block))
  const axes = schedule.kind === 'stepped' || schedule.kind === 'colored' || schedule.kind === 'serial' ? [] : (cutAxesOf(schedule) ?? [])
  if (axes.length === 0 || blocks.order === undefined) return numbers.map((block) => runOfKeys(blocks, block, space.keys, whole))
  const columns = blocks.cuts.length === 2 ? (blocks.cuts[1]?.length ?? 1) - 1 : 1
  return cellsInPlanOrder(blocks, columns).map(([row, column]) => {
    const along = [row, column].slice(0, blocks.cuts.length).map((at, i) => {
      const bounds = blocks.cuts[i] as readonly number[] // one for each cut
      return [bounds[at] as number, bounds[at + 1] as number] as const
    })
    return [{ bounds: whole.map((one, axis) => along[axes.indexOf(axis)] ?? one) }]
  })
}

/** The blocks as if every key of their box were an iteration. */
function withoutOrder({ order: _, ...blocks }: BlockSchedule): BlockSchedule {
  return blocks
}

/** Row and column of each block of a grid: 2d goes by diagonals, all others row by row; lanes of a column's rounds begin anew. */
function cellsInPlanOrder({ kind, count, lanes }: BlockSchedule, columns: number): readonly (readonly [number, number])[] {
  const rows = count / columns
  return Array.from({ length: count }, (_, block) => {
    const row = columns === 1 ? block : (lanes[block] as number)
    return [row, kind === '2d' ? (row + Math.floor(block / rows)) % columns : block % columns]
  })
}

function piecesAsParts(blocks: BlockSchedule, extents: readonly number[], block: number): Part[] {
  const parts: Part[] = []
  for (const { box } of piecesOf(blocks, extents, block)) {
    const bounds = extents.map((_, axis) => [box[2 * axis] as number, box[2 * axis + 1] as number] as const)
    if (bounds.every(([from, to]) => from < to)) parts.push({ bounds })
  }
  if (parts.length <= MOST_PIECES) return parts
  const around = extents.map((_, axis) => {
    const [froms, tos] = [0, 1].map((end) => parts.map(({ bounds }) => bounds[axis]?.[end] as number)) as [number[], number[]]
    return [froms.reduce((a, b) => Math.min(a, b)), tos.reduce((a, b) => Math.max(a, b))] as const
  })
  return [{ bounds: around }]
}

/** A run of iterations of a box in row-major order as parts: its ragged first and last row along the first axis, and the rows between. */
function runAsParts(from: number, to: number, extents: readonly number[]): Part[] {
  if (from >= to) return []
  if (extents.length === 1) return [{ bounds: [[from, to]] }]
  const inner = extents.slice(1).reduce((size, extent) => size * extent, 1)
  const parts: Part[] = []
  const rest = (row: number, low: number, high: number): void => {
    for (const { bounds } of runAsParts(low, high, extents.slice(1))) parts.push({ bounds: [[row, row + 1], ...bounds] })
  }
  const [first, last] = [Math.ceil(from / inner), Math.floor(to / inner)]
  if (first > last) {
    rest(last, from - last * inner, to - last * inner)
    return parts
  }
  if (from < first * inner) rest(first - 1, from - (first - 1) * inner, inner)
  if (first < last) parts.push({ bounds: [[first, last], ...extents.slice(1).map((extent) => [0, extent] as const)] })
  if (last * inner < to) rest(last, 0, to - last * inner)
  return parts
}

/** A run of sorted keys as one part: from the first key's to the last one's component along the first axis. */
function runOfKeys(
  { from, to }: BlockSchedule,
  block: number,
  keys: readonly Int32Array[],
  whole: readonly (readonly [number, number])[],
): Part[] {
  const [first, last] = [from[block] as number, (to[block] as number) - 1]
  if (first > last) return []
  const outer = keys[0] as Int32Array // sparse arrays have an axis
  return [{ bounds: [[outer[first] as number, (outer[last] as number) + 1], ...whole.slice(1)] }]
}
