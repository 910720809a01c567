/** Random loops put into an arena and run by the loop runtime, and the dullest reference they are compared with. */

import { CHUNK, combinePairwise } from '../src/core/arrays/fixedTree.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, paddedLength, type SparseStorage, type Storage, stridesOf } from '../src/core/arrays/storage.ts'
import type { DType } from '../src/core/data/schema.ts'
import { TaskError } from '../src/core/errors.ts'
import type { FunctionIr } from '../src/core/ir/functionIr.ts'
import type { AnalyzedLoop, LoopOptions } from '../src/core/loop/loopSpec.ts'
import type { MadeSpec } from '../src/exec/arrays/makeArray.ts'
import { inspect, type Turns } from '../src/exec/loops/inspector/inspect.ts'
import type { LoopInputs } from '../src/exec/loops/loopInputs.ts'
import { type PreparedLoop, prepareLoop } from '../src/exec/loops/loopRun.ts'
import type { LoopGang } from '../src/exec/loops/preparedLoop.ts'
import type { SharedArena } from '../src/exec/memory/sharedArena.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { analyzeLoop } from '../src/planner/loop/analyze.ts'
import type { RandomArray, RandomLoop } from './arbitraries/loopBody.ts'
import { lawArena } from './lawArena.ts'

/** Nobody else wants a turn. */
export const TURNS: Turns = { everyMs: Number.POSITIVE_INFINITY, other: async () => {} }

/** Pools that are used over and over: starting threads is dear. */
export interface Machine {
  readonly arena: SharedArena
  readonly pools: ReadonlyMap<number, WorkerPool>
  /** 'js': no kernel is WebAssembly. */
  readonly kernel?: 'js'
  /** Other processes that run passes as well. */
  readonly gang?: LoopGang
  stop(): Promise<void>
}

export function startMachine(workers: readonly number[]): Machine {
  const arena = lawArena(2 ** 29)
  const pools = new Map(workers.map((size) => [size, createPool({ workers: size, arena })]))
  return { arena, pools, stop: async () => void (await Promise.all([...pools.values()].map((pool) => pool.stop()))) }
}

