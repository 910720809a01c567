/**
 * Workers as one interface: the caller's thread (inline) and worker threads run the same tasks by the same handlers.
 *
 * A task is a kind and a structured-cloneable payload; what it returns travels back the same way. Buffers that are
 * views of the arena travel without a copy. `handlers.ts` is the table of what a worker can do.
 */
import type { Arena } from '../memory/arena.ts'

export interface WorkerContext {
  /** 0 to size - 1. */
  readonly worker: number
  readonly arena: Arena
  /** Keeps compiled kernels and other things worth keeping between tasks, by a key of the handler's choosing. */
  readonly cache: Map<string, unknown>
}

/** What a worker can do, by the kind of the task. */
export type TaskHandler = (payload: unknown, context: WorkerContext) => unknown

export interface WorkerPool {
  readonly size: number
  /** Runs one task on the next free worker, in the order of the calls. Errors of the handler arrive with their class and fields. */
  run(kind: string, payload: unknown, options?: { readonly signal?: AbortSignal }): Promise<unknown>
  /** Runs one task on each of the first `payloads.length` workers at the same time, for loops whose blocks the workers claim themselves. */
  runTogether(kind: string, payloads: readonly unknown[], options?: { readonly signal?: AbortSignal }): Promise<unknown[]>
  /** Ends all workers; tasks under way are rejected. */
  stop(): Promise<void>
}
