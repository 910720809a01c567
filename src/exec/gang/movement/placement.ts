/**
 * The way in which each array of a loop comes to the processes that run its blocks, and back: by boxes where the analysis knows what
 * blocks touch, and otherwise by a way that is always right.
 *
 *     whole      read only: sent as it is, once for each version
 *     added      only its shape is needed: blocks add to copies of their lanes, and read none of it
 *     boxes      the elements that blocks touch, when they need them (`transfers.ts`)
 *     compared   sent whole; what has changed is found by comparing with a copy, and goes back: right where no block reads what one of
 *                another process writes
 */

import type { DenseStorage, SparseStorage, Storage } from '../../../core/arrays/storage.ts'
import { defined } from '../../../core/defined.ts'
import { readIn } from '../../../core/ir/irFacts.ts'
import type { AnalyzedLoop } from '../../../core/loop/loopSpec.ts'
import { plannedKind } from '../../../core/loop/schedules.ts'
import type { BlockSchedule, IterationSpace } from '../../loops/blocks/schedule.ts'
import { isOrdered } from '../../loops/kernelLayout.ts'
import type { LoopInputs } from '../../loops/loopInputs.ts'
import { whyNotDefined } from '../definition.ts'
import { whyNotSent } from '../storageWire.ts'
import { elementsOf, type PlacedElements } from './elements.ts'
import { joinedByOwner, touchesOf } from './touches.ts'
import {
  type BlockOrder,
  type Cells,
  cellsOf,
  firstHolders,
  type Holders,
  precedence,
  type Touch,
  type Transfer,
  transfersOf,
} from './transfers.ts'

export type Placed = {
  readonly storage: Storage
  readonly label: string
  readonly version: string | undefined
  readonly isWritten: boolean
} & (
  | { readonly kind: 'whole' }
  | { readonly kind: 'added' }
  /** `isOwn`: each element is touched by the iteration that goes over it, and by no other. */
  | { readonly kind: 'compared'; readonly because: string; readonly isOwn: boolean }
  | { readonly kind: 'boxes'; readonly storage: DenseStorage; readonly cells: Cells; readonly touches: readonly (readonly Touch[])[] }
)

export interface Placement extends PlacedElements {
  /** All arrays but one of which processes have `elements`. */
  readonly arrays: readonly Placed[]
  readonly order: BlockOrder
  /** The order of what touches of arrays are of: blocks, or processes, each as one block, where no block waits for another. */
  readonly touching: BlockOrder
  /** The first lane of each process, and the number of lanes at the end. */
  readonly bounds: readonly number[]
  /** Arrays that are flushed into between the rounds of a pass, and read in them. */
  readonly flushed: readonly DenseStorage[]
}

interface FirstRows {
  readonly from: number
  readonly to: number
}

/** The rows of each node, kept since each pass asks again. */
const rowsFound = new WeakMap<Placed, ReadonlyMap<number, FirstRows>>()

/** The range of rows of the first axis that the blocks of a node touch; empty where they touch nothing. */
export function rowsOf(placed: Placed & { readonly kind: 'boxes' }, { touching }: Placement, node: number): FirstRows {
  const found = rowsFound.get(placed) ?? rowsByNode(placed, touching)
  rowsFound.set(placed, found)
  const { from, to } = found.get(node) ?? NO_ROWS
  return from < to ? { from, to } : NO_ROWS
}

const NO_ROWS: FirstRows = { from: 0, to: 0 }

function rowsByNode({ touches }: Placed & { readonly kind: 'boxes' }, { owners }: BlockOrder): ReadonlyMap<number, FirstRows> {
  const found = new Map<number, FirstRows>()
  for (const [block, list] of touches.entries()) {
    const owner = owners[block] as number // one of each block
    let { from, to } = found.get(owner) ?? { from: Number.POSITIVE_INFINITY, to: 0 }
    for (const { box } of list) [from, to] = [Math.min(from, box[0] ?? 0), Math.max(to, box[1] ?? 1)]
    found.set(owner, { from, to })
  }
  return found
}

export function labelIn({ arrays }: Placement, storage: Storage): string {
  return arrays.find((one) => one.storage === storage)?.label ?? ''
}

/** The part of an array that the others read, on average, above which they are sent all of it: of two processes each may read half. */
const MOST_READ = 3 / 4
/** The part of an array's elements above which sending what blocks read of others in each pass is no better than comparing what has changed. */
const MOST_AGAIN = 1 / 4

export interface PlacedOn {
  readonly blocks: BlockSchedule
  readonly space: IterationSpace
  readonly world: number
  /** The elements of a sparse array that the loop goes over, by place (`KernelLoop.elements`). */
  readonly byPlace: SparseStorage | undefined
}

