/**
 * Foresees how a loop's body will run, before its arrays are there: the kernel is planned over stand-ins, storages of the
 * dtypes and shapes that the analysis knows, with nothing in them. An extent that is not known yet is taken for a
 * thousand, and a column for one without nulls; the first run knows better, and then the plan says what it found.
 */

import { sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type Storage, stridesOf } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import { type ColumnType, type DType, type ElementType, fieldsOf } from '../../core/data/schema.ts'
import { defined } from '../../core/defined.ts'
import { PlanError } from '../../core/errors.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { AnalyzedLoop, EnvBinding, LoopOver } from '../../core/loop/loopSpec.ts'
import { blockCounts } from '../../core/loop/partitioning.ts'
import type { AddressType } from '../kir/kernelModule.ts'
import { cutBlocks } from './blocks/cutBlocks.ts'
import { weightOf } from './blocks/kernelBlocks.ts'
import { spaceOf } from './blocks/space.ts'
import { estimatedPassMs } from './estimate.ts'
import { updateOptions } from './interpreted/plainRun.ts'
import { scratchOf } from './kernelLayout.ts'
import { innerLoopsOf, type KernelPlan, planKernel, plannedKernel, whyNoKernel } from './kernelPlan.ts'
import type { ArrayInput, BufferInput, LoopInputs } from './loopInputs.ts'
import { leastKernel, linesOfParts } from './partKernels.ts'
import { allocatePlain, createLanes } from './reductions/reductionCopies.ts'
import { reducedStorages } from './reductions/reductionCopyCount.ts'
import { dtypeOfTable } from './structure.ts'

/** A loop of which only the analysis is known: it has no storages yet. */
export interface UnpreparedLoop extends Pick<LoopInputs, 'accumulators' | 'rngs'> {
  readonly analyzed: AnalyzedLoop
  /** The combine and apply functions and the delays of buffers, by name. */
  readonly buffers: ReadonlyMap<string, Pick<BufferInput, 'combine' | 'apply' | 'maxDelay'>>
  /** The type of addresses in the session's memory; 32 bits if absent. */
  readonly addresses?: AddressType
}

export interface KernelForecast {
  readonly kernel: LoopPlan['kernel']
  /** The outcome of vectorization for innermost loops and for iterations, one line each. */
  readonly innerLoops: readonly string[]
  /** The kernels planned over the stand-ins, one for each part of a split loop; none for a body that runs as it stands. */
  readonly plans: readonly KernelPlan[]
  /** A pass on one thread, estimated from the body; absent where an extent of the iteration space is not known. */
  readonly predictedMilliseconds?: number
  /** The number of blocks along each cut axis, by what an iteration takes; absent where the analysis does not tell their number. */
  readonly blocks?: readonly number[]
}

/** Foresees the kernel of a loop and of its parts; undefined when only the data can tell. */
export function kernelForecast(loop: UnpreparedLoop): KernelForecast | undefined {
  const { parts } = loop.analyzed
  return parts === undefined ? forecastOf(loop) : forecastOfParts(parts.loops.map((analyzed) => forecastOf({ ...loop, analyzed })))
}

function forecastOfParts(all: readonly (KernelForecast | undefined)[]): KernelForecast | undefined {
  const parts = all.filter((part) => part !== undefined)
  const kernel = leastKernel(parts.map((part) => part.kernel))
  if (kernel === undefined || parts.length < all.length) return undefined
  const times = parts.flatMap(({ predictedMilliseconds }) => predictedMilliseconds ?? [])
  return {
    kernel,
    innerLoops: linesOfParts(parts.map(({ innerLoops }) => innerLoops)),
    plans: parts.flatMap(({ plans }) => plans),
    ...(times.length < parts.length ? {} : { predictedMilliseconds: times.reduce((sum, time) => sum + time, 0) }),
  }
}

function forecastOf(loop: UnpreparedLoop): KernelForecast | undefined {
  const { ir } = loop.analyzed
  const inputs = standIns(loop)
  if (ir === undefined || inputs === undefined) return undefined
  const because = whyNoKernel(inputs)
  if (because !== undefined) return { kernel: { target: 'as-is', because: [because] }, innerLoops: [], plans: [] }
  try {
    const plan = planOver(inputs, ir, loop.addresses ?? 'i32')
    const { wasm } = plan
    const time = predictedTime(inputs, ir, wasm)
    return {
      kernel: plannedKernel(wasm),
      innerLoops: innerLoopsOf(tellsSizes(inputs.analyzed) ? wasm : unsized(wasm)),
      plans: [plan],
      ...time,
      ...defined({ blocks: foreseenBlocks(inputs, ir) }),
    }
  } catch (error) {
    if (error instanceof PlanError) return undefined // the run says what is wrong, with the arrays at hand
    throw error
  }
}

