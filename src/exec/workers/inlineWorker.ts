/**
 * The caller's own thread as a worker: the same handlers, nothing copied, steppable in a debugger.
 *
 * Before each task the event loop gets a turn, so that timers, aborts and events are not starved by a chain of tasks.
 */
import { attachArena, type SharedArena } from '../memory/sharedArena.ts'
import { type Handlers, runTask } from './runTask.ts'
import type { Runner, Task, WorkerContext } from './worker.ts'

export class InlineWorker implements Runner {
  readonly worker = 0
  readonly abortFlag: Int32Array = new Int32Array(new SharedArrayBuffer(4))
  private readonly context: WorkerContext & { readonly arena: SharedArena }
  private readonly handlers: Handlers
  private rejectCurrent: ((reason: unknown) => void) | undefined

  constructor(arena: SharedArena, handlers: Handlers) {
    // an arena object of its own: what the caller allocates meanwhile is not the task's
    const own = attachArena(arena.handle)
    own.onPressure = () => arena.onPressure?.() ?? false
    this.context = { worker: 0, arena: own, cache: new Map(), abortFlag: this.abortFlag }
    this.handlers = handlers
  }

  async run(task: Task): Promise<unknown> {
    await new Promise<void>((resolve, reject) => {
      this.rejectCurrent = reject
      setImmediate(resolve)
    })
    this.rejectCurrent = undefined
    return await runTask(task, this.handlers, this.context)
  }

  cancel(reason: unknown): void {
    this.rejectCurrent?.(reason)
  }

  /** A task that has not begun is rejected; one that runs cannot be ended from its own thread. */
  async end(reason: unknown): Promise<void> {
    this.cancel(reason)
  }

  async stop(reason: unknown): Promise<void> {
    this.cancel(reason)
  }
}