/** The placement of a loop on `world` processes, or the reason why it stays in one. */
export function placementOf(inputs: LoopInputs, { blocks, space, world, byPlace }: PlacedOn): Placement | { readonly because: string } {
  const { kind } = blocks
  if (kind === 'stepped' || kind === 'colored' || kind === 'serial')
    return { because: `A ${plannedKind(kind)} schedule runs in one process.` }
  if (blocks.count < 2) return { because: 'There is one block.' }
  if (blocks.rounds !== undefined && blocks.forms !== undefined)
    return { because: 'An update buffer is flushed between rounds of blocks that are cut askew.' }
  if (blocks.laneCount < 2) return { because: 'There is one row of blocks.' }
  const why = whyNotDefined(inputs)
  if (why !== undefined) return { because: why }
  const bounds = evenly(blocks, world)
  const owners = Int32Array.from(blocks.lanes, (lane) => bounds.findLastIndex((first) => first <= lane))
  const isFree = !isOrdered(blocks)
  const order: BlockOrder = { owners, isFree, precedes: isFree ? () => false : precedence(blocks.count, blocks) }
  const joined = isFree ? joinedByOwner(blocks, owners) : undefined
  const touching = joined === undefined ? order : { ...order, owners: joined.owners }
  const elements = elementsOf(inputs, { blocks, byPlace, owners, world })
  const isPortioned = elements !== undefined && !('because' in elements)
  const arrays: Placed[] = []
  for (const [storage, uses] of usesOf(inputs)) {
    if (isPortioned && storage === elements.storage) continue
    const placed = placedAs(storage, uses, { inputs, blocks: joined?.blocks ?? blocks, space, order: touching, world })
    if ('stays' in placed) return { because: placed.stays }
    arrays.push(placed)
  }
  const portioned = isPortioned ? { elements } : defined({ whyWhole: elements?.because })
  return { arrays, order, touching, bounds, flushed: flushedAndRead(inputs), ...portioned }
}

function flushedAndRead(inputs: LoopInputs): DenseStorage[] {
  const flushed = [...inputs.buffers.values()].flatMap(({ storage, rounds }) => (rounds === undefined ? [] : storage))
  const uses = usesOf(inputs)
  return [...new Set(flushed)].filter((storage) => areRead(uses.get(storage) ?? [], inputs))
}

function areRead(uses: readonly Use[], { analyzed: { ir } }: LoopInputs): boolean {
  const read = ir === undefined ? undefined : readIn(ir.body)
  return uses.some(({ as, name }) => as === 'over' || read === undefined || read.has(name))
}

interface Use {
  readonly array: number
  /** The array's name in the body; empty where the loop goes over it. */
  readonly name: string
  readonly label: string
  readonly version?: () => string
  readonly as: 'over' | 'array' | 'buffer'
}

function usesOf(inputs: LoopInputs): ReadonlyMap<Storage, readonly Use[]> {
  const { over, arrays, buffers, analyzed } = inputs
  const found = new Map<Storage, Use[]>()
  const add = (storage: Storage, use: Use): void => void found.set(storage, [...(found.get(storage) ?? []), use])
  if (over.kind === 'storage') add(over.storage, { ...over, name: '', label: analyzed.spec.over.label, as: 'over' })
  for (const [name, input] of arrays) add(input.storage, { ...input, name, as: 'array' })
  for (const [name, input] of buffers) add(input.storage, { ...input, name, as: 'buffer' })
  return found
}

function placedAs(
  storage: Storage,
  uses: readonly Use[],
  context: {
    readonly inputs: LoopInputs
    readonly blocks: BlockSchedule
    readonly space: IterationSpace
    readonly order: BlockOrder
    readonly world: number
  },
): Placed | { readonly stays: string } {
  const { inputs, order, world } = context
  const { writtenArrays, reducedArrays, privateArrays } = inputs.analyzed
  const [first] = uses as readonly [Use, ...Use[]] // found by its uses
  const { array, label } = first
  const reason = whyNotSent(storage)
  if (reason !== undefined) return { stays: `${label} ${reason}, which cannot be sent to another process.` }
  const isBuffered = uses.some(({ as }) => as === 'buffer')
  const isAdded = reducedArrays.includes(array)
  const isInPlace = writtenArrays.includes(array) && !isAdded && uses.some(({ as }) => as !== 'buffer')
  const shared = { storage, label, version: first.version?.(), isWritten: isBuffered || writtenArrays.includes(array) }
  if (storage.kind === 'dense' && isAdded && !isBuffered) return { ...shared, kind: 'added' }
  if (isBuffered && !isInPlace) return { ...shared, kind: areRead(uses, inputs) ? 'whole' : 'added' }
  const isAlone = uses.every(({ as }) => as === 'over')
  const compared = (because: string, isRight: boolean): Placed | { readonly stays: string } =>
    isRight
      ? { ...shared, kind: 'compared', because, isOwn: isAlone }
      : { stays: `Which elements of ${label} go where is not known: ${because}.` }
  if (storage.kind !== 'dense') {
    if (!isInPlace) return { ...shared, kind: 'whole' }
    // an element that the loop goes over is touched by its own iteration alone
    return compared('it is not dense', order.isFree || isAlone)
  }
  if (isBuffered) return compared('a buffer is flushed into it', order.isFree && context.blocks.rounds === undefined)
  if (privateArrays.includes(array)) return compared('each worker has a copy of it', true)
  if (uses.some((use) => use.array !== array)) return compared('it has several names', order.isFree)
  const found = touchedIn(inputs, context, { array, storage })
  const { touches, cells } = found
  if ('because' in cells) return isInPlace ? compared(cells.because, order.isFree) : { ...shared, kind: 'whole' }
  const boxes: Placed = { ...shared, kind: 'boxes', storage, cells, touches }
  if (found.isOrdered && isInPlace) return boxes
  const traffic = transfersOf(cells, order, firstHolders(cells.count, onlyFirst(world)))
  if ('because' in traffic) return isInPlace ? compared(traffic.because, order.isFree) : { ...shared, kind: 'whole' }
  found.isOrdered = !order.isFree
  if (isInPlace && order.isFree && sentAgain(cells, order, traffic.holders) > MOST_AGAIN * elementsIn(storage))
    return compared('each process reads much of what the others write', true)
  // a process that reads most of an array can as well have all of it: other loops find it there
  if (!isInPlace && sizeOf(traffic.transfers) > MOST_READ * (world - 1) * elementsIn(storage)) return { ...shared, kind: 'whole' }
  return boxes
}

