/**
 * The worker's side of a pass: bind the kernel once, claim blocks, run them in slices, note what accumulators got and
 * where an iteration failed.
 *
 * After a failure only iterations that precede it in the serial order are run: what they need precedes them, so the
 * smallest failing rank is found whatever the schedule, and that is the error the serial program meets first.
 */

import { valueReader } from '../../core/columnOps.ts'
import { PlanError } from '../../core/errors.ts'
import { CHUNK } from '../../core/fixedTree.ts'
import { outsideMessage } from '../../core/indexSpace.ts'
import { IterationRng } from '../../core/random.ts'
import { fieldsOf } from '../../core/schema.ts'
import type { ArrayBinding, ElementBinding, KernelBinding, LoopKernel } from '../kernels/loopKernelShape.ts'
import { bindWasm } from '../kernels/wasmBinding.ts'
import type { Arena } from '../memory/arena.ts'
import type { TaskHandler } from '../workers/worker.ts'
import { type AccumulatorLog, closeFragment, createLog, isOrdered, partOf, resetLog } from './accumulatorLog.ts'
import { abortPass, type Claimer, claimBlock, finishBlock, isAborted, reportFailure, smallestFailure } from './claim.ts'
import { errorToWire } from './failure.ts'
import { KeyedView } from './keyedArray.ts'
import type { ArrayPlan, ElementPlan, LoopTask, LoopTaskResult } from './loopTask.ts'
import { type Piece, piecesOf } from './pieces.ts'

/** A kernel bound to its arrays, with what it writes besides them. */
export interface BoundLoop {
  readonly kernel: LoopKernel
  readonly logs: readonly AccumulatorLog[]
  readonly rngs: readonly IterationRng[]
  readonly at: { place: number }
  /** Sparse arrays and tables by their place in the binding. */
  readonly keyed: ReadonlyMap<number, KeyedView>
  /** Tells a WebAssembly kernel whose scratch memory to use. */
  readonly useShare?: (share: number) => void
}

/** Kernels are told apart for V8, which bakes arrays in only while one closure of a text exists. */
let bound = 0

/** `combines` are the user's own functions, by the array's place, on the thread where they live. */
export function bindLoop(
  { text, wasm, binding: plan }: Pick<LoopTask, 'text' | 'wasm' | 'binding'>,
  arena: Arena,
  combines: ReadonlyMap<number, (a: number, b: number) => number> = new Map(),
): BoundLoop {
  const logs = plan.accumulators.map(createLog)
  const rngs = plan.seeds.map((seed) => new IterationRng(seed))
  const at = { place: 0 }
  const keyed = new Map<number, KeyedView>()
  const arrays = plan.arrays.map((array, i) => bindArray(array, i, keyed, combines.get(i)))
  const binding: KernelBinding = {
    arrays,
    accumulators: logs.map((log) => log.sink),
    rngs,
    tables: plan.tables,
    order: plan.order,
    keys: plan.keys,
    element: bindElement(plan.element),
    at,
    outside(array, key) {
      const { label } = plan.arrays[array] as ArrayPlan
      const shape = (arrays[array] as ArrayBinding).extents
      throw new PlanError(outsideMessage(label, key as readonly number[], shape)) // printed, whatever it is
    },
  }
  if (wasm !== undefined) return { ...bindWasm(wasm, binding, arena), logs, rngs, at, keyed }
  const factory = new Function('bind', `${text}\n// ${bound++}`) as (bind: KernelBinding) => LoopKernel // text of loopKernel.ts
  return { kernel: factory(binding), logs, rngs, at, keyed }
}

function bindArray(
  array: ArrayPlan,
  index: number,
  keyed: Map<number, KeyedView>,
  own: ((a: number, b: number) => number) | undefined,
): ArrayBinding {
  switch (array.kind) {
    case 'dense': {
      const { combine, ...rest } = array
      const joined = own ?? (combine === undefined ? undefined : new Function('captures', combine.source)(combine.captures))
      return joined === undefined ? rest : { ...rest, combine: joined }
    }
    case 'keyed': {
      const view = new KeyedView(array.storage, array.label)
      keyed.set(index, view)
      return { kind: 'keyed', keyed: view, extents: array.storage.kind === 'table' ? [array.storage.length] : array.storage.shape }
    }
  }
}

