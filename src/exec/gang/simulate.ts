/**
 * A discrete-event simulation of a pass on machines that need not be there, by the plan that a gang of them would have: blocks run in the
 * order in which they become ready, on the threads of their nodes, and elements are sent between.
 *
 *     node 0    |send 1|send 2|  blocks ......... wait .. blocks ....|<- ends of 1 |<- of 2|
 *     node 1           |latency|  blocks ... edge -> ...... blocks |
 *
 * A node sends one thing after another, and rank 0 takes one thing after another. Times are an estimate; bytes are those of a run.
 */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import type { Machines, Simulation } from '../../core/loop/simulation.ts'
import type { MadeSpec } from '../arrays/makeArray.ts'
import type { BlockSchedule } from '../loops/blocks/schedule.ts'
import type { SimulatedPass } from '../loops/kernelPass.ts'
import { predictedMs } from '../loops/passCost.ts'
import type { Lanes } from '../loops/reductions/reductionCopies.ts'
import { type LinkCost, NOMINAL_COST } from './linkCost.ts'
import { Belongings, type Keeping, type Needed } from './movement/belongings.ts'
import { mostBytes } from './movement/changes.ts'
import { bytesOfBoxes } from './movement/edges.ts'
import { bytesOfBlocks, missingBlocks, type PortionedElements } from './movement/elements.ts'
import { Movements, type Ranked } from './movement/movement.ts'
import type { NodeMoves, NumberedBox } from './movement/moves.ts'
import {
  afterOneWrite,
  awayBytes,
  bytesMissing,
  madeIn,
  neededOf,
  scannedIn,
  settlePass,
  type VersionOf,
  versionIn,
  withoutMade,
} from './movement/needs.ts'
import { sizeOfRegion } from './movement/passWire.ts'
import { type Placement, placementOf } from './movement/placement.ts'
import { betweenRounds, lanesOfRound, mostBytesOfCopies } from './movement/rounds.ts'
import { mostSharedBytes } from './movement/sharing.ts'
import type { Ends } from './movement/transfers.ts'

/** Adding an element of one private copy to that of another: an estimate, of memory that no cache holds. */
const JOIN_MS = 0.8e-6

export interface SimulatedLoop extends SimulatedPass {
  /** The cost of links as measured in a gang; nominal unless given. */
  readonly links?: LinkCost
}

/** Simulates two passes of a loop, or of its parts one after another. With `stays`, elements may stay where they were written. */
export function simulate(loops: readonly SimulatedLoop[], machines: Machines, { stays }: { readonly stays: boolean }): Simulation {
  const made = new MadeUp(machines.nodes)
  const placed = loops.map((loop, i) => made.place(loop, `${i}`))
  const passes = [0, 1].map((pass) => {
    const each = placed.map((one) => {
      if ('because' in one) return { bytes: 0, made: 0, waitingMs: 0, milliseconds: hereMs(one.loop, machines.threads) }
      const sent = made.pass(one, pass, stays ? 'needed' : 'all')
      return { bytes: sent.bytes, made: sent.made, ...passOf(one, sent, machines) }
    })
    const sum = (of: 'bytes' | 'made' | 'waitingMs' | 'milliseconds'): number => each.reduce((total, one) => total + one[of], 0)
    return { bytes: sum('bytes'), made: sum('made'), waitingMs: sum('waitingMs'), milliseconds: sum('milliseconds') }
  })
  const [first, next] = passes as [(typeof passes)[number], (typeof passes)[number]]
  const nodes = Math.max(...placed.map((one) => ('because' in one ? 1 : new Set(one.placement.order.owners).size)))
  const [one] = placed
  return {
    nodes,
    threads: machines.threads,
    milliseconds: next.milliseconds,
    bytes: next.bytes,
    firstMilliseconds: first.milliseconds,
    firstBytes: first.bytes,
    madeBytes: first.made,
    changedBytes: placed.reduce((sum, own) => sum + ('because' in own ? 0 : changedBytesOf(own)), 0),
    waitingMilliseconds: next.waitingMs,
    ...(nodes === 1 && one !== undefined && 'because' in one ? { because: one.because } : {}),
  }
}

