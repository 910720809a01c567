/**
 * Runs tasks several at a time and gives their results in order.
 *
 *     tasks    0 1 2 3 4 …      at most `window` under way or waiting to be taken
 *     results  0, 1, 2, …       the first error in this order is the one that is thrown
 *
 * A consumer that takes a result is done with the one before: nothing is started while a result is being used, so a slow
 * consumer holds up the tasks (back-pressure).
 */
export interface OrderedTasks<T> {
  /** The next task, or undefined after the last; it may be started more than once. Asked for one at a time. */
  next(): StartTask<T> | undefined | Promise<StartTask<T> | undefined>
  /** The most tasks under way or waiting to be taken; 1 runs one after another. */
  readonly window: number
  /** The most tasks at the beginning, when perhaps only the first results are wanted; doubles with each result that is taken. */
  readonly firstWindow?: number
  /** Whether another task may be started beside those under way or waiting. Default: always. */
  isRoom?(): boolean
  /** Whether a task that failed with this error may succeed alone, without other results in memory. Fewer are under way from then on. */
  mayGoAlone?(error: unknown): boolean
  /** Called when no more results are wanted, before the tasks under way are waited for. */
  giveUp?(): void
  /** Called with each result that will not be taken, because the consumer stopped, an earlier task failed, or one must go alone. */
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
      return () => Promise.reject(error) // the error comes in its turn, after the tasks before it
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

/** Waits until the tasks have ended and drops their results. */
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
 * All results, or the first failure in order once nothing runs any more: the caller may then free memory that the work wrote to, which
 * `Promise.all` does not grant.
 */
export async function allOf<T>(running: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(running)
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/** The next task gets the works that are left, divided by the workers and this (guided scheduling). */
const TASKS = 2
/** The shortest task has all works divided by the workers and this, since each costs a message and its answer. */
const MOST_TASKS = 16
const LEAST_TASKS = 4

/** Cuts works, in their order, into lists for tasks: long ones first and short ones last, so that workers end at about the same time. */
export function piecesOf<T>(works: readonly T[], workers: number, enough: number = 1): T[][] {
  const pieces: T[][] = []
  const least = Math.max(
    Math.ceil(works.length / (MOST_TASKS * workers)),
    Math.min(enough, Math.ceil(works.length / (LEAST_TASKS * workers))),
  )
  for (let from = 0; from < works.length; ) {
    const length = Math.max(least, Math.ceil((works.length - from) / (TASKS * workers)))
    pieces.push(works.slice(from, from + length))
    from += length
  }
  return pieces
}
