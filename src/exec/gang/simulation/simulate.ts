/**
 * A discrete-event simulation of passes on machines that need not be there, by the plan that a gang of them would have. Times (`passTime.ts`)
 * are an estimate; bytes are those of a run.
 */

import type { DenseStorage, Storage } from '../../../core/arrays/storage.ts'
import type { Machines, Simulation } from '../../../core/loop/simulation.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { MeasuredWork, SimulatedPass } from '../../loops/kernelPass.ts'
import { predictedMs } from '../../loops/passCost.ts'
import { Belongings, type Keeping, type Needed } from '../movement/belongings.ts'
import { mostBytes } from '../movement/changes.ts'
import { bytesOfBoxes } from '../movement/edges.ts'
import { bytesOfBlocks, missingBlocks, type PortionedElements } from '../movement/elements.ts'
import { Movements, type Ranked } from '../movement/movement.ts'
import type { NumberedBox } from '../movement/moves.ts'
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
} from '../movement/needs.ts'
import { sizeOfRegion } from '../movement/passWire.ts'
import { placementOf } from '../movement/placement.ts'
import { betweenRounds, lanesOfRound, mostBytesOfCopies } from '../movement/rounds.ts'
import { mostSharedBytes } from '../movement/sharing.ts'
import type { Ends } from '../movement/transfers.ts'
import { joinMs, type PlacedPass, passTime, type Sent, type SimulatedLoop } from './passTime.ts'

/** Simulates two passes of a loop, or of its parts one after another. With `stays`, elements may stay where they were written. */
export function simulate(
  loops: readonly Omit<SimulatedLoop, 'besideMs'>[],
  machines: Machines,
  { stays }: { readonly stays: boolean },
): Simulation {
  const made = new MadeUp(machines.nodes)
  const { threads } = machines
  const placed = loops.map((loop, i) => made.place({ ...loop, aloneMs: workMs(loop, threads), besideMs: besideMs(loop, threads) }, `${i}`))
  const passes = [0, 1].map((pass) => {
    const each = placed.map((one) => {
      if ('because' in one) return { bytes: 0, made: 0, waitingMs: 0, milliseconds: hereMs(one.loop, machines.threads) }
      const sent = made.pass(one, pass, stays ? 'needed' : 'all')
      return { bytes: sent.bytes, made: sent.made, ...passTime(one, sent, machines) }
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

/** The work of a pass on so many threads: the least of passes on about as many, since others may have been held up; or else as estimated. */
export function workMs({ aloneMs, measured }: Pick<SimulatedLoop, 'aloneMs' | 'measured'>, threads: number): number {
  return least(measured, threads, ({ milliseconds }) => milliseconds) ?? aloneMs
}

/** What a pass takes beside its blocks, found in the same way; its estimate is the time of joining copies at the end of each round. */
export function besideMs(
  { measured, lanes, blocks: { rounds } }: Pick<SimulatedPass, 'measured' | 'lanes' | 'blocks'>,
  threads: number,
): number {
  const ends = (rounds?.length ?? 2) - 2
  return least(measured, threads, (work) => work.besideMs) ?? joinMs(lanesOfRound(lanes, true)) + ends * joinMs(lanesOfRound(lanes, false))
}

/** The least time of passes that ran on about as many threads; undefined where none is known. */
function least(measured: readonly MeasuredWork[], threads: number, of: (work: MeasuredWork) => number | undefined): number | undefined {
  const known = measured.flatMap((work) => {
    const milliseconds = of(work)
    return milliseconds === undefined ? [] : [{ far: Math.abs(work.workers - threads), milliseconds }]
  })
  if (known.length === 0) return undefined
  const nearest = Math.min(...known.map(({ far }) => far))
  return Math.min(...known.filter(({ far }) => far === nearest).map(({ milliseconds }) => milliseconds))
}

/** The time of a pass in one process of so many threads. */
function hereMs({ aloneMs, besideMs, blocks }: SimulatedLoop, threads: number): number {
  return predictedMs(aloneMs, blocks, threads) + besideMs
}

interface PlacedLoop extends PlacedPass {
  readonly id: string
  readonly movements: Movements<Ranked>
  /** The processes that take part, without rank 0. */
  readonly others: readonly Ranked[]
}

interface CountedSent extends Sent {
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
  pass({ loop: { inputs }, id, placement, movements, others }: PlacedLoop, pass: number, ends: Ends): CountedSent {
    const isChanged = (storage: Storage): boolean => pass > 0 && placement.arrays.some((one) => one.storage === storage && one.isWritten)
    const versionOf: VersionOf = (storage) => {
      const version = versionIn(inputs, storage)
      return version === undefined || !isChanged(storage) ? version : afterOneWrite(version)
    }
    const unfit = movements.unfit.reduce((sum, storage) => sum + this.#broughtHome(storage), 0)
    const made = (storage: Storage): MadeSpec | undefined => (isChanged(storage) ? undefined : madeIn(inputs, storage))
    const scanned = (storage: Storage): Needed['scanned'] => (isChanged(storage) ? undefined : scannedIn(inputs, storage))
    const needed = neededOf(placement, versionOf, { inputs, made, scanned })
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
