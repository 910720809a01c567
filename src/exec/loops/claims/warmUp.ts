/** Starts the threads of a pool ahead of its first work, as starting takes a while, and tells whether they run. */
import type { TaskHandler, WorkerPool } from '../../workers/worker.ts'

const starting = new WeakMap<WorkerPool, Promise<unknown>>()
const warm = new WeakSet<WorkerPool>()

/** Whether all threads of the pool have run something. */
export function isWarm(pool: WorkerPool): boolean {
  return warm.has(pool)
}

/** Resolves when all threads have started. Asked again, it waits for the same start. */
export function warmUp(pool: WorkerPool): Promise<unknown> {
  const known = starting.get(pool)
  if (known !== undefined) return known
  const start = pool
    .runTogether('ready', new Array<undefined>(pool.size).fill(undefined))
    .then(() => warm.add(pool))
    .finally(() => starting.delete(pool))
  starting.set(pool, start)
  return start
}

/** The handler of `ready` tasks: there is nothing to do but be there. */
export const readyTask: TaskHandler = () => undefined
