/**
 * A loop ready to run, as the handle sees it, and what its two kinds share: compiled bodies (`kernelLoop.ts`) and
 * bodies that run as they stand (`asIsLoop.ts`).
 */

import type { Storage } from '../../core/arrays/storage.ts'
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import type { KernelCode } from '../../core/ir/kernelCode.ts'
import { combineCustom, combineSums, emptyResult } from '../../core/loop/accumulator.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { LeftElsewhere } from '../arrays/leftElsewhere.ts'
import type { Arena } from '../memory/arena.ts'
import type { WorkerPool } from '../workers/worker.ts'
import type { BlockSchedule, IterationSpace } from './blocks/schedule.ts'
import { serialOrderOf } from './blocks/space.ts'
import { helperError } from './failure.ts'
import { copyStorage, restoreStorage } from './interpreted/plainRun.ts'
import { storagesOf } from './kernelPlan.ts'
import { mergeInserted } from './keyedArray.ts'
import type { LoopInputs } from './loopInputs.ts'
import { checkRaces, type RaceCheck } from './raceCheck/raceCheck.ts'
import { type AccumulatorPart, fragmentsOf } from './reductions/accumulatorLog.ts'
import type { Difference } from './verify.ts'

export interface LoopResources {
  readonly pool: WorkerPool
  readonly arena: Arena
  /** Estimated milliseconds from which a first pass runs on workers, where it is not the usual. 0 is for tests of small loops. */
  readonly worthThreadsMs?: number
  /** Processes that run passes together with this one. */
  readonly gang?: LoopGang
  /** 'js': JavaScript kernels only, for comparisons. */
  readonly kernel?: 'js'
}

/** The maker of loops that several processes run. */
export interface LoopGang {
  /** Notes of what passes with `stays` left in other processes, for a session's arrays. `spill` (of the first call) has room on disk. */
  journal(arena: Arena, spill?: { file(): string }): LeftElsewhere
  /** Forgets a session whose arrays are gone. */
  leave(arena: Arena): void
  loop(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources): PreparedLoop
}

export interface PassResult {
  readonly iterations: number
  readonly milliseconds: number
  /** The time it was expected to take; absent where nothing is known of the body. */
  readonly predictedMilliseconds?: number
  readonly workers: number
  /** The busiest worker's time on blocks, as a multiple of the mean. */
  readonly balance: number
  /** The mean time that threads waited; absent where nobody has measured it. */
  readonly waitingMilliseconds?: number
  /** Results by the accumulators' names. */
  readonly accumulators: Readonly<Record<string, unknown>>
  /** Updates of buffers that a flush had no room for; absent without a budget. */
  readonly delayed?: number
  /** New storages, by array identity, of arrays that got new keys or elements no buffer holds in place. */
  readonly replaced?: ReadonlyMap<number, Storage>
}

/** Passes that were run one after another. */
export interface PassesResult {
  /** The passes that were completed, in order. */
  readonly passes: readonly PassResult[]
  /** Why the next pass was not completed: a TaskError when the body threw, the signal's reason when it was aborted. */
  readonly failed?: { readonly reason: unknown }
}

export interface VerifyResult {
  readonly identical: boolean
  readonly iterations: number
  readonly firstDifference?: Difference
}

export interface PreparedLoop {
  readonly blocks: BlockSchedule
  readonly execution: LoopPlan['execution']
  /** How many processes run the next pass, and why; absent where there is only this one. */
  readonly processes?: LoopPlan['execution']['processes']
  /** How the body runs; absent where the plan says it already. */
  readonly kernel?: LoopPlan['kernel']
  /** The outcome of vectorization for the loops of a WebAssembly kernel, one line each. */
  readonly innerLoops?: readonly string[]
  /** The kernel for people; absent where the body runs as it stands. */
  kernelCode?(): KernelCode
  /** How many blocks can run at the same time at most. */
  readonly width: number
  /** The expected time of the next pass; absent where nothing is known of the body. */
  readonly predictedMilliseconds?: number
  /** Passes count from 0. Rejects with a TaskError when the body threw, with the signal's reason when aborted; arrays then hold what was written. */
  runPass(pass: number, options?: { readonly signal?: AbortSignal }): Promise<PassResult>
  /** Runs the pass, and where passes are short and have nothing in between for the driver to do, some that follow: at most `most`. */
  runPasses(pass: number, most: number, options?: { readonly signal?: AbortSignal; readonly stays?: boolean }): Promise<PassesResult>
  /** Whether passes may be told `stays`: elements then stay in the process that wrote them, until somebody else asks for the array. */
  readonly canStay?: boolean
  /** The keys of all iterations in the serial order the run is equivalent to. */
  serialOrder(): Int32Array
  /** Runs a pass and the serial program on copies, compares bit for bit, and puts the arrays back as they were. */
  verify(pass: number, options?: { readonly signal?: AbortSignal }): Promise<VerifyResult>
  /**
   * Runs a pass on copies and holds every access against the schedule. Rejects with LoopError at the first race or broken
   * promise; the arrays stay as they are. `automatic` checks cheap loops only.
   */
  checkRaces(pass: number, options: { readonly automatic: boolean; readonly signal?: AbortSignal | undefined }): Promise<RaceCheck>
  /** Copies what a pass may write; the function returned puts it back. With `most`, undefined unless it is dense arrays of so many bytes or less. */
  snapshot(): () => void
  snapshot(most: number): (() => void) | undefined
  /** Frees what the loop holds in the arena. */
  dispose(): void
}

