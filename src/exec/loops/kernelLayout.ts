/**
 * Lays a compiled loop out in memory: its blocks, the words by which workers claim them, and all that the kernel reads
 * beside the arrays themselves. Made once; passes reset it.
 */

import { ARRAY_OF_DTYPE, type SparseStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { Bug, MemoryError } from '../../core/errors.ts'
import type { Primitive } from '../../core/ir/functionIr.ts'
import { cutOrderOf } from '../../core/loop/schedules.ts'
import type { Scratch } from '../kernels/loops/wasmBinding.ts'
import { scratchOfAccumulators } from '../kernels/loops/wasmIteration.ts'
import { KEPT_DOUBLES, keptAt } from '../kernels/passes/keptRows.ts'
import type { Arena } from '../memory/arena.ts'
import { type Lease, leaseBlocks } from '../memory/lease.ts'
import { type ClaimedBlocks, type SharedBlocks, shareBlocks } from './blocks/claimedBlocks.ts'
import { type CompiledLoop, cutKernel, type KernelBlocks, widthOf } from './blocks/kernelBlocks.ts'
import { placeElements } from './blocks/placedElements.ts'
import type { BlockSchedule } from './blocks/schedule.ts'
import { type ClaimState, startWords } from './claims/claimWords.ts'
import { estimatedPassMs } from './estimate.ts'
import type { Gather } from './gather.ts'
import { updateOptions } from './interpreted/plainRun.ts'
import { formOf, type KernelMemory, type KernelPlan, planKernel } from './kernelPlan.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { LoopResources } from './preparedLoop.ts'
import { copiesOf } from './reductions/privateCopies.ts'
import { createLanes, type Lanes } from './reductions/reductionCopies.ts'
import { reducedStorages } from './reductions/reductionCopyCount.ts'
import { dtypeOfTable } from './structure.ts'

/** A captured table; `copy` is undefined for one that travels with the task. */
export interface SharedTable {
  readonly copy: TypedArray | undefined
  readonly original: ArrayLike<Primitive>
}

/** Blocks that the workers of this process run together, and the words by which they claim them. */
export interface Portion {
  readonly blocks: BlockSchedule
  /** The blocks as several workers share them. */
  readonly work: SharedBlocks
  readonly claims: ClaimState
  /** The number of each block among all of the loop's; absent where the portion is the whole loop. */
  readonly numbers?: Int32Array
}

export interface KernelLayout extends KernelBlocks {
  /** The inputs that were cut; for a colored loop without memory for its order, with a finding of nothing. */
  readonly inputs: LoopInputs
  /** All blocks, as one portion. */
  readonly whole: Portion
  readonly plan: KernelPlan
  /** The memory that the kernel was planned over. */
  readonly memory: KernelMemory
  /** The key columns that the first pass has to gather, where keys are kept in another order than that of the array. */
  readonly keys: readonly Gather[]
  /** Captured tables in the IR's order. */
  readonly tables: readonly SharedTable[]
  readonly lanes: readonly Lanes[]
}

/** Blocks of the arena that are freed together: by `free`, or when this object becomes garbage. */
export class Allocations {
  readonly #arena: Arena
  readonly #name: string
  /** The lease that this object holds: a loop that is dropped gives its blocks back without being told to. */
  #lease: Lease | undefined

  constructor(arena: Arena, name: string) {
    this.#arena = arena
    this.#name = name
  }

  get isEmpty(): boolean {
    return this.#lease === undefined
  }

  readonly allocate = (dtype: DType, length: number): TypedArray => {
    const offset = this.#arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, this.#name)
    this.#lease ??= leaseBlocks(this, this.#arena, [])
    this.#lease.add(offset)
    return this.#arena.view(dtype, offset, length)
  }

  free(): void {
    this.#lease?.free()
    this.#lease = undefined
  }
}

/** Lays a loop out in memory. A colored loop whose order finds no room runs serially, which needs none. */
export function layOut(loop: CompiledLoop, resources: LoopResources, memory: Allocations): KernelLayout {
  const { finding } = loop.inputs
  try {
    return layOutAsFound(loop, resources, memory)
  } catch (error) {
    memory.free()
    if (!(error instanceof MemoryError) || finding === undefined || finding.kind === 'nothing') throw error
    const text = `There is no memory for the order of its iterations: ${error.message}`
    return layOutAsFound({ ...loop, inputs: { ...loop.inputs, finding: { kind: 'nothing', text } } }, resources, memory)
  }
}

function layOutAsFound(loop: CompiledLoop, resources: LoopResources, { allocate }: Allocations): KernelLayout {
  const cut = cutKernel(loop)
  const { over } = loop.inputs
  const isPlaced = over.kind === 'storage' && over.placed !== undefined
  const blocks = isPlaced ? cut.blocks : shared(cut.blocks, allocate)
  const kernel = layOutKernel(loop, blocks, resources, allocate)
  const whole = layOutPortion(loop, blocks, { kernel, resources, allocate })
  return { ...cut, ...kernel, inputs: loop.inputs, blocks, whole }
}

/** Readies blocks of a loop, all or some, to be claimed. */
export function layOutPortion(
  { inputs, ir, space }: CompiledLoop,
  blocks: BlockSchedule,
  {
    kernel,
    resources,
    allocate,
    numbers,
    isAlone = false,
  }: {
    readonly kernel: Pick<KernelLayout, 'plan' | 'lanes'>
    readonly resources: LoopResources
    readonly allocate: Allocate
    readonly numbers?: Int32Array
    readonly isAlone?: boolean
  },
): Portion {
  const homes = Math.max(1, Math.min(resources.pool.size, widthOf(blocks)))
  const wasm = resources.kernel === 'js' ? undefined : kernel.plan.wasm
  const aloneMs = estimatedPassMs({ inputs, ir, space, wasm, isPermuted: blocks.order !== undefined }, blocks.iterations)
  // no groups: one waits for all that its blocks wait for, and by way of other processes that could be the group itself
  const meetsOthers = numbers !== undefined && (isAlone || isOrdered(blocks))
  const shared =
    meetsOthers || blocks.rounds !== undefined
      ? { schedule: blocks, claimed: blocks }
      : shareBlocks(blocks, { workers: homes, aloneMs, lanesMatter: kernel.lanes.length > 0 })
  const work = { ...shared, claimed: fromLaneZero(shared.claimed, blocks) }
  const words = startWords(work.claimed, homes)
  const start = allocate('i32', words.length) as Int32Array
  start.set(words)
  const claims = {
    words: allocate('i32', words.length) as Int32Array,
    failure: allocate('i64', 1) as BigInt64Array,
    took: (allocate('f64', Math.max(1, work.claimed.count)) as Float64Array).fill(0),
    homes,
    start,
    ...(meetsOthers
      ? {
          outbox: {
            words: allocate('i32', 1 + blocks.count) as Int32Array,
            tells: allocate('u8', Math.max(1, blocks.count)) as Uint8Array,
          },
        }
      : {}),
  }
  return { blocks, work, claims, ...(numbers === undefined ? {} : { numbers }) }
}

/** Whether blocks of such a schedule wait for each other; those of a portion may wait only for blocks of other processes. */
export function isOrdered({ kind }: BlockSchedule): boolean {
  return cutOrderOf(kind) !== 'free'
}

/** Numbers the lanes of a portion from 0: homes divide them among themselves, and lanes of other processes need none. */
function fromLaneZero(claimed: ClaimedBlocks, { kind, lanes }: BlockSchedule): ClaimedBlocks {
  if (kind === 'serial' || kind === 'colored' || claimed.steps !== undefined) return claimed
  const first = lanes.reduce((least, lane) => Math.min(least, lane), lanes[0] ?? 0)
  const count = lanes.reduce((most, lane) => Math.max(most, lane), first) - first + 1
  if (first === 0 && claimed.laneCount === count) return claimed
  return { ...claimed, lanes: claimed.lanes.map((lane) => lane - first), laneCount: count }
}

/** The elements of the sparse array that a loop goes over, by place, from its first pass on; undefined where nobody has them so. */
export function elementsByPlace(
  { over }: LoopInputs,
  { blocks, memory }: Pick<KernelLayout, 'blocks' | 'memory'>,
): SparseStorage | undefined {
  if (over.kind === 'range' || over.storage.kind !== 'sparse') return undefined
  return blocks.order === undefined ? over.storage : memory.placed && { ...memory.placed.storage, keys: memory.keys }
}

type Allocate = Allocations['allocate']

/** Moves the order of places to shared memory, where every worker sees it. */
function shared(cut: BlockSchedule, allocate: Allocate): BlockSchedule {
  if (cut.order === undefined) return cut
  const order = allocate('i32', cut.order.length) as Int32Array
  order.set(cut.order)
  return { ...cut, order }
}

function layOutKernel(
  loop: CompiledLoop,
  blocks: BlockSchedule,
  { arena, pool }: LoopResources,
  allocate: Allocate,
): Pick<KernelLayout, 'plan' | 'memory' | 'keys' | 'tables' | 'lanes'> {
  const { inputs, ir, space } = loop
  const { laneCount, order } = blocks
  const reduced = new Map<number, Lanes>()
  for (const [array, storage] of laneCount < 2 ? [] : reducedStorages(inputs)) {
    if (storage.dtype === 'object') throw new Bug('A kernel was to add to objects.')
    reduced.set(array, createLanes(storage, laneCount, { dtype: storage.dtype, touched: false, allocate }))
  }
  const buffered = new Map(
    [...inputs.buffers].map(([name, buffer]) => [name, createLanes(buffer.storage, laneCount, { ...updateOptions(buffer), allocate })]),
  )
  // One block runs the iterations in their order: the arrays themselves will do.
  const copies = blocks.count < 2 ? new Map() : copiesOf(inputs, pool.size, allocate)
  const tables = ir.tables.map((table) => sharedTable(table.value, allocate))
  const isPlaced = inputs.over.kind === 'storage' && inputs.over.placed !== undefined
  const keys = isPlaced && space.kind === 'sparse' ? { columns: space.keys, gathers: [] } : keysByPlace(space, order, allocate)
  const memory: KernelMemory = {
    order,
    keys: keys.columns,
    placed: placeElements(inputs, order, allocate),
    tables: tables.map(({ copy, original }) => (copy as ArrayLike<Primitive> | undefined) ?? original), // a copy of numbers or bigints
    reduced,
    buffered,
    copies,
    scratch: scratchFor(inputs, pool.size, allocate),
    addresses: arena.addresses,
    owns: (buffer) => arena.owns(buffer),
  }
  return {
    plan: planKernel(inputs, ir, space, blocks, memory),
    memory,
    keys: keys.gathers,
    tables,
    lanes: [...reduced.values(), ...buffered.values()],
  }
}

/** Makes room in the arena for a table of numbers, which is read anew before each pass; other tables travel with the task. */
function sharedTable(original: ArrayLike<Primitive>, allocate: Allocate): SharedTable {
  const dtype = dtypeOfTable(original)
  return { copy: dtype === undefined ? undefined : allocate(dtype, original.length), original }
}

/** The size of a worker's scratch block, for what WebAssembly kernels add to accumulators and rows of f32 that exact ones keep. */
export function scratchOf(inputs: LoopInputs): Omit<Scratch, 'address'> {
  const forms = [...inputs.accumulators.values()].map(formOf)
  const isExact = (inputs.analyzed.spec.options.precision ?? 'exact') === 'exact'
  const storages = [...inputs.arrays.values(), ...inputs.buffers.values()].map(({ storage }) => storage)
  const keepsRows = isExact && storages.some((storage) => storage.kind === 'dense' && storage.dtype === 'f32')
  return { length: keepsRows ? keptAt(forms) + KEPT_DOUBLES : scratchOfAccumulators(forms), keepsRows }
}

/** Allocates a scratch block for each worker. */
function scratchFor(inputs: LoopInputs, workers: number, allocate: Allocate): Scratch {
  const { length, keepsRows } = scratchOf(inputs)
  return { address: length === 0 ? 0 : allocate('f64', length * workers).byteOffset, length, keepsRows }
}

interface KeysByPlace {
  readonly columns: readonly Int32Array[]
  /** The copies that are still to fill the columns. */
  readonly gathers: readonly Gather[]
}

/** Key columns in the order of places. */
function keysByPlace(space: CompiledLoop['space'], order: Int32Array | undefined, allocate: Allocate): KeysByPlace {
  const isBox = space.kind === 'box' && order !== undefined && space.extents.length > 1
  if (isBox) return { columns: boxKeys(space.extents, order, allocate), gathers: [] }
  if (space.kind !== 'sparse') return { columns: [], gathers: [] }
  if (order === undefined) return { columns: space.keys, gathers: [] }
  const gathers = space.keys.map((from) => ({ from, order, to: allocate('i32', order.length) as Int32Array }))
  return { columns: gathers.map(({ to }) => to), gathers }
}

function boxKeys(extents: readonly number[], order: Int32Array, allocate: Allocate): readonly Int32Array[] {
  let inner = extents.reduce((size, extent) => size * extent, 1)
  return extents.map((extent) => {
    inner /= Math.max(1, extent)
    const column = allocate('i32', order.length) as Int32Array
    for (let place = 0; place < order.length; place++) column[place] = Math.floor((order[place] as number) / inner) % extent // inside
    return column
  })
}
