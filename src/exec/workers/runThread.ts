/** The main function of worker threads: receives tasks, one at a time, and answers each with its result or its error. */
import { parentPort } from 'node:worker_threads'
import { receiveParts, type SharedPart } from '../../core/sharedParts.ts'
import type { ArenaHandle } from '../memory/arena.ts'
import { taskEnded } from '../memory/lease.ts'
import { attachArena } from '../memory/sharedArena.ts'
import { fromMessage, type Message, toMessage } from './arenaViews.ts'
import { type Handlers, runTask } from './runTask.ts'
import { transferablesOf } from './transferables.ts'
import { errorToWire, type WireError } from './wire.ts'
import type { Task } from './worker.ts'

/** The data that a thread is started with. */
export interface ThreadData {
  readonly worker: number
  readonly arena: ArenaHandle
  readonly abortFlag: Int32Array
  /** The number of the task that was sent and has not begun; 0 when there is none. Who takes it away decides what becomes of the task. */
  readonly pending: Int32Array
  /** A module whose HANDLERS are used instead of those beside this file. */
  readonly handlers?: string
}

/** A task with its number, and with what the process shares since the last one (`core/sharedParts.ts`). */
export interface Sent {
  readonly number: number
  readonly task: Task
  readonly parts?: ReadonlyMap<string, SharedPart>
}

export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: WireError }

/** Runs the tasks of a thread, in which it is called once; tasks that come before `handlers` are there wait for them. */
export function runThread(data: ThreadData, handlers: Promise<Handlers>): void {
  const context = { worker: data.worker, arena: attachArena(data.arena), cache: new Map<string, unknown>(), abortFlag: data.abortFlag }
  // should it fail to load, the first task says so
  void handlers.catch(() => undefined).then(() => parentPort?.postMessage('up')) // see threadWorker.ts

  parentPort?.on('message', (message: Message) => {
    const { number, task, parts } = fromMessage(message, context.arena) as Sent // what threadWorker.ts sends
    if (parts !== undefined) receiveParts(parts)
    void begin(number, task)
  })

  async function begin(number: number, task: Task): Promise<void> {
    await handlers.catch(() => undefined)
    const isTaken = Atomics.compareExchange(data.pending, 0, number, 0) === number
    if (isTaken) await answer(task) // else it was cancelled while this thread was loading
    taskEnded(context.arena.budgetBytes)
  }

  async function answer(task: Task): Promise<void> {
    try {
      const value = await runTask(task, await handlers, context)
      post({ ok: true, value }, transferablesOf(value))
    } catch (error) {
      post({ ok: false, error: errorToWire(error) }, [])
    }
  }

  function post(answer: Answer, transfer: ArrayBuffer[]): void {
    const message = toMessage(answer, context.arena)
    try {
      parentPort?.postMessage(message, transfer)
    } catch (error) {
      if (transfer.length === 0) throw error
      parentPort?.postMessage(message) // some buffers belong to their maker for good, as a WebAssembly memory's
    }
  }
}
