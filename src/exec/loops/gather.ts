/**
 * Columns brought into the order of places, each value by its position:
 *
 *     from    a b c d        order    0 2 1 3        to    a c b d
 *
 * The workers do it together where there is much of it: each writes a part of the places.
 */

import type { TypedArray } from '../../core/data/column.ts'
import type { Arena } from '../memory/arena.ts'
import type { TaskHandler, WorkerPool } from '../workers/worker.ts'
import { isWarm, warmUp } from './claims/warmUp.ts'

export interface Gather {
  readonly from: TypedArray
  readonly order: Int32Array
  /** The target, an array of the class of `from` and of the length of `order`. */
  readonly to: TypedArray
}

/** Values from which the workers are quicker than this thread and a message to each. */
const WORTH_WORKERS = 2 ** 18
/** The same number where threads have yet to start. */
const WORTH_STARTING = 2 ** 21

export interface GatherResources {
  readonly pool: WorkerPool
  readonly arena: Arena
  readonly worthThreadsMs?: number
}

export async function gather(columns: readonly Gather[], { pool, arena, worthThreadsMs }: GatherResources): Promise<void> {
  const values = columns.reduce((sum, { to }) => sum + to.length, 0)
  const isWorth = worthThreadsMs === 0 || values >= (isWarm(pool) ? WORTH_WORKERS : WORTH_STARTING)
  if (pool.size > 1 && isWorth && columns.every(({ from }) => arena.owns(from))) {
    const tasks = Array.from({ length: pool.size }, (_, share): GatherTask => ({ columns, share, shares: pool.size }))
    if (!isWarm(pool)) await warmUp(pool)
    await pool.runTogether('gather', tasks, { onAbort: 'finish' })
  } else for (const column of columns) gatherPart(column, 0, column.to.length)
}

interface GatherTask {
  readonly columns: readonly Gather[]
  readonly share: number
  readonly shares: number
}

/** The handler of `gather` tasks. */
export const gatherTask: TaskHandler = (payload) => {
  const { columns, share, shares } = payload as GatherTask // sent by gather()
  for (const column of columns) {
    const bound = (at: number): number => Math.floor((column.to.length * at) / shares)
    gatherPart(column, bound(share), bound(share + 1))
  }
}

function gatherPart({ from, order, to }: Gather, first: number, end: number): void {
  // places and positions are inside; both arrays hold one type of values
  for (let place = first; place < end; place++) to[place] = from[order[place] as number] as never
}
