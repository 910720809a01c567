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
import { cutByHistogram, cutEqual } from '../../core/partitioning.ts'
import { type BlockSchedule, byBlock, type CutOptions, releases } from './blockSchedule.ts'
import { type Finding, sizesOf } from './inspector/finding.ts'

type Parallel = Exclude<Finding, { kind: 'nothing' }>

/** The nominal machine. */
const WORKERS = 4
/** Claiming a block and waking who waits for it. */
const BLOCK_NS = 2_000
/** Work that is worth a block. */
const WORTH_A_BLOCK_NS = 10_000
const MOST_COMPONENT_BLOCKS = 64
const MOST_STRIPS = 16
const MOST_BLOCKS = 2_048
/** Bands and strips that are tried. */
const TILINGS = [
  [8, 8],
  [16, 16],
  [32, 16],
  [64, 16],
] as const

export interface ColoredOptions extends Pick<CutOptions, 'order' | 'partitions' | 'mostLanes'> {
  /** What an iteration costs. */
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
    .map((plan) => ({ ...plan, ...releases(plan.count, plan.predecessorsOf) }))
    .map((plan) => ({ plan, ns: estimatedNs(plan, iterationNs) }))
    .reduce((best, one) => (one.ns < best.ns ? one : best))
  const { blockOf, predecessorsOf, ...plan } = best.plan
  const blocks = { kind: 'colored', iterations, keyOrder: options.order === 'serial', ...plan, ...byBlock(blockOf, plan.count) } as const
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
  const tiles = ([bands, columns]: readonly [number, number]) =>
    byTiles(finding, Math.min(bands, sizes.length), Math.max(1, Math.min(columns, mostLanes)))
  if (wanted !== undefined) {
    const [rows = 1, columns] = wanted
    return [columns === undefined || finding.kind === 'colors' ? bySteps(finding, strips, undefined) : tiles([rows, columns])]
  }
  const steps = sizes.length <= MOST_BLOCKS || finding.kind === 'colors' ? [bySteps(finding, strips, iterationNs)] : []
  return [...steps, ...(finding.kind === 'levels' ? TILINGS.map(tiles) : [])]
}

/** Blocks before their order is written down. */
interface Plan {
  readonly blockOf: Int32Array
  readonly cuts: readonly (readonly number[])[]
  readonly count: number
  readonly width: number
  readonly lanes: Int32Array
  readonly laneCount: number
  readonly predecessorsOf: (block: number) => readonly number[]
}

function byComponents({ of, sizes }: Parallel, most: number): Plan {
  const bounds = cutByHistogram(sizes, Math.min(most, sizes.length)).filter((bound, i, all) => i === 0 || bound > (all[i - 1] ?? 0))
  const count = bounds.length - 1
  const blockOfComponent = new Int32Array(sizes.length)
  for (let block = 0; block < count; block++) blockOfComponent.fill(block, bounds[block], bounds[block + 1])
  return {
    blockOf: of.map((component) => blockOfComponent[component]!),
    cuts: [bounds],
    count,
    width: count,
    lanes: Int32Array.from({ length: count }, (_, block) => block),
    laneCount: count,
    predecessorsOf: () => [],
  }
}

/** Each step in as many blocks as it is worth, or `strips` where costs do not count. */
function bySteps({ of, sizes }: Parallel, strips: number, iterationNs: number | undefined): Plan {
  const widths = Array.from(sizes, (size) =>
    Math.max(1, Math.min(strips, size, iterationNs === undefined ? strips : worthBlocks(size * iterationNs))),
  )
  const firsts = new Int32Array(sizes.length + 1)
  for (const [step, width] of widths.entries()) firsts[step + 1] = firsts[step]! + width
  const count = firsts[sizes.length] ?? 0
  const lanes = new Int32Array(count)
  const stepOf = new Int32Array(count)
  for (const [step, width] of widths.entries()) {
    for (let strip = 0; strip < width; strip++) {
      lanes[firsts[step]! + strip] = strip
      stepOf[firsts[step]! + strip] = step
    }
  }
  const met = new Int32Array(sizes.length)
  const blockOf = of.map((step) => firsts[step]! + Math.floor((met[step]!++ * widths[step]!) / sizes[step]!))
  const width = widths.reduce((most, one) => Math.max(most, one), 1)
  return {
    blockOf,
    cuts: [Array.from({ length: count + 1 }, (_, block) => block)],
    count,
    width,
    lanes,
    laneCount: width,
    predecessorsOf: (block) => {
      const step = stepOf[block]!
      if (step === 0) return []
      return Array.from({ length: widths[step - 1]! }, (_, strip) => firsts[step - 1]! + strip)
    },
  }
}

function byTiles({ of, sizes }: Parallel, bands: number, strips: number): Plan {
  const levelCuts = cutByHistogram(sizes, bands)
  const positionCuts = cutEqual(of.length, strips)
  const bandOf = new Int32Array(sizes.length)
  for (let band = 0; band + 1 < levelCuts.length; band++) bandOf.fill(band, levelCuts[band], levelCuts[band + 1])
  const rows = levelCuts.length - 1
  const columns = positionCuts.length - 1
  const blockOf = new Int32Array(of.length)
  for (let strip = 0; strip < columns; strip++) {
    const end = positionCuts[strip + 1] ?? of.length
    for (let position = positionCuts[strip] ?? 0; position < end; position++) blockOf[position] = bandOf[of[position]!]! * columns + strip
  }
  return {
    blockOf,
    cuts: [levelCuts, positionCuts],
    count: rows * columns,
    width: Math.min(rows, columns),
    lanes: Int32Array.from({ length: rows * columns }, (_, block) => block % columns),
    laneCount: columns,
    predecessorsOf: (block) => [...(block >= columns ? [block - columns] : []), ...(block % columns > 0 ? [block - 1] : [])],
  }
}

/** Brent's bound: the longest chain of blocks, and the rest of the work spread over the workers. */
function estimatedNs(
  { blockOf, count, successorStart, successors }: Plan & Pick<BlockSchedule, 'successorStart' | 'successors'>,
  iterationNs: number,
): number {
  const sizes = sizesOf(blockOf, count)
  const start = new Float64Array(count)
  let work = 0
  let longest = 0
  for (let block = 0; block < count; block++) {
    const cost = BLOCK_NS + sizes[block]! * iterationNs
    const end = start[block]! + cost
    work += cost
    longest = Math.max(longest, end)
    for (let i = successorStart[block]!; i < successorStart[block + 1]!; i++) {
      const next = successors[i]!
      if (start[next]! < end) start[next] = end
    }
  }
  return longest + (work - longest) / WORKERS
}

function worthBlocks(ns: number): number {
  return Math.max(1, Math.floor(ns / WORTH_A_BLOCK_NS))
}
