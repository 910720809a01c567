/** Composes a session: joins planner, executor and sources over one memory, with workers and events. */

import { availableParallelism } from 'node:os'
import { Subject } from 'rxjs'
import { checkBoolean, checkOneOf, checkSeed, isSignal } from '../core/arguments.ts'
import { DistArray } from '../core/arrays/distArray.ts'
import { interfaceOf } from '../core/data/interfaceText.ts'
import { valueText } from '../core/data/valueKinds.ts'
import * as errors from '../core/errors.ts'
import { PlanError } from '../core/errors.ts'
import { joinedSignal } from '../core/joinedSignal.ts'
import { addLibraryParts } from '../core/libraryParts.ts'
import * as aggregates from '../core/plan/aggregates.ts'
import * as windows from '../core/plan/windows.ts'
import type { TableMemory } from '../core/ports.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import { type Shown, showAs } from '../core/show/shown.ts'
import { bucket } from '../core/time/bucket.ts'
import { duration, formatTime, parseTime } from '../core/time/texts.ts'
import type { Gang } from '../exec/gang/gang.ts'
import { tableMemory } from '../exec/tables/columns/tableMemory.ts'
import { Executor } from '../exec/tables/executor.ts'
import type { ExecutorEvent } from '../exec/tables/executorOptions.ts'
import { ArrayStore } from '../exec/tables/store/arrayStore.ts'
import { parquetFilters as filters } from '../io/parquet/filters/ruleOut.ts'
import type { ReadOptions } from '../io/reading.ts'
import { readSplit } from '../io/readSplit.ts'
import { requireCompiled } from '../planner/function/requireCompiled.ts'
import { RowFunctions } from '../planner/function/rowFunctions.ts'
import { lower } from '../planner/physical/lower.ts'
import { retyped } from '../planner/retype.ts'
import { queriesBy } from './arrayQueries.ts'
import { type Checkpoint, ledgerOf } from './checkpoint.ts'
import { SessionEngine } from './engine.ts'
import { gangOf, type Runtime, worthThreadsMsOf } from './runtime.ts'
import { checkProgress, MOST_WORKERS, megabytes, type SessionOptions } from './sessionOptions.ts'
import { endWith, type SessionSpill, sessionArena, sessionPool, sessionSpill } from './sessionParts.ts'
import type { SparkTables } from './sparkTables.ts'

/** The parts of a session that are opened asynchronously before it is made. */
export interface Joined {
  readonly gang?: Gang
  readonly checkpoint?: Checkpoint | undefined
  readonly spark?: SparkTables | undefined
}

interface Composition {
  readonly workers: number
  readonly runtime: Runtime
  readonly engine: SessionEngine
  /** The memory into which tables of the program are copied. */
  readonly tables: TableMemory
  readonly spill: SessionSpill
}

/** Makes the parts of a session; throws PlanError for options that make no sense. `checkOpen` throws, and `stopped` is aborted, once the session has stopped. */
export function composed(
  options: SessionOptions,
  { gang, checkpoint, spark }: Joined,
  { stopped, checkOpen }: Pick<Runtime, 'stopped' | 'checkOpen'>,
): Composition {
  const { workers = Math.min(MOST_WORKERS, availableParallelism()), progress = 'auto', checkRaces } = options
  if (!Number.isInteger(workers) || workers < 1 || workers > MOST_WORKERS) {
    throw new PlanError(
      `workers is ${valueText(workers)}. It is an integer from 1 to ${MOST_WORKERS}; without it there is one for each core.`,
    )
  }
  if (typeof progress !== 'boolean') checkProgress(progress)
  if (options.seed !== undefined) checkSeed('seed', options.seed)
  if (checkRaces !== undefined) checkBoolean('checkRaces', checkRaces)
  if (options.require !== undefined) checkOneOf('The require of Session.start()', options.require, ['compiled'])
  const events = new Subject<SessionEvent>()
  const arena = sessionArena(options.memory)
  const pool = sessionPool(workers, arena, events)
  const tables = tableMemory(arena)
  const spill = sessionSpill(options)
  const running = { spill, pool, arena, readSplit, filters, lower, onEvent: (event: ExecutorEvent) => events.next(event), stopped }
  const executor = spark?.executor(running, { memory: tables, events }) ?? new Executor(running)
  const functions = new RowFunctions()
  const ledger = checkpoint === undefined ? undefined : ledgerOf(checkpoint, arena, events)
  const processes = gang ?? gangOf(options)
  const store = new ArrayStore({
    arena,
    ledger,
    elsewhere: processes?.journal(arena, spill),
    moment: (used) => {
      const moment = functions.moment(used)
      if (options.require === 'compiled') for (const f of used) requireCompiled(moment.now(f))
      return moment
    },
    ...queriesBy(executor),
    retype: retyped,
  })
  const runtime: Runtime = {
    ...{ arena, pool, store, executor, events, ledger, spark, gang: processes, stopped, checkOpen, checkRaces },
    require: options.require,
    worthThreadsMs: worthThreadsMsOf(options),
    passes: new Set(),
  }
  endWith(runtime, pool)
  return { workers, runtime, engine: new SessionEngine(runtime, { seed: options.seed ?? 0, functions }), tables, spill }
}

/** Opens the Spark server that the options name, and loads its code only then; undefined where they name none. */
export async function sparkAskedFor({ tables, fallback }: SessionOptions): Promise<SparkTables | undefined> {
  if (tables === undefined) {
    if (fallback !== undefined)
      throw new PlanError("fallback says what runs here of a session with { tables: 'sc://host:15002' }, and this one has no tables there.")
    return undefined
  }
  return await (await import('./sparkTables.ts')).sparkTables(tables, fallback)
}

/** Makes the class of sessions known: to what prints them, and with all else that the library exports, to what looks into a program's functions. */
export function introduceSession<S>(Session: { readonly prototype: object }, shownOf: (session: S) => Shown): void {
  showAs<S>(Session.prototype, shownOf)
  const tables = [aggregates, windows, errors].flatMap((module): unknown[] => Object.values(module))
  addLibraryParts([Session, DistArray, interfaceOf, bucket, duration, formatTime, parseTime, ...tables])
}

/** The content that is printed of a session: its workers, and how much of its memory is used. */
export function shownSession(workers: number, { arena, stopped }: Runtime): Shown {
  const threads = workers === 1 ? "1 worker, the caller's thread" : `${workers} workers`
  const memory = stopped.aborted ? 'stopped' : `${megabytes(arena.usedBytes)} of ${megabytes(arena.budgetBytes)} of memory used`
  return { what: 'Session', title: `${threads}, ${memory}` }
}

/** A reader's options with a signal that `stopped` aborts too; options that make no sense are left for the reader to refuse. */
export function readingUntil<O extends ReadOptions>(stopped: AbortSignal, options: O): O {
  if (typeof options !== 'object' || options === null) return options
  const { signal } = options
  if (signal === undefined) return { ...options, signal: stopped }
  return isSignal(signal) ? { ...options, signal: joinedSignal([signal, stopped]) } : options
}

/** The error of `table()` in a session without a server. */
export function noServer(): PlanError {
  return new PlanError(
    "table() opens tables of a Spark server, and this session has none. Start it with one: Session.start({ tables: 'sc://host:15002' }).",
  )
}
