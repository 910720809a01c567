/**
 * The pool: a queue of jobs in the order of the calls, each needing one worker or several at the same time.
 *
 * The first job in the queue is started as soon as enough workers are free; jobs behind it wait, so a job for all
 * workers is never starved. A job is settled when nothing of it runs any more: whoever awaits it may free its memory.
 */
import { availableParallelism } from 'node:os'
import { Bug, MemoryError, PlanError } from '../../core/errors.ts'
import { HANDLERS } from '../handlers.ts'
import type { SharedArena } from '../memory/sharedArena.ts'
import { InlineWorker } from './inlineWorker.ts'
import type { Handlers } from './runTask.ts'
import { ThreadWorker } from './threadWorker.ts'
import type { Runner, TaskOptions, WorkerEvents, WorkerPool } from './worker.ts'

export interface PoolOptions {
  /** The number of workers. Default: all cores; 1 runs on the caller's thread. */
  readonly workers?: number
  readonly arena: SharedArena
  readonly events?: WorkerEvents
  /** The table of tasks' handlers, and the URL of the module that exports it as HANDLERS, which threads import. Default: `handlers.ts`. */
  readonly handlers?: { readonly url: string; readonly table: Handlers }
}

/** Milliseconds that an aborted task may take to stop by itself before its thread is ended. */
const GRACE_MS = 100

/** A repeatable task that finds memory full this often is given up. */
const MOST_ATTEMPTS = 4

let lastOwner = 0

export function createPool(options: PoolOptions): WorkerPool {
  const size = options.workers ?? availableParallelism()
  if (!Number.isInteger(size) || size < 1) throw new PlanError(`workers is ${String(size)}. It is an integer from 1.`)
  const { arena } = options
  const events = options.events === undefined ? {} : { events: options.events }
  const handlers = options.handlers === undefined ? {} : { handlers: options.handlers.url }
  const runners: Runner[] =
    size === 1
      ? [new InlineWorker(arena, options.handlers?.table ?? HANDLERS)]
      : Array.from({ length: size }, (_, worker) => new ThreadWorker(worker, arena, { ...events, ...handlers }))
  return new Pool(arena, runners)
}

/** The error with which a stopped session rejects whatever is asked of it. */
export function stoppedError(): PlanError {
  return new PlanError('The session was stopped. Start another one with Session.start(), or move stop() behind the last use.')
}

interface Job {
  readonly kind: string
  readonly payloads: readonly unknown[]
  readonly options: TaskOptions
  readonly owner: number
  resolve(values: unknown[]): void
  reject(reason: unknown): void
  /** Leaves the queue: what an abort does before the job has started. */
  drop(): void
}

class Pool implements WorkerPool {
  readonly size: number
  private readonly arena: SharedArena
  private readonly runners: readonly Runner[]
  private readonly idle: Set<Runner>
  private queue: Job[] = []
  private readonly running = new Set<RunningJob>()
  private stopped = false

  constructor(arena: SharedArena, runners: readonly Runner[]) {
    this.arena = arena
    this.runners = runners
    this.idle = new Set(runners)
    this.size = runners.length
  }