/** The arrays that the body makes for itself, which nobody reads after an iteration. */
function ownArrays(inputs: LoopInputs): ReadonlySet<Storage> {
  const { env } = inputs.analyzed.spec
  const isOwn = (name: string): boolean => {
    const binding = env[name]
    return binding?.kind === 'array' && binding.isLocal === true
  }
  return new Set([...inputs.arrays].flatMap(([name, { storage }]) => (isOwn(name) ? [storage] : [])))
}

export abstract class Prepared implements PreparedLoop {
  abstract readonly blocks: BlockSchedule
  abstract readonly execution: LoopPlan['execution']
  abstract readonly width: number
  protected inputs: LoopInputs
  protected readonly space: IterationSpace
  constructor(inputs: LoopInputs, space: IterationSpace) {
    this.inputs = inputs
    this.space = space
  }

  abstract runPass(pass: number, options?: { readonly signal?: AbortSignal }): Promise<PassResult>
  abstract runPasses(pass: number, most: number, options?: { readonly signal?: AbortSignal }): Promise<PassesResult>
  abstract verify(pass: number, options?: { readonly signal?: AbortSignal }): Promise<VerifyResult>
  abstract dispose(): void

  serialOrder(): Int32Array {
    return serialOrderOf(this.space, this.blocks)
  }

  async checkRaces(pass: number, options: { readonly automatic: boolean; readonly signal?: AbortSignal | undefined }): Promise<RaceCheck> {
    const { inputs, space, blocks } = this
    const turns = { everyMs: TURN_MS, other: otherTurn }
    return await checkRaces({ inputs, space, blocks, loop: this.name, pass, turns, ...options })
  }

  snapshot(): () => void
  snapshot(most: number): (() => void) | undefined
  snapshot(most = Number.POSITIVE_INFINITY): (() => void) | undefined {
    const own = ownArrays(this.inputs)
    const written = this.written().filter((storage) => !own.has(storage))
    const bytes = written.map((one) => (one.kind === 'dense' && one.objects === undefined ? one.data.byteLength : Number.POSITIVE_INFINITY))
    if (bytes.reduce((sum, size) => sum + size, 0) > most) return undefined
    const copies = written.map((storage) => ({ storage, copy: copyStorage(storage) }))
    return () => {
      for (const { storage, copy } of copies) restoreStorage(storage, copy)
    }
  }

  /** The storages a pass may write, each once. */
  protected written(): Storage[] {
    const ids = new Set([...this.inputs.analyzed.writtenArrays, ...[...this.inputs.buffers.values()].map((buffer) => buffer.array)])
    return [...new Set(storagesOf(this.inputs).flatMap(({ storage, array }) => (ids.has(array) ? [storage] : [])))]
  }

  protected get name(): string {
    const { options, over } = this.inputs.analyzed.spec
    return options.name === undefined ? `the loop over ${over.label}` : `the loop ${options.name}`
  }

  /** Results of the accumulators from the parts of all workers. */
  protected combine(parts: readonly ReadonlyMap<string, AccumulatorPart>[], arena: Arena): Record<string, unknown> {
    return Object.fromEntries(
      [...this.inputs.accumulators].map(([name, input]) => {
        const own = parts.flatMap((map) => map.get(name) ?? [])
        if (typeof input !== 'string') {
          const combine = input.combine.original as (a: unknown, b: unknown) => unknown // the user's function of two values
          const fragments = own.flatMap((part) => (part.kind === 'custom' ? part.fragments : []))
          try {
            return [name, combineCustom({ init: input.init, combine }, fragments)]
          } catch (error) {
            throw helperError(`The combine function of the accumulator ${name}`, error)
          }
        }
        if (input === 'sum') return [name, combineSums(own.flatMap((part) => (part.kind === 'sum' ? fragmentsOf(part, arena) : [])))]
        const values = own.flatMap((part) => (part.kind === 'extreme' ? part.value : []))
        if (input === 'count') return [name, values.reduce((sum, value) => sum + value, 0)]
        const pick = input === 'min' ? Math.min : Math.max
        return [name, values.reduce((a, b) => pick(a, b), emptyResult(input) as number)] // of min and max: a number
      }),
    )
  }
}

/** Milliseconds on the caller's thread after which passes yield to the event loop, for timers, signals and threads that have started. */
export const TURN_MS = 12

/** The platform's, also where a test has put another one in its place since. */
const { setImmediate } = globalThis

export async function otherTurn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve))
}

/** The moment since which passes have kept the event loop from its turn; undefined where it has had one since the last of them. */
let busySince: number | undefined

/** The moment since which the event loop has had no turn: `now`, or that of an earlier pass, as passes may follow each other without one. */
export function turnBegan(now: number): number {
  if (busySince !== undefined) return busySince
  setImmediate(() => (busySince = undefined)).unref()
  busySince = now
  return now
}

/** The part of a pass's result about arrays that got new storage. */
export function replacedBy(keyed: ReadonlyMap<number, Parameters<typeof mergeInserted>[0]>): {
  readonly replaced?: ReadonlyMap<number, Storage>
} {
  const replaced = new Map<number, Storage>()
  for (const [array, view] of keyed) {
    const merged = mergeInserted(view)
    if (merged !== undefined) replaced.set(array, merged)
  }
  return replaced.size === 0 ? {} : { replaced }
}
