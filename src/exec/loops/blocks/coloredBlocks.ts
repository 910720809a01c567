/**
 * The blocks of a colored schedule, cut from what the inspector found.
 *
 *     components         each block has whole components; no block waits for another
 *     levels or colors   each step is cut into blocks that run together; those of the next step wait for all of them
 *     levels, tiled      blocks (band of levels, strip of positions), as a wavefront:
 *
 *                              strips of positions                 Statement: if q depends on p, then level(p) < level(q) and
 *                           s0    s1    s2                         position(p) < position(q), so that the block of q has no
 *                    b0     0     1     2        (b, s) waits      smaller band and no smaller strip than that of p: it is
 *     bands of       b1     3     4     5        for (b - 1, s)    the same block, which runs in key order, or runs later.
 *     levels         b2     6     7     8        and (b, s - 1)
 *
 * Tiles need few barriers where levels are many and narrow, as those of a grid are. Which cut is taken follows from sizes and
 * from what an iteration costs, by a model of four workers, however many there are.
 */
import { NOMINAL_WORKERS } from '../../../core/cost/scheduleCost.ts'
import { cutByHistogram, cutEqual } from '../../../core/loop/partitioning.ts'
import type { Finding } from '../inspector/finding.ts'
import { checkCovered } from './blockSchedule.ts'
import { type BlockSchedule, byBlock, type CutOptions, releases } from './schedule.ts'

type Parallel = Exclude<Finding, { kind: 'nothing' }>

/** Time to claim a block and to wake who waits for it. */
const BLOCK_NS = 3_000
/** Least work that is worth a block of its own. */
const WORTH_A_BLOCK_NS = 10_000
const MOST_COMPONENT_BLOCKS = 64
const MOST_STRIPS = 16
const MOST_BLOCKS = 2_048
/** Bands and strips of the finest tiles that are tried, and by how many of both the tiles that are tried are joined. */
const FINEST: readonly [number, number] = [16, 16]
const COARSER = [1, 2]

export interface ColoredOptions extends Pick<CutOptions, 'order' | 'partitions' | 'mostLanes'> {
  /** Estimated time of an iteration on one thread. */
  readonly iterationNs: number
}

export interface Cut {
  readonly blocks: BlockSchedule
  /** Estimated time with the nominal workers, as a share of the serial time. */
  readonly share: number
}

export function cutColored(finding: Parallel, options: ColoredOptions): Cut {
  const iterations = finding.of.length
  const { iterationNs } = options
  const best = plansOf(finding, options)
    .map((plan) => ({ plan, released: releases(plan.sizes.length, plan.predecessorsOf) }))
    .map((one) => ({ ...one, ns: estimatedNs(one.plan.sizes, one.released, iterationNs) }))
    .reduce((best, one) => (one.ns < best.ns ? one : best))
  const { blockOf, cuts, width, lanes, laneCount, sizes } = best.plan
  const blocks: BlockSchedule = {
    kind: 'colored',
    iterations,
    keyOrder: options.order === 'serial',
    count: sizes.length,
    cuts,
    width,
    lanes,
    laneCount,
    ...best.released,
    ...byBlock(blockOf(), sizes.length),
  }
  checkCovered(blocks)
  return { blocks, share: best.ns / Math.max(1, iterations * iterationNs) }
}

/** The cuts to choose from. One number of `partitions` asks for steps or components in so many blocks, two for tiles. */
function plansOf(finding: Parallel, { partitions, mostLanes = Number.POSITIVE_INFINITY, iterationNs }: ColoredOptions): Plan[] {
  const { of, sizes } = finding
  const wanted = typeof partitions === 'number' ? [partitions] : partitions
  if (finding.kind === 'components') {
    const most = wanted?.[0] ?? Math.min(MOST_COMPONENT_BLOCKS, worthBlocks(of.length * iterationNs))
    return [byComponents(finding, Math.max(1, Math.min(most, mostLanes)))]
  }
  const strips = Math.max(1, Math.min(mostLanes, wanted?.[0] ?? MOST_STRIPS))
  if (wanted !== undefined) {
    const [bands = 1, columns] = wanted
    if (columns === undefined || finding.kind === 'colors') return [bySteps(finding, strips, undefined)]
    return byTiles(finding, [bands, Math.max(1, Math.min(columns, mostLanes))], [1])
  }
  const steps = sizes.length <= MOST_BLOCKS || finding.kind === 'colors' ? [bySteps(finding, strips, iterationNs)] : []
  const [bands, columns] = FINEST
  return [...steps, ...(finding.kind === 'levels' ? byTiles(finding, [bands, Math.min(columns, mostLanes)], COARSER) : [])]
}

/** A candidate for the cut, for which iterations are not yet put in order. */
interface Plan {
  /** Iterations of each block. */
  readonly sizes: Int32Array
  readonly cuts: readonly (readonly number[])[]
  readonly width: number
  readonly lanes: Int32Array
  readonly laneCount: number
  readonly predecessorsOf: (block: number) => readonly number[]
  /** The block of each iteration. */
  readonly blockOf: () => Int32Array
}

function byComponents({ of, sizes }: Parallel, most: number): Plan {
  const bounds = cutByHistogram(sizes, Math.min(most, sizes.length)).filter((bound, i, all) => i === 0 || bound > (all[i - 1] ?? 0))
  const count = bounds.length - 1
  const blockOfComponent = partTable(bounds)
  const blockSizes = new Int32Array(count)
  for (let component = 0; component < sizes.length; component++) blockSizes[blockOfComponent[component]!]! += sizes[component]!
  return {
    sizes: blockSizes,
    cuts: [bounds],
    width: count,
    lanes: Int32Array.from({ length: count }, (_, block) => block),
    laneCount: count,
    predecessorsOf: () => [],
    blockOf: () => of.map((component) => blockOfComponent[component]!),
  }
}

