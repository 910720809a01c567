/** The input and the result of cutting a loop: its iteration space and the options, and the blocks. */
import type { Form, Schedule } from '../../../core/loop/schedules.ts'

/** The iterations: all keys of a box, or the sorted keys of sparse data, or rows 0 … length - 1. */
export type IterationSpace =
  | { readonly kind: 'box'; readonly extents: readonly number[] }
  | { readonly kind: 'sparse'; readonly extents: readonly number[]; readonly keys: readonly Int32Array[]; readonly length: number }
  | { readonly kind: 'rows'; readonly length: number }

export interface BlockSchedule {
  readonly kind: Schedule['kind']
  readonly iterations: number
  /** How many blocks can run at the same time at most; absent where `cuts` say it. */
  readonly width?: number
  /** The number of blocks, of all steps; blocks are numbered in plan order. */
  readonly count: number
  /** Absent where nothing runs in steps. Otherwise `lanes`, `waitsFor`, `successors` and, in a box, bounds are those of the blocks of one step. */
  readonly steps?: Steps
  /** Bounds along each cut axis. */
  readonly cuts: readonly (readonly number[])[]
  /**
   * For a box: lower and upper bounds of each block, 2 x rank numbers each; absent where every block is a run of the
   * whole space's keys.
   */
  readonly boxes?: Float64Array
  /** The hyperplanes along which a skewed loop is cut, instead of axes; `cuts` are then values of these forms. */
  readonly forms?: readonly Form[]
  /** The block's iterations: places inside its box, or places in `order`. */
  readonly from: Float64Array
  readonly to: Float64Array
  /** Positions of sparse elements in plan order; absent when they are in key order. */
  readonly order?: Int32Array
  /** Plan rank of each block's first iteration. */
  readonly base: Float64Array
  /** Whether ranks are key order (otherwise plan order). */
  readonly keyOrder: boolean
  /** How many blocks each must wait for, and whom it releases (compressed rows). */
  readonly waitsFor: Int32Array
  readonly successorStart: Int32Array
  readonly successors: Int32Array
  /** The lane of each block: which reduction copy it adds to. Blocks of one lane run one after another in plan order. */
  readonly lanes: Int32Array
  readonly laneCount: number
  /** The first block of each round, and how many blocks there are; absent where a pass is one round. Blocks of a round have the lanes of the others. */
  readonly rounds?: readonly number[]
}

/** Steps run one after another: all blocks of one before any of the next. */
export interface Steps {
  /** Extents of the outer axes, each key of which is a step. */
  readonly extents: readonly number[]
  /** Blocks of one step. */
  readonly blocks: number
}

export interface CutOptions {
  readonly order: 'serial' | 'any'
  readonly partitions?: number | readonly number[] | undefined
  readonly balance?: 'histogram' | 'equal' | undefined
  /** Most lanes when reduction copies are needed; 1 forces a single block along the first cut. */
  readonly mostLanes?: number | undefined
  /** How many light iterations one is worth: dear iterations are cut into more blocks. Default: 1. */
  readonly weight?: number
}

/** A schedule that needs no inspector. */
export type StaticSchedule = Exclude<Schedule, { kind: 'colored' }>

export function iterationsOf(space: IterationSpace): number {
  switch (space.kind) {
    case 'box':
      return space.extents.reduce((size, extent) => size * extent, 1)
    case 'sparse':
    case 'rows':
      return space.length
  }
}

export function extentsOf(space: IterationSpace): readonly number[] {
  return space.kind === 'rows' ? [space.length] : space.extents
}

/** The first place in sorted `keys` that is at least `key`. */
export function lowerBound(keys: Int32Array, key: number, from = 0, to: number = keys.length): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] as number) < key) low = middle + 1
    else high = middle
  }
  return low
}

export function releases(
  count: number,
  predecessorsOf: (block: number) => readonly number[],
): Pick<BlockSchedule, 'waitsFor' | 'successorStart' | 'successors'> {
  const waitsFor = new Int32Array(count)
  const successorStart = new Int32Array(count + 1)
  const predecessors: (readonly number[])[] = []
  for (let block = 0; block < count; block++) {
    const own = predecessorsOf(block)
    predecessors.push(own)
    waitsFor[block] = own.length
    for (const predecessor of own) successorStart[predecessor + 1]!++
  }
  for (let block = 0; block < count; block++) successorStart[block + 1]! += successorStart[block]!
  const successors = new Int32Array(successorStart[count]!)
  const next = successorStart.slice()
  for (let block = 0; block < count; block++) for (const predecessor of predecessors[block]!) successors[next[predecessor]!++] = block
  return { waitsFor, successorStart, successors }
}

/** Sorts positions by their blocks (`blockOf` has that of each); the positions of a block stay in key order. */
export function byBlock(blockOf: Int32Array, count: number): Required<Pick<BlockSchedule, 'order' | 'from' | 'to' | 'base'>> {
  const next = new Int32Array(count + 1)
  for (let position = 0; position < blockOf.length; position++) next[blockOf[position]! + 1]!++
  for (let block = 1; block < count; block++) next[block]! += next[block - 1]!
  const base = Float64Array.from(next.subarray(0, count))
  const order = new Int32Array(blockOf.length)
  for (let position = 0; position < blockOf.length; position++) order[next[blockOf[position]!]!++] = position
  return { order, from: base, to: Float64Array.from(next.subarray(0, count)), base }
}