/** The time of a pass in one process of so many threads. */
function hereMs({ aloneMs, blocks, lanes }: SimulatedLoop, threads: number): number {
  const rounds = (blocks.rounds?.length ?? 2) - 1
  return predictedMs(aloneMs, blocks, threads) + joinMs(lanesOfRound(lanes, true)) + (rounds - 1) * joinMs(lanesOfRound(lanes, false))
}

function joinMs(lanes: readonly Lanes[]): number {
  return lanes.reduce((sum, { count, length }) => sum + count * length * JOIN_MS, 0)
}

interface PlacedLoop {
  readonly loop: SimulatedLoop
  readonly id: string
  readonly placement: Placement
  readonly movements: Movements<Ranked>
  /** The processes that take part, without rank 0. */
  readonly others: readonly Ranked[]
}

interface Sent {
  readonly nodes: readonly NodeMoves[]
  /** Bytes that come to rank 0 before it sends any. */
  readonly fetched: number
  /** Bytes of whole arrays, or what is missing of them, that rank 0 sends to each node before the pass. */
  readonly whole: readonly number[]
  readonly bytesOf: (boxes: readonly NumberedBox[]) => number
  readonly bytes: number
  /** Bytes of elements that nodes make by themselves. */
  readonly made: number
}

/** The state of imagined processes: the elements that each has are counted as a gang counts them, pass after pass. */
class MadeUp implements Keeping {
  readonly belongings: Belongings = new Belongings()
  readonly #numbers = new Map<Storage, number>()
  readonly #storages: Storage[] = []
  readonly #world: number
  readonly #others: readonly Ranked[]

  constructor(world: number) {
    this.#world = world
    this.#others = Array.from({ length: world - 1 }, (_, i) => ({ rank: i + 1 }))
  }

  numberOf(storage: Storage): number {
    const number = this.#numbers.get(storage) ?? this.#storages.push(storage) - 1
    this.#numbers.set(storage, number)
    return number
  }

