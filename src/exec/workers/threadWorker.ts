/**
 * A worker thread that starts when it gets its first task and is replaced when it dies.
 *
 * It keeps the process alive only while it has a task: a program that forgets `stop()` exits, one that awaits does not.
 *
 * A thread that is ended while it reads its modules leaves the descriptors of their files open. So one that is loading is
 * left to load: a task that it has not begun is taken back, and `stop` waits until it is up.
 */

import { Worker } from 'node:worker_threads'
import { refusedThread } from '../../core/environment.ts'
import { TaskError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import { allSharedParts } from '../../core/sharedParts.ts'
import { taskEnded } from '../memory/lease.ts'
import type { SharedArena } from '../memory/sharedArena.ts'
import { fromMessage, type Message, toMessage } from './arenaViews.ts'
import type { Answer, Sent, ThreadData } from './runThread.ts'
import { threadProgram } from './threadProgram.ts'
import { wireToError } from './wire.ts'
import type { Runner, Task, WorkerEvents } from './worker.ts'

interface Running {
  readonly task: Task
  resolve(value: unknown): void
  reject(reason: unknown): void
}

export class ThreadWorker implements Runner {
  readonly worker: number
  readonly abortFlag: Int32Array = new Int32Array(new SharedArrayBuffer(4))
  private readonly arena: SharedArena
  private readonly handlers: string | undefined
  private readonly events: WorkerEvents | undefined
  private thread: Worker | undefined
  /** Resolves when the thread has loaded everything, or is no more. */
  private up: Promise<void> = Promise.resolve()
  private running: Running | undefined
  private readonly pending = new Int32Array(new SharedArrayBuffer(4))
  private lastNumber = 0
  /** The number of the process's shared parts that the thread has been sent. */
  private partsSent = 0

  constructor(worker: number, arena: SharedArena, options: { readonly handlers?: string; readonly events?: WorkerEvents }) {
    this.worker = worker
    this.arena = arena
    this.handlers = options.handlers
    this.events = options.events
  }

  run(task: Task): Promise<unknown> {
    return new Promise((resolve, reject) => {
      try {
        this.thread ??= this.start()
        this.running = { task, resolve, reject }
        this.thread.ref()
        this.lastNumber = (this.lastNumber % (2 ** 31 - 1)) + 1
        const parts = allSharedParts()
        const sent: Sent = { number: this.lastNumber, task, ...(parts.size > this.partsSent && { parts }) }
        this.partsSent = parts.size
        Atomics.store(this.pending, 0, sent.number)
        this.thread.postMessage(toMessage(sent, this.arena))
      } catch (error) {
        // what cannot be cloned, or no thread to be had
        this.settle()
        reject(refusedThread(error) ?? error)
      }
    })
  }

  cancel(reason: unknown): void {
    const isBegun = Atomics.compareExchange(this.pending, 0, this.lastNumber, 0) !== this.lastNumber
    if (!isBegun) this.settle()?.reject(reason)
  }

  async stop(reason: unknown): Promise<void> {
    this.cancel(reason)
    this.thread?.ref()
    await this.up
    await this.end(reason)
  }

  async end(reason: unknown): Promise<void> {
    const { thread, running } = this
    if (thread === undefined) return
    this.thread = undefined
    this.arena.abandonThread(thread.threadId, 'ending')
    await thread.terminate()
    if (this.running !== running) return
    this.settle()?.reject(reason)
  }

  private start(): Worker {
    const data: ThreadData = {
      worker: this.worker,
      arena: this.arena.handle,
      abortFlag: this.abortFlag,
      pending: this.pending,
      ...(this.handlers === undefined ? {} : { handlers: this.handlers }),
    }
    // no execArgv of the caller's: loaders and --input-type are for its files, not for ours
    const resourceLimits = { maxYoungGenerationSizeMb: youngMegabytes(this.arena.budgetBytes) }
    const options = { workerData: data, execArgv: [], name: `distarray worker ${this.worker}`, resourceLimits }
    const program = threadProgram(this.handlers)
    const thread = new Worker(program, { ...options, eval: typeof program === 'string' })
    this.partsSent = 0
    const { threadId } = thread // -1 once it has ended
    let failure: unknown
    const { promise, resolve: isUp } = signalOfUp()
    this.up = promise
    thread.on('message', (message: Message | typeof UP) => {
      if (message === UP) return isUp()
      if (this.thread !== thread) return // too late: it is being ended
      const running = this.settle()
      const answer = fromMessage(message, this.arena) as Answer // what threadMain.ts sends
      if (answer.ok) running?.resolve(answer.value)
      else running?.reject(wireToError(answer.error))
      taskEnded(this.arena.budgetBytes)
    })
    thread.on('messageerror', (error) => this.settle()?.reject(error))
    thread.on('error', (error) => {
      failure = error
    })
    thread.on('exit', (code) => {
      isUp()
      this.arena.abandonThread(threadId, 'ended')
      if (this.thread !== thread) return // ended by us
      this.thread = undefined
      const running = this.settle()
      this.events?.({ phase: 'lost', worker: this.worker })
      running?.reject(lostError(this.worker, running.task.kind, code, failure))
    })
    this.events?.({ phase: 'started', worker: this.worker })
    return thread
  }

  /** Takes out and returns the task under way, if there is one. */
  private settle(): Running | undefined {
    const { running } = this
    this.running = undefined
    this.thread?.unref()
    return running
  }
}

/** Megabytes that V8 keeps for new objects of a thread unless told otherwise: three halves, each of 16. */
const MOST_YOUNG = 48
/** Least megabytes for new objects: with less, JavaScript that makes objects becomes slower. */
const LEAST_YOUNG = 6

/** Megabytes that each thread keeps for new objects: few beside a small budget. */
function youngMegabytes(budgetBytes: number): number {
  return Math.min(MOST_YOUNG, Math.max(LEAST_YOUNG, (3 * budgetBytes) / 2 ** 26))
}

/** The message by which `runThread.ts` says that it is loaded; that module runs in threads only. */
const UP = 'up'

function signalOfUp(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

function lostError(worker: number, kind: string, code: number, failure: unknown): TaskError {
  const lost = `Worker ${worker} was lost while it ran a task of kind "${kind}"`
  if (failure === undefined) {
    return new TaskError(`${lost}: the thread exited with code ${code}. A function it ran may have called process.exit().`)
  }
  const outOfMemory = (failure as { readonly code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (outOfMemory) {
    return new TaskError(
      `${lost}: the thread ran out of JavaScript heap. Functions that keep less at a time, or fewer workers, need less.`,
      {
        cause: failure,
      },
    )
  }
  const message = isError(failure) ? failure.message : String(failure)
  return new TaskError(`${lost}: an error was thrown outside of the task, in a callback or an unawaited promise: ${message}`, {
    cause: failure,
  })
}