/** Cuts each step into as many blocks as its work is worth, or into `strips` where costs do not count. */
function bySteps({ of, sizes }: Parallel, strips: number, iterationNs: number | undefined): Plan {
  const widths = Array.from(sizes, (size) =>
    Math.max(1, Math.min(strips, size, iterationNs === undefined ? strips : worthBlocks(size * iterationNs))),
  )
  const firsts = new Int32Array(sizes.length + 1)
  for (const [step, width] of widths.entries()) firsts[step + 1] = firsts[step]! + width
  const count = firsts[sizes.length] ?? 0
  const lanes = new Int32Array(count)
  const stepOf = new Int32Array(count)
  const blockSizes = new Int32Array(count)
  for (const [step, width] of widths.entries()) {
    const size = sizes[step]!
    for (let strip = 0; strip < width; strip++) {
      const block = firsts[step]! + strip
      lanes[block] = strip
      stepOf[block] = step
      blockSizes[block] = Math.ceil((size * (strip + 1)) / width) - Math.ceil((size * strip) / width)
    }
  }
  const width = widths.reduce((most, one) => Math.max(most, one), 1)
  return {
    sizes: blockSizes,
    cuts: [Array.from({ length: count + 1 }, (_, block) => block)],
    width,
    lanes,
    laneCount: width,
    predecessorsOf: (block) => {
      const step = stepOf[block]!
      if (step === 0) return []
      return Array.from({ length: widths[step - 1]! }, (_, strip) => firsts[step - 1]! + strip)
    },
    blockOf: () => {
      const met = new Int32Array(sizes.length)
      return of.map((step) => firsts[step]! + Math.floor((met[step]!++ * widths[step]!) / sizes[step]!))
    },
  }
}

/** Cuts into tiles of these bands and strips: a plan for each factor in `coarser`, by which bands and strips are joined. */
function byTiles({ of, sizes }: Parallel, [bands, strips]: readonly [number, number], coarser: readonly number[]): Plan[] {
  const levelCuts = cutByHistogram(sizes, Math.min(bands, sizes.length))
  const positionCuts = cutEqual(of.length, strips)
  const finest = new Int32Array((levelCuts.length - 1) * strips)
  const bandOf = partTable(levelCuts)
  for (let strip = 0; strip < strips; strip++) {
    const end = positionCuts[strip + 1]!
    for (let position = positionCuts[strip]!; position < end; position++) finest[bandOf[of[position]!]! * strips + strip]!++
  }
  return coarser.map((by) => tiles(of, finest, { levelCuts, positionCuts, by }))
}

function tiles(
  of: Int32Array,
  finest: Int32Array,
  { levelCuts, positionCuts, by }: { readonly levelCuts: readonly number[]; readonly positionCuts: readonly number[]; readonly by: number },
): Plan {
  const [rowCuts, columnCuts] = [levelCuts, positionCuts].map((cuts) => cuts.filter((_, i) => i % by === 0 || i === cuts.length - 1))
  const rows = (rowCuts?.length ?? 1) - 1
  const columns = (columnCuts?.length ?? 1) - 1
  const strips = positionCuts.length - 1
  const sizes = new Int32Array(rows * columns)
  for (let cell = 0; cell < finest.length; cell++) {
    sizes[Math.floor(Math.floor(cell / strips) / by) * columns + Math.floor((cell % strips) / by)]! += finest[cell]!
  }
  return {
    sizes,
    cuts: [rowCuts ?? [], columnCuts ?? []],
    width: Math.min(rows, columns),
    lanes: Int32Array.from({ length: rows * columns }, (_, block) => block % columns),
    laneCount: columns,
    predecessorsOf: (block) => [...(block >= columns ? [block - columns] : []), ...(block % columns > 0 ? [block - 1] : [])],
    blockOf: () => {
      const rowOf = partTable(rowCuts ?? [])
      const blocks = new Int32Array(of.length)
      for (let column = 0; column < columns; column++) {
        const end = columnCuts?.[column + 1] ?? of.length
        for (let position = columnCuts?.[column] ?? 0; position < end; position++)
          blocks[position] = rowOf[of[position]!]! * columns + column
      }
      return blocks
    },
  }
}

/** The part of each number from 0 to the last bound. */
function partTable(bounds: readonly number[]): Int32Array {
  const table = new Int32Array(bounds.at(-1) ?? 0)
  for (let part = 0; part + 1 < bounds.length; part++) table.fill(part, bounds[part], bounds[part + 1])
  return table
}

/** Brent's bound: the longest chain of blocks, and the rest of the work spread over the workers. */
function estimatedNs(
  sizes: Int32Array,
  { successorStart, successors }: Pick<BlockSchedule, 'successorStart' | 'successors'>,
  iterationNs: number,
): number {
  const start = new Float64Array(sizes.length)
  let work = 0
  let longest = 0
  for (let block = 0; block < sizes.length; block++) {
    const cost = BLOCK_NS + sizes[block]! * iterationNs
    const end = start[block]! + cost
    work += cost
    longest = Math.max(longest, end)
    for (let i = successorStart[block]!; i < successorStart[block + 1]!; i++) {
      const next = successors[i]!
      if (start[next]! < end) start[next] = end
    }
  }
  return longest + (work - longest) / NOMINAL_WORKERS
}

function worthBlocks(ns: number): number {
  return Math.max(1, Math.floor(ns / WORTH_A_BLOCK_NS))
}