function bindElement(plan: ElementPlan): ElementBinding {
  switch (plan.kind) {
    case 'none':
      return { columns: [] }
    case 'dense':
      return { data: plan.data, strides: plan.strides, columns: [] }
    case 'columns': {
      const { storage } = plan
      const columns = fieldsOf(storage.element).flatMap((_, i) => storage.columns[i] ?? [])
      return {
        columns: columns.map((column) => ({
          ...(column.values === undefined ? {} : { values: column.values }),
          ...(column.validity === undefined ? {} : { validity: column.validity }),
          read: valueReader(column),
        })),
      }
    }
  }
}

/** What running a block needs to know about its pass. */
export interface PassContext {
  readonly task: Pick<LoopTask, 'schedule' | 'claims' | 'extents' | 'parameters'> & {
    readonly keys: readonly Int32Array[]
    readonly order: Int32Array | undefined
  }
  readonly bound: BoundLoop
  failure: { readonly rank: number; readonly key: readonly number[]; readonly error: unknown } | undefined
  /** Places a call of the kernel runs: grows until a call takes some milliseconds. */
  slice: number
}

const FIRST_SLICE = 1
const LARGEST_SLICE = 4096
/** A slice is the granule of aborting. */
const SLICE_MS = 5

export function startPass(task: LoopTask, boundLoop: BoundLoop): PassContext {
  for (const log of boundLoop.logs) resetLog(log)
  boundLoop.useShare?.(task.share)
  for (const rng of boundLoop.rngs) rng.startPass(task.pass)
  for (const view of boundLoop.keyed.values()) view.overlay.clear()
  return { task: { ...task, keys: task.binding.keys, order: task.binding.order }, bound: boundLoop, failure: undefined, slice: FIRST_SLICE }
}

/**
 * Runs the slices of a block, stopping after each (and at multiples of `stopEvery`) so that the caller's thread can do
 * other things; gives the place reached. Pieces smaller than a slice are run several at a time.
 */
export function* blockSlices(
  context: PassContext,
  block: number,
  stopEvery: number = Number.POSITIVE_INFINITY,
): Generator<number, void, void> {
  const { schedule, claims, extents, parameters } = context.task
  const { kernel, at, logs } = context.bound
  const lane = schedule.lanes[block] as number
  const ordered = logs.some((log) => isOrdered(log.form))
  const stops = Number.isFinite(stopEvery)
  /** Places run since the last stop. */
  let ran = 0
  let started = 0
  for (const piece of piecesOf(schedule, extents, block)) {
    for (let run = piece.from; run < piece.to; ) {
      const runEnd = ordered ? endOfRun(context.task, piece, run) : piece.to
      const runRank = rankOf(context.task, block, piece, run)
      let fragment = runRank
      for (let place = run; place < runEnd; ) {
        // Inside a block places are in key order, so the ranks that follow are larger.
        const rank = place === run ? runRank : ordered ? runRank + (place - run) : rankOf(context.task, block, piece, place)
        if (ran === 0) {
          if (isAborted(claims) || rank >= smallestFailure(claims)) return
          started = performance.now()
        }
        let end = Math.min(runEnd, place + context.slice)
        if (ordered) end = Math.min(end, place + CHUNK - (rank % CHUNK))
        if (stops) end = Math.min(end, place + stopEvery - (place % stopEvery))
        try {
          kernel(piece.box, place, end, lane, parameters)
        } catch (error) {
          noteFailure(context, block, piece, at.place, error)
          return
        }
        ran += end - place
        const next = rank + (end - place)
        if (ordered && (end === runEnd || next % CHUNK === 0)) {
          for (const log of logs) closeFragment(log, fragment)
          fragment = next
        }
        place = end
        if (ran >= context.slice || stops) {
          adaptSlice(context, ran, performance.now() - started)
          ran = 0
          yield place
        }
      }
      run = runEnd
    }
  }
  if (ran > 0) yield schedule.to[block] as number
}

