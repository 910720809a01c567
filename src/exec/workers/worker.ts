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
  /** The arena. Blocks that a task allocates here are freed if it fails; if it succeeds they belong to who receives the result. */
  readonly arena: Arena
  /** Keeps compiled kernels and other things worth keeping between tasks, by a key of the handler's choosing. */
  readonly cache: Map<string, unknown>
  /** One word of shared memory: not 0 once the task should stop (`Atomics.load(abortFlag, 0)`); what it returns then is dropped. */
  readonly abortFlag: Int32Array
}

/** The function that runs tasks of one kind. It must not change its payload, and gives away what it returns. */
export type TaskHandler = (payload: unknown, context: WorkerContext) => unknown

export interface TaskOptions {
  /** A queued task is dropped; one under way is told by its `abortFlag` and rejected, with the signal's reason, once it no longer runs. */
  readonly signal?: AbortSignal
  /** Once it is aborted, a task that is still queued is dropped; one under way is let finish. For results that nobody waits for any more. */
  readonly unwanted?: AbortSignal
  /** 'terminate' (default): a task that does not stop by itself soon loses its thread. 'finish': it is waited for. */
  readonly onAbort?: 'terminate' | 'finish'
  /** Whether the task changes nothing but what it returns: then it is run again when memory was short and garbage could be freed. */
  readonly repeatable?: boolean
}

export interface WorkerPool {
  readonly size: number
  /** Runs one task on the next free worker, in the order of the calls. Errors of the handler arrive with their class and fields. */
  run(kind: string, payload: unknown, options?: TaskOptions): Promise<unknown>
  /** Runs one task on each of the first `payloads.length` workers at the same time, for loops whose blocks the workers claim themselves. */
  runTogether(kind: string, payloads: readonly unknown[], options?: TaskOptions): Promise<unknown[]>
  /** Ends all workers; tasks under way are rejected. */
  stop(): Promise<void>
}

/** Told when a thread starts or dies unasked. */
export type WorkerEvents = (event: { readonly phase: 'started' | 'lost'; readonly worker: number }) => void

/** A task on its way to a worker. */
export interface Task {
  readonly kind: string
  readonly payload: unknown
  /** Marks the blocks it allocates; see `SharedArena.freeOwned`. */
  readonly owner: number
}

/** One worker of a pool: runs one task at a time. */
export interface Runner {
  readonly worker: number
  readonly abortFlag: Int32Array
  /** Rejects with the handler's error, or with a TaskError when the worker died of the task. */
  run(task: Task): Promise<unknown>
  /** Rejects the task with `reason` if nothing of it has begun; the worker stays as it is. */
  cancel(reason: unknown): void
  /** Rejects the task under way with `reason`, and resolves when nothing of it runs any more. The next `run` starts afresh. */
  end(reason: unknown): Promise<void>
  /** Ends the worker for good: resolves when there is no thread any more. */
  stop(reason: unknown): Promise<void>
}
