/**
 * A pass on machines that need not be there, by the plan that a gang of them would have: blocks in the order in which they become ready,
 * on the threads of their nodes, and what is sent between.
 *
 *     node 0    |send 1|send 2|  blocks ......... wait .. blocks ....|<- ends of 1 |<- of 2|
 *     node 1           |latency|  blocks ... edge -> ...... blocks |
 *
 * A node sends one thing after another, and rank 0 takes one thing after another. Times are an estimate; bytes are those of a run.
 */
import type { Machines, Simulation } from '../../core/simulation.ts'
import type { DenseStorage, Storage } from '../../core/storage.ts'
import type { BlockSchedule, IterationSpace } from '../loops/blockSchedule.ts'
import type { Lanes } from '../loops/lanes.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import { predictedMs } from '../loops/passCost.ts'
import { bytesOfBoxes } from './edges.ts'
import { movesOf, type NodeMoves } from './moves.ts'
import { regionOf } from './passWire.ts'
import { onlyFirst, type Placed, type Placement, placementOf } from './placement.ts'
import { bytesOfStorage } from './storageWire.ts'
import { firstHolders, type Holders, transfersOf } from './transfers.ts'

/** Sending and receiving a byte, beside the time that it is on its way; comparing it. */
const MS_PER_BYTE = 4e-6

export interface SimulatedLoop {
  readonly inputs: LoopInputs
  readonly blocks: BlockSchedule
  readonly space: IterationSpace
  readonly lanes: readonly Lanes[]
  /** Of a pass on one thread. */
  readonly aloneMs: number
  /** What is written stays where it is, unless the next pass needs it elsewhere. */
  readonly stays: boolean
}

export function simulate(loop: SimulatedLoop, machines: Machines): Simulation {
  const { blocks, aloneMs } = loop
  const { nodes: world, threads } = machines
  const placement = world === 1 ? { because: 'There is one node.' } : placementOf(loop.inputs, { blocks, space: loop.space, world })
  if ('because' in placement) {
    const milliseconds = predictedMs(aloneMs, blocks, threads)
    const { because } = placement
    const nothing = { bytes: 0, firstBytes: 0, changedBytes: 0, waitingMilliseconds: 0 }
    return { nodes: 1, threads, milliseconds, firstMilliseconds: milliseconds, ...nothing, because }
  }
  const [first, next] = trafficOf(loop, placement, world)
  const [before, after] = [passOf(loop, placement, first, machines), passOf(loop, placement, next, machines)]
  return {
    nodes: new Set(placement.order.owners).size,
    threads,
    milliseconds: after.milliseconds,
    bytes: next.bytes,
    firstMilliseconds: before.milliseconds,
    firstBytes: first.bytes,
    changedBytes: changedBytesOf(loop, placement),
    waitingMilliseconds: after.waitingMs,
  }
}

/** Of loops that run one after another. */
export function sumOf(simulations: readonly Simulation[]): Simulation {
  const sum = (of: (one: Simulation) => number): number => simulations.reduce((total, one) => total + of(one), 0)
  const { threads, because } = simulations[0] as Simulation // of one at least
  const nodes = Math.max(...simulations.map((one) => one.nodes))
  return {
    nodes,
    threads,
    milliseconds: sum((one) => one.milliseconds),
    bytes: sum((one) => one.bytes),
    firstMilliseconds: sum((one) => one.firstMilliseconds),
    firstBytes: sum((one) => one.firstBytes),
    changedBytes: sum((one) => one.changedBytes),
    waitingMilliseconds: sum((one) => one.waitingMilliseconds),
    ...(nodes === 1 && because !== undefined ? { because } : {}),
  }
}

interface Sent {
  readonly nodes: readonly NodeMoves[]
  /** Whole arrays that rank 0 sends to each node. */
  readonly whole: readonly number[]
  readonly bytesOf: (boxes: NodeMoves['starts']) => number
  readonly bytes: number
}