function elementsIn({ shape }: DenseStorage): number {
  return shape.reduce((size, extent) => size * extent, 1)
}

/** The elements that each pass after the first sends between processes, which hold what the one before has left to them. */
function sentAgain(cells: Cells, order: BlockOrder, holders: Holders): number {
  const traffic = transfersOf(cells, order, holders, 'needed')
  return 'because' in traffic ? Number.POSITIVE_INFINITY : sizeOf(traffic.transfers) + sizeOf(traffic.fetches)
}

/** Whether the same blocks touch the same elements. Inputs of one loop may differ in that, where subscripts follow captured values. */
export function isPlacedAs(one: AnalyzedLoop, other: AnalyzedLoop): boolean {
  return one.footprints === other.footprints || JSON.stringify(one.footprints) === JSON.stringify(other.footprints)
}

/** What blocks touch of an array, whichever processes run them. */
interface Touched {
  readonly of: AnalyzedLoop
  readonly touches: readonly (readonly Touch[])[]
  readonly cells: ReturnType<typeof cellsOf>
  /** Whether blocks that wait for each other were found to be in order where they touch the same elements. */
  isOrdered: boolean
}

/** Kept as long as the blocks and what they touch: a loop is placed anew whenever a process is lost or joins, which the others wait for. */
const known = new WeakMap<BlockSchedule, Map<number, Touched>>()

function touchedIn(
  inputs: LoopInputs,
  context: { readonly blocks: BlockSchedule; readonly space: IterationSpace },
  { array, storage }: { readonly array: number; readonly storage: DenseStorage },
): Touched {
  const ofBlocks = known.get(context.blocks) ?? new Map<number, Touched>()
  known.set(context.blocks, ofBlocks)
  const found = ofBlocks.get(array)
  if (found !== undefined && isPlacedAs(found.of, inputs.analyzed)) return found
  const touches = touchesOf(inputs, context, { array, storage })
  const touched = { of: inputs.analyzed, touches, cells: cellsOf(touches), isOrdered: false }
  ofBlocks.set(array, touched)
  return touched
}

export function onlyFirst(world: number): boolean[] {
  return Array.from({ length: world }, (_, node) => node === 0)
}

/** Elements of all boxes. */
function sizeOf(boxes: readonly Pick<Transfer, 'box'>[]): number {
  return boxes.reduce((sum, { box }) => {
    let size = 1
    for (let i = 0; i < box.length; i += 2) size *= (box[i + 1] as number) - (box[i] as number)
    return sum + size
  }, 0)
}

/** Cuts lanes into parts of about as many iterations, each with a lane where there are enough: the first lane of each, and the number of lanes. */
function evenly({ from, to, lanes, laneCount }: BlockSchedule, parts: number): number[] {
  const sizes = new Float64Array(laneCount)
  for (const [block, lane] of lanes.entries()) sizes[lane]! += (to[block] as number) - (from[block] as number)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const bounds = [0]
  let [lane, before] = [0, 0]
  for (let part = 1; part < parts; part++) {
    const least = Math.min(part, laneCount)
    const most = Math.max(least, laneCount - (parts - part))
    const goal = (total * part) / parts
    for (; lane < most; lane++) {
      const size = sizes[lane] as number
      if (lane >= least && before + size / 2 > goal) break
      before += size
    }
    bounds.push(lane)
  }
  return [...bounds, laneCount]
}