/** Whether the first run will find arrays as large as the stand-ins, and as many keys. */
function tellsSizes({ spec }: AnalyzedLoop): boolean {
  const isKnown = (extents: readonly (number | undefined)[] | undefined): boolean =>
    extents?.every((extent) => extent !== undefined) === true
  const isSparse = spec.over.kind === 'sparse' || spec.over.kind === 'unknown'
  const arrays = Object.values(spec.env).filter((binding) => binding.kind === 'array' || binding.kind === 'buffer')
  return !isSparse && isKnown(spec.over.extents) && arrays.every(({ shape }) => isKnown(shape))
}

/** Leaves out the line about software prefetch, which follows from the sizes of arrays alone. */
function unsized(wasm: KernelPlan['wasm']): KernelPlan['wasm'] {
  if ('because' in wasm) return wasm
  const { touched: _, ...rest } = wasm
  return rest
}

function predictedTime(inputs: LoopInputs, ir: FunctionIr, wasm: KernelPlan['wasm']): Pick<KernelForecast, 'predictedMilliseconds'> {
  if (inputs.analyzed.spec.over.extents.includes(undefined)) return {}
  // the extents of sparse data only bound the number of iterations, which the first run tells
  if (inputs.over.kind === 'storage' && inputs.over.storage.kind === 'sparse') return {}
  const isPermuted = inputs.analyzed.schedule.kind === 'colored' // by the inspector's order
  return { predictedMilliseconds: estimatedPassMs({ inputs, ir, space: spaceOf(inputs.over), wasm, isPermuted }) }
}

/** The blocks of a box as a run will cut them, where the analysis has counted those of light iterations. */
function foreseenBlocks(inputs: LoopInputs, ir: FunctionIr): readonly number[] | undefined {
  const { plan, schedule, spec } = inputs.analyzed
  const { over, options } = spec
  const extents = over.extents.filter((extent) => extent !== undefined)
  if (plan.schedule.blocks.length === 0 || plan.schedule.kind === 'scan') return undefined
  return blockCounts(schedule, extents, options.partitions, sizeOfShape(extents), weightOf(inputs, ir))
}

function planOver(inputs: LoopInputs, ir: FunctionIr, addresses: AddressType): ReturnType<typeof planKernel> {
  const space = spaceOf(inputs.over)
  const isCut = inputs.analyzed.schedule.kind !== 'serial'
  const lanesOf = (storage: DenseStorage, options: Parameters<typeof createLanes>[2]) => createLanes(storage, isCut ? 2 : 1, options)
  const reduced = [...(isCut ? reducedStorages(inputs) : [])].map(([array, storage]) => {
    const dtype = storage.dtype as DType // objects have no kernel
    return [array, lanesOf(storage, { dtype, touched: false, allocate: allocatePlain })] as const
  })
  const buffered = [...inputs.buffers].map(([name, buffer]) => {
    return [name, lanesOf(buffer.storage, { ...updateOptions(buffer), allocate: allocatePlain })] as const
  })
  const tables = ir.tables.map(({ value }) => {
    const dtype = dtypeOfTable(value)
    return dtype === undefined || ARRAY_OF_DTYPE[dtype] === value.constructor ? value : new ARRAY_OF_DTYPE[dtype](value.length)
  })
  return planKernel(inputs, ir, space, cutBlocks({ kind: 'serial' }, space, { order: 'serial' }), {
    order: undefined,
    keys: space.kind === 'sparse' ? space.keys : [],
    placed: undefined,
    tables,
    reduced: new Map(reduced),
    buffered: new Map(buffered),
    copies: new Map(),
    scratch: { address: 0, ...scratchOf(inputs) },
    addresses,
    owns: () => true,
  })
}