function adaptSlice(context: PassContext, places: number, milliseconds: number): void {
  if (milliseconds > 2 * SLICE_MS && context.slice > 1) context.slice >>= 1
  else if (places >= context.slice && context.slice < LARGEST_SLICE && milliseconds < SLICE_MS / 2) context.slice <<= 1
}

type Place = Pick<PassContext['task'], 'schedule' | 'extents' | 'keys' | 'order'>

/** The rank of a place of a block; see `blockSchedule.ts`. */
function rankOf(task: Place, block: number, piece: Piece, place: number): number {
  const { schedule, order, extents } = task
  if (!schedule.keyOrder) return (schedule.base[block] as number) + piece.before + (place - piece.from)
  if (order !== undefined) return order[place] as number
  if (schedule.boxes === undefined && schedule.forms === undefined) return place
  return keyOfPlace(task, piece, place).reduce((rank, k, axis) => rank * (extents[axis] ?? 1) + k, 0)
}

/** The end of the places from `place` on whose ranks are consecutive. */
function endOfRun(task: Place, { box, to }: Piece, place: number): number {
  const { schedule, order, extents } = task
  if (!schedule.keyOrder) return to
  if (order !== undefined) {
    let end = place + 1
    while (end < to && order[end] === (order[end - 1] as number) + 1) end++
    return end
  }
  if (schedule.boxes === undefined && schedule.forms === undefined) return to
  const axis = extents.length - 1
  const width = (box[2 * axis + 1] as number) - (box[2 * axis] as number)
  return Math.min(to, place + width - (place % width))
}

/** The key of the iteration at a place of a block. */
function keyOfPlace(task: Place, { box }: Piece, place: number): number[] {
  const { order, extents, keys } = task
  if (keys.length > 0) return keys.map((column) => column[place] as number)
  if (order !== undefined) return [order[place] as number]
  const key = new Array<number>(extents.length)
  let rest = place
  for (let axis = extents.length - 1; axis >= 0; axis--) {
    const low = box[2 * axis] as number
    const width = (box[2 * axis + 1] as number) - low
    key[axis] = low + (rest % width)
    rest = Math.floor(rest / width)
  }
  return key
}

function noteFailure(context: PassContext, block: number, piece: Piece, place: number, error: unknown): void {
  const rank = rankOf(context.task, block, piece, place)
  if (context.failure === undefined || rank < context.failure.rank) {
    context.failure = { rank, key: keyOfPlace(context.task, piece, place), error }
  }
  reportFailure(context.task.claims, rank)
}

/** Claims and runs blocks until none is left: one worker's share of a pass. */
export function runShare(context: PassContext, claimer: Claimer): void {
  const { claims, schedule } = context.task
  try {
    for (let block = claimBlock(claims, schedule, claimer); block >= 0; block = claimBlock(claims, schedule, claimer)) {
      for (const _ of blockSlices(context, block));
      finishBlock(claims, schedule, block)
    }
  } catch (error) {
    abortPass(claims) // the others must not wait for blocks that nobody runs
    throw error
  }
}

export function resultOf(context: PassContext, arena: Arena): LoopTaskResult {
  if (context.failure === undefined) return { accumulators: context.bound.logs.map((log) => partOf(log, arena)) }
  const { failure } = context
  return { accumulators: [], failure: { ...failure, error: errorToWire(failure.error) } }
}

/** Kernels a worker keeps bound. */
const KEPT_KERNELS = 32

/** The handler of `loop` tasks. */
export const runLoopTask: TaskHandler = (payload, { cache, abortFlag, arena }) => {
  const sent = payload as LoopTask // sent by loopRun.ts
  const task = { ...sent, claims: { ...sent.claims, abortFlag } }
  const key = `loop ${task.id}`
  const boundLoop = (cache.get(key) as BoundLoop | undefined) ?? bindLoop(task, arena)
  cache.delete(key)
  cache.set(key, boundLoop)
  const kernels = [...cache.keys()].filter((name) => name.startsWith('loop '))
  for (const old of kernels.slice(0, Math.max(0, kernels.length - KEPT_KERNELS))) cache.delete(old)
  const context = startPass(task, boundLoop)
  runShare(context, { worker: task.share, workers: task.shares })
  return resultOf(context, arena)
}
