/**
 * The parts of a session that outlive it for a moment: memory and workers. Nothing here holds the session, so that one that a
 * program drops without `stop()` becomes garbage, and its threads end with it.
 */
import type { Subject } from 'rxjs'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import { reclaim } from '../exec/memory/lease.ts'
import { createArena, type SharedArena } from '../exec/memory/sharedArena.ts'
import type { SpillOptions } from '../exec/tables/executorOptions.ts'
import { spillError } from '../exec/tables/spill/segments.ts'
import { createPool } from '../exec/workers/pool.ts'
import type { WorkerPool } from '../exec/workers/worker.ts'
import { SpillFolder } from '../io/bytes/spillFolder.ts'
import { letGo } from '../planner/function/captures/inspected.ts'
import { bytesOf } from './runtime.ts'
import { HANDLERS } from './taskHandlers.ts'

export function sessionArena(memory: number | string | undefined): SharedArena {
  const arena = createArena(memory === undefined ? {} : { budgetBytes: bytesOf(memory) })
  arena.onPressure = () => {
    letGo() // functions that were looked at hold arrays
    return reclaim(arena)
  }
  return arena
}

/** The spill folder of a session. */
export interface SessionSpill extends SpillOptions {
  readonly remove: () => void
}

const ALWAYS: unique symbol = Symbol('distarray.spillingAlways')

/** Session options for tests: operators spill whatever they can, in so many parts of so many bytes. */
export function spillingAlways(parts: NonNullable<SpillOptions['always']>): object {
  return { [ALWAYS]: parts }
}

export function sessionSpill(options: { readonly spillFolder?: string }): SessionSpill {
  const { spillFolder: path } = options
  const always = ALWAYS in options ? { always: options[ALWAYS] as NonNullable<SpillOptions['always']> } : {} // as spillingAlways made it
  if (path !== undefined && (typeof path !== 'string' || path === ''))
    throw new PlanError(`spillFolder is ${valueText(path)}. It is the path of a folder.`)
  const folder = new SpillFolder(path)
  folder.tidy()
  return {
    ...always,
    remove: () => folder.remove(),
    file: () => {
      try {
        return folder.file()
      } catch (error) {
        throw spillError(folder.parent, 'written', error)
      }
    },
  }
}

/** Makes the workers; `events`, held weakly, is told of their threads. */
export function sessionPool(workers: number, arena: SharedArena, events: Subject<SessionEvent>): WorkerPool {
  const listening = new WeakRef(events)
  return createPool({
    workers,
    arena,
    events: (event) => listening.deref()?.next({ kind: 'worker', ...event }),
    handlers: {
      url: '../../session/threadHandlers.ts', // relative to `threadMain.ts`; the package's threads have theirs bundled
      table: HANDLERS,
    },
  })
}

const dropped = new FinalizationRegistry<WorkerPool>((pool) => void pool.stop())

/** Ends the pool's threads once `owner` is garbage, which is held by everything that can use them. */
export function endWith(owner: object, pool: WorkerPool): void {
  dropped.register(owner, pool)
}