/** Blocks of the arena that one run holds. */
export class Holding {
  readonly #arena: SharedArena
  readonly #blocks: number[] = []
  constructor(arena: SharedArena) {
    this.#arena = arena
  }
  view(dtype: DType, length: number): DenseStorage['data'] {
    const offset = this.#arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, 'law')
    this.#blocks.push(offset)
    return this.#arena.view(dtype, offset, length)
  }
  dense(shape: readonly number[], dtype: DType, values: ArrayLike<number>): DenseStorage {
    const strides = stridesOf(shape, dtype)
    const data = this.view(dtype, paddedLength(shape, strides))
    const storage: DenseStorage = { kind: 'dense', shape, dtype, strides, data }
    // numbers: i64 is not among the dtypes
    for (let position = 0; position < values.length; position++) data[indexAt(storage, position)] = values[position] as never
    return storage
  }
  sparse(shape: readonly number[], dtype: DType, keys: readonly (readonly number[])[], values: readonly number[]): SparseStorage {
    const columns = shape.map((_, axis) => {
      const column = this.view('i32', keys.length) as Int32Array
      for (const [i, key] of keys.entries()) column[i] = key[axis] ?? 0
      return column
    })
    const data = this.view(dtype, keys.length)
    for (const [i, value] of values.entries()) data[i] = value as never // numbers, as above
    const element = { kind: 'scalar', type: { kind: dtype }, nullable: false } as const
    return {
      kind: 'sparse',
      shape,
      element,
      length: keys.length,
      keys: columns,
      columns: [{ type: { kind: dtype }, length: keys.length, values: data }],
    }
  }
  free(): void {
    for (const block of this.#blocks.splice(0)) this.#arena.free(block)
  }
}

/** Where the element at a row-major position lies. */
export function indexAt(storage: DenseStorage, position: number): number {
  let index = 0
  let rest = position
  for (let axis = storage.shape.length - 1; axis >= 0; axis--) {
    const extent = storage.shape[axis] ?? 1
    index += (rest % extent) * (storage.strides[axis] ?? 1)
    rest = Math.floor(rest / extent)
  }
  return index
}

export function elementsOf(storage: Storage): unknown[] {
  if (storage.kind !== 'dense') return [...(storage.columns[0]?.values ?? [])]
  const size = storage.shape.reduce((product, extent) => product * extent, 1)
  return Array.from({ length: size }, (_, position) => storage.data[indexAt(storage, position)])
}

/** A loop that nobody has analyzed: its iterations run in their order, on the caller. */
export function serially(
  ir: FunctionIr,
  of: Pick<AnalyzedLoop['spec']['over'], 'kind' | 'extents'>,
  { options = {}, arrays }: { readonly options?: LoopOptions; readonly arrays: readonly number[] },
): AnalyzedLoop {
  return {
    spec: {
      body: { original: () => undefined, text: '', span: ir.span, ir, refusals: [] },
      over: { ...of, rank: ir.keyRank, label: 'elements' },
      env: {},
      options,
    },
    plan: {
      order: 'serial',
      schedule: { kind: 'serial', axes: [], blocks: [], reason: '' },
      rejected: [],
      dependences: [],
      variables: [],
      accesses: [],
      kernel: { target: 'js' },
      execution: { where: 'caller', because: '' },
      prefetch: [],
    },
    schedule: { kind: 'serial' },
    ir,
    reducedArrays: [],
    privateArrays: [],
    writtenArrays: arrays,
    writesElement: true,
    notes: [],
  }
}

/** Values as a loop gets them: those of f64 arrays are no whole numbers, so that the order of additions shows. */
export function valuesOf(array: RandomArray): readonly number[] {
  return array.dtype === 'f64' ? array.values.map((value, i) => value * 0.1 + i / 7) : array.values
}

export interface Outcome {
  readonly arrays: readonly (readonly unknown[])[]
  readonly total: unknown
  readonly order: readonly number[]
  readonly error?: { readonly key: readonly number[] | undefined; readonly message: string }
}

export async function runRandomLoop(machine: Machine, workers: number, loop: RandomLoop, options: LoopOptions): Promise<Outcome> {
  return await prepared(machine, workers, loop, options, async (prepared) => (await prepared.runPass(0)).accumulators)
}

/** As many passes: one by one, or in a row as far as the loop allows it. `total` has those of all passes that were completed. */
export async function runSeveralPasses(
  machine: Machine,
  workers: number,
  loop: RandomLoop,
  options: LoopOptions & { readonly passes: number; readonly inARow: boolean },
): Promise<Outcome> {
  const { passes, inARow, ...own } = options
  const totals: unknown[] = []
  const outcome = await prepared(machine, workers, loop, own, async (prepared) => {
    while (totals.length < passes) {
      const run = await prepared.runPasses(totals.length, inARow ? passes - totals.length : 1)
      totals.push(...run.passes.map(({ accumulators }) => accumulators.total))
      if (run.failed !== undefined) throw run.failed.reason
    }
    return { total: 0 }
  })
  return { ...outcome, total: totals }
}

/**
 * Passes, those of another loop with the same body that is cut otherwise, and writes in between as programs do them, with the
 * versions that tell of all. `total` has those of all passes.
 */
export async function runSteps(
  machine: Machine,
  workers: number,
  loop: RandomLoop,
  options: LoopOptions & { readonly steps: readonly ('pass' | 'other' | 'write')[] },
): Promise<Outcome> {
  const { steps, ...own } = options
  const versions = new Map<number, number>()
  const wrote = (array: number) => versions.set(array, (versions.get(array) ?? 0) + 1)
  const written = analyzeLoop({ ...loop.spec, options: { ...loop.spec.options, ...own } }).writtenArrays
  const totals: unknown[] = []
  const run = async (prepared: PreparedLoop, storages: readonly Storage[], another: (options: LoopOptions) => PreparedLoop) => {
    const other = another({ ...own, partitions: 5, balance: 'equal' })
    for (const step of steps) {
      if (step !== 'write') {
        totals.push(await totalOf(step === 'pass' ? prepared : other, totals.length))
        for (const array of written) wrote(array)
        continue
      }
      for (const [i, storage] of storages.entries()) {
        const { dtype, array } = loop.arrays[i] as RandomArray // as many
        await machine.gang?.journal(machine.arena).use(storage, 'write')
        if (dtype !== 'f64') continue // others may be subscripts
        const data = (storage.kind === 'dense' ? storage.data : storage.columns[0]?.values) as Float64Array // of this dtype
        for (let at = 0; at < data.length; at += 3) data[at] = (data[at] as number) * 0.75 + 1
        wrote(array)
      }
    }
    for (const storage of storages) await machine.gang?.journal(machine.arena).use(storage, 'read')
    other.dispose()
    return { total: 0 }
  }
  const outcome = await prepared(machine, workers, loop, own, run, versions)
  return { ...outcome, total: JSON.stringify(totals) }
}

/** What a pass writes may stay in other processes. */
async function totalOf(prepared: PreparedLoop, pass: number): Promise<unknown> {
  const { passes, failed } = await prepared.runPasses(pass, 1, { stays: true })
  if (failed !== undefined) throw failed.reason
  return passes[0]?.accumulators.total
}

async function prepared(
  machine: Machine,
  workers: number,
  loop: RandomLoop,
  options: LoopOptions,
  run: (
    prepared: PreparedLoop,
    storages: readonly Storage[],
    another: (options: LoopOptions) => PreparedLoop,
  ) => Promise<Readonly<Record<string, unknown>>>,
  versions?: ReadonlyMap<number, number>,
): Promise<Outcome> {
  const holding = new Holding(machine.arena)
  const pool = machine.pools.get(workers)
  if (pool === undefined) throw new Error(`No pool of ${workers}.`)
  let prepared: PreparedLoop | undefined
  try {
    const inputs = inputsOf(loop, options, holding, versions)
    const finding = inputs.inputs.analyzed.schedule.kind === 'colored' ? await inspect(inputs.inputs, TURNS) : undefined
    const { arena, kernel, gang } = machine
    const resources = {
      pool,
      arena,
      worthThreadsMs: 0,
      ...(kernel === undefined ? {} : { kernel }),
      ...(gang === undefined ? {} : { gang }),
    }
    const found = finding === undefined ? inputs.inputs : { ...inputs.inputs, finding }
    prepared = prepareLoop(found, resources)
    const another = (options: LoopOptions) =>
      prepareLoop(
        {
          ...found,
          analyzed: { ...found.analyzed, spec: { ...found.analyzed.spec, options: { ...found.analyzed.spec.options, ...options } } },
        },
        resources,
      )
    const order = [...prepared.serialOrder()]
    try {
      const { total } = await run(prepared, inputs.storages, another)
      return { arrays: inputs.storages.map(elementsOf), total, order }
    } catch (error) {
      if (!(error instanceof TaskError)) throw error
      return { arrays: [], total: undefined, order, error: { key: error.key, message: (error.cause as Error).message } } // bodies throw Errors
    }
  } finally {
    prepared?.dispose()
    holding.free()
  }
}

export function inputsOf(
  loop: RandomLoop,
  options: LoopOptions,
  holding: Holding,
  versions?: ReadonlyMap<number, number>,
  made: (array: RandomArray) => MadeSpec | undefined = () => undefined,
): { readonly inputs: LoopInputs; readonly storages: readonly Storage[] } {
  const analyzed: AnalyzedLoop = analyzeLoop({ ...loop.spec, options: { ...loop.spec.options, ...options } })
  const storages = loop.arrays.map((array) => {
    const values = valuesOf(array)
    return array.keys === undefined
      ? holding.dense(array.shape, array.dtype, values)
      : holding.sparse(array.shape, array.dtype, array.keys, values)
  })
  const storageOf = (identity: number): Storage => {
    const storage = storages[loop.arrays.findIndex((array) => array.array === identity)]
    if (storage === undefined) throw new Error(`No array ${identity}.`)
    return storage
  }
  const madeBy = new Map(loop.arrays.map((array) => [array.array, made(array)]))
  const version = (array: number) => {
    if (versions === undefined) return {}
    const count = () => versions.get(array) ?? 0
    return { version: () => `${array}:${count()}`, made: () => (count() === 0 ? madeBy.get(array) : undefined) }
  }
  const arrays = new Map(
    loop.arrays.flatMap((array) =>
      array.names.map(
        (name) => [name, { storage: storageOf(array.array), array: array.array, label: name, ...version(array.array) }] as const,
      ),
    ),
  )
  const { over } = loop.spec
  const inputs: LoopInputs = {
    analyzed,
    over:
      over.array === undefined
        ? { kind: 'range', extents: over.extents as number[] }
        : { kind: 'storage', storage: storageOf(over.array), array: over.array, ...version(over.array) },
    arrays,
    buffers: new Map(),
    accumulators: new Map([['total', 'sum']]),
    rngs: new Map(),
    envObject: {},
  }
  return { inputs, storages }
}

/** The loop as plain JavaScript over plain arrays, iterations in the given order. */
export function runPlainly(loop: RandomLoop, order: readonly number[]): Outcome {
  const rank = loop.spec.over.rank
  const contents = loop.arrays.map((array) => (array.dtype === 'f64' ? Float64Array : Int32Array).from(valuesOf(array)) as Float64Array) // both hold numbers
  const views: Record<string, unknown> = {}
  const chunks: number[] = []
  let iteration = 0
  views.total = {
    add(x: number) {
      const chunk = Math.floor(iteration / CHUNK)
      while (chunks.length <= chunk) chunks.push(0)
      chunks[chunk]! += x
    },
  }
  for (const [i, array] of loop.arrays.entries())
    for (const name of array.names) views[name] = plainView(array, contents[i] as Float64Array)
  const iterated = loop.arrays.findIndex((array) => array.array === loop.spec.over.array)
  const body = loop.spec.body.original as (...args: unknown[]) => unknown
  const places = new Map((loop.arrays[iterated]?.keys ?? []).map((key, place) => [key.join(), place]))
  for (; iteration * rank < order.length; iteration++) {
    const key = order.slice(iteration * rank, (iteration + 1) * rank)
    if (iterated < 0) attempt(key, () => body(key, views))
    else {
      const array = loop.arrays[iterated] as RandomArray
      const data = contents[iterated] as Float64Array
      const position = array.keys === undefined ? positionIn(array.shape, key) : (places.get(key.join()) ?? -1)
      const value = attempt(key, () => body(data[position], key, views))
      if (value !== undefined && value !== null) data[position] = value as number
    }
  }
  return { arrays: contents.map((data) => [...data]), total: combinePairwise(chunks, (a, b) => a + b) ?? 0, order }
}

/** An iteration that throws, and where. */
export class Thrown extends Error {
  readonly key: readonly number[]
  constructor(key: readonly number[], message: string) {
    super(message)
    this.key = key
  }
}

function attempt(key: readonly number[], run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    throw new Thrown(key, (error as Error).message) // bodies throw Errors
  }
}

function plainView(array: RandomArray, data: Float64Array): Record<string, unknown> {
  const rank = array.shape.length
  return {
    get: (...key: number[]) => data[positionIn(array.shape, key)],
    set: (...args: number[]) => void (data[positionIn(array.shape, args)] = args[rank] as number),
    add: (...args: number[]) => void (data[positionIn(array.shape, args)]! += args[rank] as number),
    shape: array.shape,
  }
}

function positionIn(shape: readonly number[], key: readonly number[]): number {
  return shape.reduce((position, extent, axis) => position * extent + (key[axis] ?? 0), 0)
}