  place(loop: SimulatedLoop, id: string): PlacedLoop | { readonly loop: SimulatedLoop; readonly because: string } {
    const { inputs, blocks, space, elements: byPlace } = loop
    const world = this.#world
    const placement = world === 1 ? { because: 'There is one node.' } : placementOf(inputs, { blocks, space, world, byPlace })
    if ('because' in placement) return { loop, because: placement.because }
    const others = this.#others.filter(({ rank }) => placement.bounds[rank] !== placement.bounds[rank + 1])
    return { loop, id, placement, movements: new Movements(this, blocks, placement, this.#others), others }
  }

  /** The bytes of a pass, and the state after it, by the steps of `GangLoop`. */
  pass({ loop: { inputs }, id, placement, movements, others }: PlacedLoop, pass: number, ends: Ends): Sent {
    const isChanged = (storage: Storage): boolean => pass > 0 && placement.arrays.some((one) => one.storage === storage && one.isWritten)
    const versionOf: VersionOf = (storage) => {
      const version = versionIn(inputs, storage)
      return version === undefined || !isChanged(storage) ? version : afterOneWrite(version)
    }
    const unfit = movements.unfit.reduce((sum, storage) => sum + this.#broughtHome(storage), 0)
    const made = (storage: Storage): MadeSpec | undefined => (isChanged(storage) ? undefined : madeIn(inputs, storage))
    const scanned = (storage: Storage): Needed['scanned'] => (isChanged(storage) ? undefined : scannedIn(inputs, storage))
    const needed = neededOf(placement, versionOf, { made, scanned })
    const { nodes: all, fetches, residences } = movements.next(versionOf, ends)
    const nodes = withoutMade(all, (number) => made(this.#storages[number] as Storage) !== undefined) // numbered here
    const bytesOf = (boxes: readonly NumberedBox[]): number => bytesOfBoxes(boxes, (number) => this.#storages[number] as DenseStorage) // boxes are of dense arrays
    const fetched = [...fetches.values()].reduce((sum, boxes) => sum + bytesOf(boxes), unfit)
    let ownBytes = bytesOf(all.flatMap(({ starts }) => starts)) - bytesOf(nodes.flatMap(({ starts }) => starts))
    const whole = nodes.map((_, rank) => {
      const other = others.find((one) => one.rank === rank)
      if (other === undefined) return 0
      const portioned = placement.elements === undefined ? 0 : this.#suppliedElements(other, placement.elements, versionOf)
      return needed.reduce((sum, one) => {
        const isOwn = one.made !== undefined || this.belongings.computes(other, this.numberOf(one.storage), one)
        const bytes = this.#supplied(other, id, one)
        if (!isOwn) return sum + bytes
        ownBytes += bytes
        return sum
      }, portioned)
    })
    settlePass(this, { id, inputs, placement, others }, needed, residences)
    const moved = nodes.reduce(
      (sum, { starts, sends, ends }) => sum + bytesOf(starts) + bytesOf(sends.flatMap(({ boxes }) => boxes)) + bytesOf(ends),
      0,
    )
    return { nodes, fetched, whole, bytesOf, bytes: fetched + moved + whole.reduce((sum, bytes) => sum + bytes, 0), made: ownBytes }
  }

  #supplied(other: Ranked, loop: string, needed: Needed): number {
    const number = this.numberOf(needed.storage)
    const missing = this.belongings.missing(other, loop, number, needed)
    if (missing.length === 0) return 0
    this.belongings.supplied(other, number, needed)
    return needed.isShape ? 0 : bytesMissing(missing, needed.storage)
  }

  #suppliedElements(other: Ranked, elements: PortionedElements, versionOf: VersionOf): number {
    const number = this.numberOf(elements.name)
    const [version, own] = [versionOf(elements.storage), elements.own[other.rank] as Int32Array] // one of each node
    const missing = missingBlocks(this.belongings, other, number, { version, own })
    this.belongings.holdBlocks(other, number, { version, blocks: own })
    return bytesOfBlocks(elements, missing)
  }

  #broughtHome(storage: Storage): number {
    const bytes = awayBytes(this, storage)
    if (bytes > 0) this.belongings.brought(this.numberOf(storage))
    return bytes
  }
}

/** The most bytes of changed words of compared arrays, with their positions, of the private copies of nodes above 0, and between rounds. */
function changedBytesOf(placed: PlacedLoop): number {
  const {
    loop: { lanes, blocks, inputs },
    placement: { arrays, bounds, order },
  } = placed
  const others = new Set(order.owners).size - 1
  const compared = arrays.reduce((sum, { kind, storage }) => sum + (kind === 'compared' ? mostBytes(sizeOfRegion(storage)) : 0), 0)
  const copies = mostBytesOfCopies(lanes, bounds.slice(1))
  const between = betweenRounds(placed.loop, placed.placement)
  const shared = inputs.buffers.size === 0 ? 0 : mostSharedBytes({ blocks, lanes }, bounds)
  return compared * others + copies + between.count * (between.updates + others * between.flushed) + shared
}

function passOf(
  placed: PlacedLoop,
  { nodes, fetched, whole, bytesOf }: Sent,
  { threads, bytesPerMs, latencyMs: wayMs }: Machines,
): { readonly milliseconds: number; readonly waitingMs: number } {
  const {
    loop: { blocks, aloneMs, lanes, links = NOMINAL_COST },
    placement: {
      arrays,
      bounds,
      order: { owners },
    },
  } = placed
  const takeMs = (bytes: number): number => bytes / bytesPerMs + bytes * links.msPerByte
  const latencyMs = wayMs + links.messageMs
  const sendFree = new Float64Array(nodes.length)
  sendFree[0] = fetched === 0 ? 0 : 2 * latencyMs + takeMs(fetched)
  const asked = sendFree[0]
  const start = nodes.map(({ starts }, node) => {
    if (node === 0) return asked
    sendFree[0]! += takeMs(bytesOf(starts) + (whole[node] as number))
    return (sendFree[0] as number) + latencyMs
  })
  const free = nodes.map((_, node) => new Float64Array(threads).fill(start[node] as number))
  const last = Float64Array.from(start)
  const busy = new Float64Array(nodes.length)
  const queue = new ReadyBlocks(blocks, owners, nodes)
  const { rounds = [0, blocks.count] } = blocks
  const between = betweenRounds(placed.loop, placed.placement)
  for (const [round, from] of rounds.slice(0, -1).entries()) {
    if (round > 0) barrier()
    queue.open(from, rounds[round + 1] as number)
    runBlocks()
  }
  function runBlocks(): void {
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
  }

  /** Joins the nodes' updates once all have done a round, and sends the changed elements back to them. */
  function barrier(): void {
    const others = nodes.flatMap((_, node) => (node > 0 && owners.includes(node) ? node : []))
    let at = last[0] as number
    for (const node of others) at = Math.max(at, (last[node] as number) + latencyMs) + takeMs(between.updates / others.length)
    at += joinMs(lanesOfRound(lanes, false))
    ;(free[0] as Float64Array).fill(at)
    for (const node of others) {
      at += takeMs(between.flushed)
      ;(free[node] as Float64Array).fill(at + latencyMs)
    }
  }

  const world = new Set(owners).size
  const copies = mostBytesOfCopies(lanes, bounds.slice(1))
  const compareMs = arrays.reduce(
    (sum, { kind, storage }) => sum + (kind === 'compared' ? sizeOfRegion(storage).byteLength * links.msPerByte : 0),
    0,
  )
  const arrivals = nodes.flatMap(({ ends }, node) => {
    if (node === 0 || !owners.includes(node)) return []
    return [{ at: (last[node] as number) + compareMs + latencyMs, takes: takeMs(bytesOf(ends) + copies / (world - 1)) }]
  })
  let milliseconds = last[0] as number
  for (const { at, takes } of arrivals.sort((a, b) => a.at - b.at)) milliseconds = Math.max(milliseconds, at) + takes
  milliseconds += joinMs(lanes)
  const idle = nodes.map((_, node) => (last[node] as number) - (start[node] as number) - (busy[node] as number) / threads)
  return { milliseconds, waitingMs: idle.reduce((sum, ms) => sum + ms, 0) / nodes.length }
}

/** The ready queue of each node: blocks that wait for nothing any more, in the order in which they became ready. */
class ReadyBlocks {
  readonly #owners: Int32Array
  readonly #waits: Int32Array
  readonly #readyAt: Float64Array
  readonly #ready: number[][]
  readonly #sends = new Map<number, NodeMoves['sends'][number][]>()
  readonly #releases = new Map<string, readonly number[]>()
  #end = 0

  constructor({ count, successorStart, successors }: BlockSchedule, owners: Int32Array, nodes: readonly NodeMoves[]) {
    this.#owners = owners
    this.#waits = new Int32Array(count)
    this.#readyAt = new Float64Array(count)
    for (let block = 0; block < count; block++) {
      for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
        const after = successors[i] as number
        if (owners[after] === owners[block]) this.#waits[after]!++ // waits for other nodes are counted below
      }
    }
    this.#ready = nodes.map(() => [])
    for (const [node, { sends, takes }] of nodes.entries()) {
      for (const send of sends) this.#sends.set(send.block, [...this.sendsOf(send.block), send])
      for (const { block, releases } of takes) {
        this.#releases.set(`${block} ${node}`, releases)
        for (const after of releases) this.#waits[after]!++
      }
    }
  }

  /** Admits blocks `from` up to `to`, those of a round, and makes those ready that wait for nothing. */
  open(from: number, to: number): void {
    this.#end = to
    for (let block = from; block < to; block++) if (this.#waits[block] === 0) this.#ready[this.#owners[block] as number]?.push(block)
  }

  sendsOf(block: number): readonly NodeMoves['sends'][number][] {
    return this.#sends.get(block) ?? []
  }

  releasedBy(block: number, node: number): readonly number[] {
    return this.#releases.get(`${block} ${node}`) ?? []
  }

  release(block: number, at: number): void {
    this.#readyAt[block] = Math.max(this.#readyAt[block] as number, at)
    if (--this.#waits[block]! > 0 || block >= this.#end) return
    const list = this.#ready[this.#owners[block] as number] as number[]
    let place = list.length
    while (place > 0 && (this.#readyAt[list[place - 1] as number] as number) > (this.#readyAt[block] as number)) place--
    list.splice(place, 0, block)
  }

  /** Takes the block that can begin before all others, given when threads are free; undefined after the last. */
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