  async run(kind: string, payload: unknown, options: TaskOptions = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.submit(kind, [payload], options))[0]
      } catch (error) {
        if (options.repeatable !== true || !(error instanceof MemoryError) || attempt === MOST_ATTEMPTS) throw error
        // only this thread knows which arrays are garbage; another task's failure may have freed them already
        if (!this.hasRoomFor(error.bytes) && this.arena.onPressure?.() !== true) throw error
      }
    }
  }

  private hasRoomFor(bytes: number): boolean {
    return this.arena.budgetBytes - this.arena.usedBytes > bytes
  }

  async runTogether(kind: string, payloads: readonly unknown[], options: TaskOptions = {}): Promise<unknown[]> {
    if (payloads.length > this.size) throw new Bug(`${payloads.length} tasks were to run together on ${this.size} workers.`)
    return payloads.length === 0 ? [] : await this.submit(kind, payloads, options)
  }

  async stop(): Promise<void> {
    this.stopped = true
    const reason = stoppedError()
    for (const job of this.queue.splice(0)) job.reject(reason)
    for (const job of this.running) job.fail(reason)
    await Promise.all(this.runners.map((runner) => runner.stop(reason)))
  }

  private submit(kind: string, payloads: readonly unknown[], options: TaskOptions): Promise<unknown[]> {
    const signals = signalsOf(options)
    return new Promise((resolve, reject) => {
      if (this.stopped) return reject(stoppedError())
      const aborted = signals.find((signal) => signal.aborted)
      if (aborted !== undefined) return reject(aborted.reason)
      const job: Job = {
        kind,
        payloads,
        options,
        owner: nextOwner(),
        resolve,
        reject,
        drop: () => {
          this.queue = this.queue.filter((other) => other !== job)
          for (const signal of signals) signal.removeEventListener('abort', job.drop)
          reject(signals.find((signal) => signal.aborted)?.reason)
          this.pump()
        },
      }
      for (const signal of signals) signal.addEventListener('abort', job.drop, { once: true })
      this.queue.push(job)
      this.pump()
    })
  }

  /** Starts jobs from the head of the queue while there are workers for them. */
  private pump(): void {
    for (let job = this.queue[0]; job !== undefined && job.payloads.length <= this.idle.size; job = this.queue[0]) {
      this.queue.shift()
      for (const signal of signalsOf(job.options)) signal.removeEventListener('abort', job.drop)
      void this.start(job)
    }
  }

  private async start(job: Job): Promise<void> {
    // the lowest numbers first: a pool that never has two tasks at once starts one thread
    const runners = this.runners.filter((runner) => this.idle.has(runner)).slice(0, job.payloads.length)
    const running = new RunningJob(runners)
    this.running.add(running)
    const { signal, onAbort } = job.options
    const abort = (): void => running.fail(signal?.reason, onAbort)
    signal?.addEventListener('abort', abort, { once: true })
    for (const runner of runners) {
      this.idle.delete(runner)
      Atomics.store(runner.abortFlag, 0, 0)
    }
    const values = await Promise.all(
      runners.map(async (runner, i) => {
        try {
          return await runner.run({ kind: job.kind, payload: job.payloads[i], owner: job.owner })
        } catch (error) {
          running.fail(error, onAbort)
          return undefined
        } finally {
          running.finished(runner)
        }
      }),
    )
    signal?.removeEventListener('abort', abort)
    this.running.delete(running)
    for (const runner of runners) this.idle.add(runner)
    if (running.failure === undefined) job.resolve(values)
    else {
      this.arena.freeOwned(job.owner)
      job.reject(running.failure.reason)
    }
    if (!this.stopped) this.pump()
  }
}

/** The signals that end a job which has not started. */
function signalsOf({ signal, unwanted }: TaskOptions): readonly AbortSignal[] {
  return [signal, unwanted].filter((one) => one !== undefined)
}

/** The tasks of a job under way. The first failure fails the job, and the others are told to stop. */
class RunningJob {
  failure: { readonly reason: unknown } | undefined
  private readonly busy: Set<Runner>
  private timer: NodeJS.Timeout | undefined
  constructor(runners: readonly Runner[]) {
    this.busy = new Set(runners)
  }
  fail(reason: unknown, onAbort: 'terminate' | 'finish' = 'terminate'): void {
    if (this.failure !== undefined) return
    this.failure = { reason }
    for (const { abortFlag } of this.busy) {
      Atomics.store(abortFlag, 0, 1)
      Atomics.notify(abortFlag, 0)
    }
    for (const runner of [...this.busy]) runner.cancel(reason)
    if (onAbort === 'finish') return
    this.timer = setTimeout(() => {
      for (const runner of this.busy) void runner.end(reason)
    }, GRACE_MS)
  }
  finished(runner: Runner): void {
    this.busy.delete(runner)
    if (this.busy.size === 0) clearTimeout(this.timer)
  }
}

/** Owners are positive 32-bit numbers; one that comes again after four billion jobs has long been freed. */
function nextOwner(): number {
  lastOwner = (lastOwner % (2 ** 31 - 1)) + 1
  return lastOwner
}
