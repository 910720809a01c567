/**
 * Engines that run tables of a few rows as if they were large: in pieces of some rows each, on workers where there are
 * several.
 */
import { Subject } from 'rxjs'
import { fieldsOf } from '../src/core/data/schema.ts'
import type { ArraySource, LogicalPlan } from '../src/core/plan/logicalPlan.ts'
import type { SessionEvent } from '../src/core/sessionEvent.ts'
import type { Arena } from '../src/exec/memory/arena.ts'
import { Executor } from '../src/exec/tables/executor.ts'
import type { ExecutorOptions } from '../src/exec/tables/executorOptions.ts'
import { ArrayStore } from '../src/exec/tables/store/arrayStore.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import { sourceFromRows } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { RowFunctions } from '../src/planner/function/rowFunctions.ts'
import { lower } from '../src/planner/physical/lower.ts'
import { retyped } from '../src/planner/retype.ts'
import { queriesBy } from '../src/session/arrayQueries.ts'
import { SessionEngine } from '../src/session/engine.ts'
import { HANDLERS } from '../src/session/taskHandlers.ts'
import { lawArena } from './lawArena.ts'

/** Of a partition. */
export const ROWS_IN_A_PIECE = 4

export interface PiecemealEngines {
  /** One for each number of workers. */
  readonly engines: readonly SessionEngine[]
  /** The engines' stores, in their order. */
  readonly stores: readonly ArrayStore[]
  /** Of all of them. */
  readonly arena: Arena
  stop(): Promise<void>
}

export function piecemealEngines(
  sizes: readonly number[],
  partitionRows: number = ROWS_IN_A_PIECE,
  executorOf: (options: ExecutorOptions) => Executor = (options) => new Executor(options),
): PiecemealEngines {
  const arena = lawArena(2 ** 27)
  const handlers = { url: new URL('../src/session/threadHandlers.ts', import.meta.url).href, table: HANDLERS }
  const pools = sizes.map((workers) => createPool({ workers, arena, handlers }))
  const made = pools.map((pool) => {
    const executor = executorOf({ pool, arena, readSplit, lower, smallRows: 0, partitionRows })
    const functions = new RowFunctions()
    const store = new ArrayStore({
      arena,
      moment: (used) => functions.moment(used),
      ...queriesBy(executor),
      retype: retyped,
    })
    const rest = {
      events: new Subject<SessionEvent>(),
      checkRaces: undefined,
      worthThreadsMs: undefined,
      stopped: new AbortController().signal,
      passes: new Set<Promise<unknown>>(),
      checkOpen: () => undefined,
    }
    return { store, engine: new SessionEngine({ pool, arena, store, executor, ...rest }, { seed: 0, functions }) }
  })
  const stop = async (): Promise<void> => {
    for (const pool of pools) await pool.stop()
  }
  return { engines: made.map(({ engine }) => engine), stores: made.map(({ store }) => store), arena, stop }
}

/** A scan of rows in memory. */
export function tableOfRows(rows: readonly object[]): LogicalPlan {
  return tableOf(sourceFromRows(rows as readonly Record<string, unknown>[]))
}

/** A scan of all columns of a table. */
export function tableOf(source: ArraySource): LogicalPlan {
  const columns = fieldsOf(source.element).map(({ name }) => name)
  return { kind: 'Scan', source, columns, element: source.element, keys: { kind: 'rowNumber' } }
}