/** Of the first pass, and of those that follow: as `GangLoop` settles what others have. */
function trafficOf({ inputs, blocks, stays }: SimulatedLoop, { arrays, order }: Placement, world: number): readonly [Sent, Sent] {
  const storages = arrays.map(({ storage }) => storage)
  const flushed = new Set<Storage>([...inputs.buffers.values()].map(({ storage }) => storage))
  const bytesOf = (boxes: NodeMoves['starts']): number => bytesOfBoxes(boxes, (number) => storages[number] as DenseStorage) // boxes are of dense arrays
  const takesPart = Array.from({ length: world }, (_, node) => order.owners.includes(node))
  const holders = new Map<Placed, Holders>()
  const sent = (isFirst: boolean): Sent => {
    const traffic = arrays.flatMap((placed, storage) => {
      if (placed.kind !== 'boxes') return []
      const { cells, version } = placed
      const known = holders.get(placed)
      // what lies elsewhere is as it was left, whatever its version
      const isKnown = known !== undefined && (version !== undefined || known.subarray(0, cells.count).includes(0))
      const before = isKnown ? known : firstHolders(cells.count, onlyFirst(world))
      const found = transfersOf(cells, order, before, stays ? 'needed' : 'all')
      if ('because' in found) return [] // whoever placed the array has found some
      holders.set(placed, found.holders)
      return [{ storage, transfers: found.transfers }]
    })
    const nodes = movesOf(blocks, order.owners, world, traffic)
    const isSent = ({ kind, version, isWritten, storage }: Placed): boolean => {
      if (kind !== 'whole' && kind !== 'compared') return false
      return isFirst || version === undefined || (kind === 'whole' ? isWritten : flushed.has(storage))
    }
    const each = arrays.reduce((sum, placed) => sum + (isSent(placed) ? bytesOfStorage(placed.storage) : 0), 0)
    const whole = takesPart.map((takes, node) => (takes && node > 0 ? each : 0))
    const moved = nodes.reduce(
      (sum, { starts, sends, ends }) => sum + bytesOf(starts) + bytesOf(sends.flatMap(({ boxes }) => boxes)) + bytesOf(ends),
      0,
    )
    return { nodes, whole, bytesOf, bytes: moved + whole.reduce((sum, bytes) => sum + bytes, 0) }
  }
  return [sent(true), sent(false)]
}

/** Words of arrays that are compared, each with where it lies, and of the private copies of nodes above 0. */
function changedBytesOf({ lanes }: SimulatedLoop, { arrays, bounds, order }: Placement): number {
  const others = new Set(order.owners).size - 1
  const compared = arrays.reduce((sum, { kind, storage }) => sum + (kind === 'compared' ? mostBytes(regionOf(storage)) : 0), 0)
  const [first, count] = [bounds[1] as number, bounds.at(-1) as number]
  const copies = lanes.reduce((sum, { data, touched, length }) => {
    const one = mostBytes(data.subarray(0, length)) + (touched === undefined ? 0 : mostBytes(touched.subarray(0, length)))
    return sum + one * (count - first)
  }, 0)
  return compared * others + copies
}

/** A run of changed words is told by two numbers. */
function mostBytes(region: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }): number {
  const width = Math.min(4, region.BYTES_PER_ELEMENT)
  return region.byteLength + Math.ceil(region.byteLength / width / 2) * 16
}

function passOf(
  { blocks, aloneMs }: SimulatedLoop,
  { arrays, order: { owners } }: Placement,
  { nodes, whole, bytesOf }: Sent,
  { threads, bytesPerMs, latencyMs }: Machines,
): { readonly milliseconds: number; readonly waitingMs: number } {
  const takeMs = (bytes: number): number => bytes / bytesPerMs + bytes * MS_PER_BYTE
  const sendFree = new Float64Array(nodes.length)
  const start = nodes.map(({ starts }, node) => {
    if (node === 0) return 0
    sendFree[0]! += takeMs(bytesOf(starts) + (whole[node] as number))
    return (sendFree[0] as number) + latencyMs
  })
  const free = nodes.map((_, node) => new Float64Array(threads).fill(start[node] as number))
  const last = Float64Array.from(start)
  const busy = new Float64Array(nodes.length)
  const queue = new ReadyBlocks(blocks.count, owners, nodes).begin(blocks)
  for (let block = queue.next(free); block !== undefined; block = queue.next(free)) {
    const node = owners[block.number] as number
    const size = (blocks.to[block.number] as number) - (blocks.from[block.number] as number)
    const took = blocks.iterations === 0 ? 0 : (aloneMs * size) / blocks.iterations
    const end = block.start + took
    ;(free[node] as Float64Array)[block.thread] = end
    busy[node]! += took
    last[node] = Math.max(last[node] as number, end)
    for (let i = blocks.successorStart[block.number] as number; i < (blocks.successorStart[block.number + 1] as number); i++) {
      const after = blocks.successors[i] as number
      if (owners[after] === node) queue.release(after, end)
    }
    for (const { to, boxes } of queue.sendsOf(block.number)) {
      sendFree[node] = Math.max(sendFree[node] as number, end) + takeMs(bytesOf(boxes))
      for (const after of queue.releasedBy(block.number, to)) queue.release(after, (sendFree[node] as number) + latencyMs)
    }
  }
  const compareMs = arrays.reduce(
    (sum, { kind, storage }) => sum + (kind === 'compared' ? regionOf(storage).byteLength * MS_PER_BYTE : 0),
    0,
  )
  const arrivals = nodes.flatMap(({ ends }, node) => {
    if (node === 0 || !owners.includes(node)) return []
    return [{ at: (last[node] as number) + compareMs + latencyMs, takes: takeMs(bytesOf(ends)) }]
  })
  let milliseconds = last[0] as number
  for (const { at, takes } of arrivals.sort((a, b) => a.at - b.at)) milliseconds = Math.max(milliseconds, at) + takes
  const idle = nodes.map((_, node) => (last[node] as number) - (start[node] as number) - (busy[node] as number) / threads)
  return { milliseconds, waitingMs: idle.reduce((sum, ms) => sum + ms, 0) / nodes.length }
}

