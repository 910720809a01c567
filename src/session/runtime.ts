/** The runtime that the parts of a session share: memory, workers, storage, events. `composition.ts` makes it; `engine.ts` and `loops/` use it. */
import type { Subject } from 'rxjs'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import type { Ledger } from '../exec/ledger/ledger.ts'
import type { LoopGang } from '../exec/loops/preparedLoop.ts'
import type { SharedArena } from '../exec/memory/sharedArena.ts'
import { hasWideMemory, mostBytes } from '../exec/memory/wideMemory.ts'
import type { Executor } from '../exec/tables/executor.ts'
import type { ArrayStore } from '../exec/tables/store/arrayStore.ts'
import type { WorkerPool } from '../exec/workers/worker.ts'
import type { SparkTables } from './sparkTables.ts'

export interface Runtime {
  readonly arena: SharedArena
  readonly pool: WorkerPool
  readonly store: ArrayStore
  readonly executor: Executor
  readonly events: Subject<SessionEvent>
  /** The default for loops without the option: true checks every run for races, undefined only small loops under test. */
  readonly checkRaces: boolean | undefined
  /** 'compiled': a function or body that would run as JavaScript is an error. */
  readonly require?: 'compiled' | undefined
  /** The other processes that run passes with this one. */
  readonly gang?: LoopGang | undefined
  /** The ledger of the passes that a checkpoint keeps. */
  readonly ledger?: Ledger | undefined
  /** The Spark server that has the session's tables, if there is one. */
  readonly spark?: SparkTables | undefined
  /** The estimated milliseconds from which a first pass runs on workers; undefined for the default. */
  readonly worthThreadsMs: number | undefined
  /** The signal that is aborted when the session stops; it ends waits for files and servers. */
  readonly stopped: AbortSignal
  /** The passes under way, which `stop()` waits for. */
  readonly passes: Set<Promise<unknown>>
  /** Throws when the session was stopped. */
  checkOpen(): void
}

const SHORT_PASSES: unique symbol = Symbol('distarray.shortPassesOnWorkers')

/** Session options for tests: passes run on workers however short they are. */
export const shortPassesOnWorkers: object = { [SHORT_PASSES]: true }

export function worthThreadsMsOf(options: object): number | undefined {
  return SHORT_PASSES in options ? 0 : undefined
}

const WITH_GANG: unique symbol = Symbol('distarray.runningWith')

/** Session options for tests: loops run on these processes. */
export function runningWith(gang: LoopGang): object {
  return { [WITH_GANG]: gang }
}

export function gangOf(options: object): LoopGang | undefined {
  return WITH_GANG in options ? (options[WITH_GANG] as LoopGang) : undefined // as runningWith made it
}

const UNITS = { KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 } as const

/**
 * The bytes of a `memory` option: a number, or text as '512MB' or '1.5GB' (units of 1024). Throws PlanError for others, and
 * above what the engine gives: 16 GiB where it has memory of 64-bit addresses, else 4 GiB.
 */
export function bytesOf(memory: number | string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(KB|MB|GB)$/.exec(typeof memory === 'string' ? memory : '') ?? []
  const bytes = typeof memory === 'number' ? memory : Number(digits) * UNITS[unit as keyof typeof UNITS]
  if (!Number.isFinite(bytes) || bytes < 2 ** 20) {
    throw new PlanError(`memory is ${valueText(memory)}. It is a number of bytes, at least 1 MB, or text as '512MB' or '2GB'.`)
  }
  if (bytes > mostBytes()) throw new PlanError(tooMuchText(valueText(memory), hasWideMemory()))
  return Math.floor(bytes)
}

/** The message for a `memory` option beyond what the engine gives. */
export function tooMuchText(memory: string, isWide: boolean): string {
  const [most, why, cure] = isWide
    ? ['16GB', 'and that is the largest that the engine gives', '']
    : ['4GB', "and this engine's has 32-bit addresses, which end there", ' Node 24 has 64-bit addresses, and gives up to 16 GB.']
  return `memory is ${memory}. A session has '${most}' at the most: its arrays lie in one memory of WebAssembly, ${why}.${cure}\nAsk for '${most}' or less, and leave what does not fit in files, which plans read in pieces.`
}
