/** Has the workers run passes of a loop. What stays the same for all passes is sent to a worker once. */
import type { WorkerPool } from '../../workers/worker.ts'
import type { LoopMessage, LoopTask, LoopTaskResult, PassTurn } from '../loopTask.ts'

/** The passes of one portion on the workers of a pool. `late` of `run` ends threads that do not end by themselves. */
export class WorkerPasses {
  readonly #pool: WorkerPool
  /** Shares whose worker was sent the loop; the pool may give a share to another worker the next time, which then asks for it. */
  #told = 0

  constructor(pool: WorkerPool) {
    this.#pool = pool
  }

  async run(
    task: LoopTask,
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    late: AbortSignal,
  ): Promise<readonly LoopTaskResult[]> {
    // in a run of several passes the workers wait for each other: nobody may ask in between
    const first = await this.#send(task, turn, workers, { late, tells: turn.passes > 1 || this.#told < workers })
    const known = first.filter((result) => result !== undefined)
    if (known.length === workers) return known
    // others have run their blocks; those who ask run what is left
    const second = await this.#send(task, turn, workers, { late, tells: true })
    return [...known, ...second.filter((result) => result !== undefined)]
  }

  async #send(
    task: LoopTask,
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    { tells, late }: { readonly tells: boolean; readonly late: AbortSignal },
  ): Promise<readonly (LoopTaskResult | undefined)[]> {
    const messages = Array.from(
      { length: workers },
      (_, share): LoopMessage => ({ id: task.id, turn: { ...turn, share, shares: workers }, ...(tells ? { loop: task } : {}) }),
    )
    this.#told = 0 // should it fail
    const results = (await this.#pool.runTogether('loop', messages, { signal: late })) as (LoopTaskResult | undefined)[] // what runLoopTask gives
    this.#told = workers
    return results
  }
}