/** Blocks that wait for nothing any more, on each node in the order in which they became ready. */
class ReadyBlocks {
  readonly #owners: Int32Array
  readonly #waits: Int32Array
  readonly #readyAt: Float64Array
  readonly #ready: number[][]
  readonly #sends = new Map<number, NodeMoves['sends'][number][]>()
  readonly #releases = new Map<string, readonly number[]>()

  constructor(count: number, owners: Int32Array, nodes: readonly NodeMoves[]) {
    this.#owners = owners
    this.#waits = new Int32Array(count)
    this.#readyAt = new Float64Array(count)
    this.#ready = nodes.map(() => [])
    for (const [node, { sends, takes }] of nodes.entries()) {
      for (const send of sends) this.#sends.set(send.block, [...this.sendsOf(send.block), send])
      for (const { block, releases } of takes) {
        this.#releases.set(`${block} ${node}`, releases)
        for (const after of releases) this.#waits[after]!++
      }
    }
  }

  /** Counts what a block waits for in its own node, and lets those go that wait for nothing. */
  begin({ successorStart, successors, count }: BlockSchedule): this {
    for (let block = 0; block < count; block++) {
      for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
        const after = successors[i] as number
        if (this.#owners[after] === this.#owners[block]) this.#waits[after]!++
      }
    }
    for (let block = 0; block < count; block++) if (this.#waits[block] === 0) this.#ready[this.#owners[block] as number]?.push(block)
    return this
  }

  sendsOf(block: number): readonly NodeMoves['sends'][number][] {
    return this.#sends.get(block) ?? []
  }

  releasedBy(block: number, node: number): readonly number[] {
    return this.#releases.get(`${block} ${node}`) ?? []
  }

  release(block: number, at: number): void {
    this.#readyAt[block] = Math.max(this.#readyAt[block] as number, at)
    if (--this.#waits[block]! > 0) return
    const list = this.#ready[this.#owners[block] as number] as number[]
    let place = list.length
    while (place > 0 && (this.#readyAt[list[place - 1] as number] as number) > (this.#readyAt[block] as number)) place--
    list.splice(place, 0, block)
  }

  /** The block that begins before all others, given when threads are free; undefined after the last. */
  next(free: readonly Float64Array[]): { readonly number: number; readonly start: number; readonly thread: number } | undefined {
    let found: { node: number; start: number; thread: number } | undefined
    for (const [node, [block]] of this.#ready.entries()) {
      if (block === undefined) continue
      const own = free[node] as Float64Array
      let thread = 0
      for (let i = 1; i < own.length; i++) if ((own[i] as number) < (own[thread] as number)) thread = i
      const start = Math.max(own[thread] as number, this.#readyAt[block] as number)
      if (found === undefined || start < found.start) found = { node, start, thread }
    }
    if (found === undefined) return undefined
    const number = this.#ready[found.node]?.shift() as number // found there
    return { number, start: found.start, thread: found.thread }
  }
}
