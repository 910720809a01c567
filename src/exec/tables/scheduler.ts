/**
 * Runs tasks several at a time and gives their results in order.
 *
 *     tasks    0 1 2 3 4 …      at most `window` under way or waiting to be taken
 *     results  0, 1, 2, …       the first error in this order is the one that is thrown
 *
 * Who takes a result is done with the one before: nothing is started while a result is being used, so that a consumer
 * that is slow holds up the tasks (back-pressure).
 */
export interface OrderedTasks<T> {
  /** The next task, or undefined after the last; it may be started more than once. Asked for one at a time. */
  next(): StartTask<T> | undefined | Promise<StartTask<T> | undefined>
  /** Tasks under way or waiting at most; 1 runs one after another. */
  readonly window: number
  /** Tasks at the beginning, when perhaps only the first results are wanted: as many more after each result that is taken. */
  readonly firstWindow?: number
  /** Whether another may be started beside those that are under way or wait. Default: always. */
  isRoom?(): boolean
  /** Whether a task that failed so may succeed alone, without the results of others beside it. Fewer are under way from then on. */
  mayGoAlone?(error: unknown): boolean
  /** Called when no more results are wanted, before what is under way is waited for. */
  giveUp?(): void
  /** Called with results that nobody will take, because the reader stopped, an earlier task failed, or one must go alone. */
  drop(result: T): void
}

export type StartTask<T> = () => Promise<T>

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }

interface Running<T> {
  readonly start: StartTask<T>
  readonly outcome: Promise<Outcome<T>>
}

export async function* inOrder<T>(tasks: OrderedTasks<T>): AsyncGenerator<T, void, undefined> {
  let running: readonly Running<T>[] = []
  /** Tasks that made way for one that went alone. */
  let waiting: readonly StartTask<T>[] = []
  let most = tasks.window
  let window = Math.min(most, tasks.firstWindow ?? most)
  const nextTask = async (): Promise<StartTask<T> | undefined> => {
    const [first, ...rest] = waiting
    waiting = rest
    try {
      return first ?? (await tasks.next())
    } catch (error) {
      return () => Promise.reject(error) // in its turn: the tasks before it come first
    }
  }
  try {
    for (let isLast = false; ; ) {
      while (!isLast && running.length < window && (running.length === 0 || (tasks.isRoom?.() ?? true))) {
        const start = await nextTask()
        if (start === undefined) isLast = true
        else running = [...running, { start, outcome: outcomeOf(start()) }]
      }
      const [first, ...others] = running
      if (first === undefined) return
      let outcome = await first.outcome
      running = others
      if (!outcome.ok && others.length > 0 && tasks.mayGoAlone?.(outcome.error) === true) {
        running = []
        await dropped(others, tasks)
        waiting = [...others.map(({ start }) => start), ...waiting]
        isLast = false
        most = window = Math.max(1, Math.floor(window / 2))
        outcome = await outcomeOf(first.start())
      }
      if (!outcome.ok) throw outcome.error
      yield outcome.value
      window = Math.min(most, window * 2)
    }
  } finally {
    if (running.length > 0) tasks.giveUp?.()
    await dropped(running, tasks)
  }
}

/** Waits until the tasks have ended and drops what they gave. */
async function dropped<T>(running: readonly Running<T>[], tasks: OrderedTasks<T>): Promise<void> {
  const outcomes = await Promise.all(running.map(({ outcome }) => outcome))
  for (const outcome of outcomes) if (outcome.ok) tasks.drop(outcome.value)
}

async function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await promise }
  } catch (error) {
    return { ok: false, error }
  }
}

/**
 * All results, or the first failure in order once nothing runs any more: whoever hears of it may free what the work wrote to,
 * which `Promise.all` does not grant.
 */
export async function allOf<T>(running: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(running)
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}