/** The loop over storages with nothing in them; undefined when it is not known what kind of storage an array will have. */
function standIns({ analyzed, buffers, accumulators, rngs }: UnpreparedLoop): LoopInputs | undefined {
  const { env, over } = analyzed.spec
  const memory = new ArrayBuffer(16 * (Object.keys(env).length + 1))
  const identities = new Map<number, Storage>()
  const standIn = (array: number, make: (at: ArrayBuffer, offset: number) => Storage | undefined): Storage | undefined => {
    const storage = identities.get(array) ?? make(memory, 16 * identities.size)
    if (storage !== undefined) identities.set(array, storage)
    return storage
  }
  const element = over.array === undefined ? undefined : standIn(over.array, (at, offset) => storageOfOver(over, at, offset))
  if (over.array !== undefined && element === undefined) return undefined
  const arrays = new Map<string, ArrayInput>()
  const buffered = new Map<string, BufferInput>()
  for (const [name, binding] of Object.entries(env)) {
    if (binding.kind !== 'array' && binding.kind !== 'buffer') continue
    const storage = standIn(binding.array, (at, offset) => storageOfBinding(binding, at, offset))
    if (storage === undefined) return undefined
    const input = { array: binding.array, label: name }
    const buffer = buffers.get(name)
    if (buffer === undefined) arrays.set(name, { storage, ...input })
    else if (storage.kind === 'dense') buffered.set(name, { storage, ...input, ...buffer })
    else return undefined
  }
  return {
    analyzed,
    over:
      element === undefined
        ? { kind: 'range', extents: knownExtents(over.extents) }
        : { kind: 'storage', storage: element, array: over.array ?? 0 },
    arrays,
    buffers: buffered,
    accumulators,
    rngs,
    envObject: {},
  }
}

function storageOfOver({ kind, element, extents }: LoopOver, at: ArrayBuffer, offset: number): Storage | undefined {
  if (element === undefined || element.kind === 'unknown') return undefined
  const type = element.kind === 'scalar' ? element.type.kind : undefined
  const shape = knownExtents(extents)
  switch (kind) {
    case 'range':
      return undefined
    case 'dense':
      return type !== undefined && isDtype(type) ? denseStandIn(shape, type, at, offset) : undefined
    case 'table':
      // a table of plain numbers is a dense array of one axis
      return type !== undefined && isDtype(type)
        ? denseStandIn(shape, type, at, offset)
        : { kind: 'table', element, length: shape[0] ?? 0, columns: columnsOf(element) }
    case 'sparse':
    case 'unknown':
      return { kind: 'sparse', shape, element, length: 0, keys: shape.map(() => new Int32Array(0)), columns: columnsOf(element) }
  }
}

function storageOfBinding(
  binding: EnvBinding & { readonly kind: 'array' | 'buffer' },
  at: ArrayBuffer,
  offset: number,
): Storage | undefined {
  const { dtype, rank, shape } = binding
  const storage = binding.kind === 'array' ? binding.storage : 'dense'
  if (!isDtype(dtype)) return undefined
  const extents = knownExtents(shape ?? new Array<undefined>(rank ?? 1).fill(undefined))
  switch (storage) {
    case 'dense':
    case 'table':
      return denseStandIn(extents, dtype, at, offset)
    case 'sparse': {
      const element = { kind: 'scalar', type: { kind: dtype }, nullable: false } as const
      return { kind: 'sparse', shape: extents, element, length: 0, keys: extents.map(() => new Int32Array(0)), columns: columnsOf(element) }
    }
    case 'unknown':
      return undefined
  }
}

const USUAL_EXTENT = 1000

function knownExtents(extents: readonly (number | undefined)[]): number[] {
  return extents.map((extent) => extent ?? USUAL_EXTENT)
}

/** An array without elements, at an address of its own: planning tells arrays apart by where they lie. */
function denseStandIn(shape: readonly number[], dtype: DType, at: ArrayBuffer, offset: number): DenseStorage {
  const data = new ARRAY_OF_DTYPE[dtype](at, offset, 0)
  return { kind: 'dense', shape, dtype, strides: stridesOf(shape, dtype), data }
}

function columnsOf(element: ElementType): Column[] {
  return fieldsOf(element).map(({ type }) => ({ type, length: 0, ...valuesOf(type) }))
}

function valuesOf({ kind }: ColumnType): { readonly values?: TypedArray } {
  if (isDtype(kind)) return { values: new ARRAY_OF_DTYPE[kind](0) }
  return kind === 'time' || kind === 'u64' ? { values: new BigInt64Array(0) } : {}
}

function isDtype(kind: string): kind is DType {
  return Object.hasOwn(ARRAY_OF_DTYPE, kind)
}
