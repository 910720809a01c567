/**
 * Runs tasks several at a time and gives their results in order.
 *
 *     tasks    0 1 2 3 4 …      at most `window` ahead of the one that is waited for
 *     results  0, 1, 2, …       the first error in this order is the one that is thrown
 */
export interface OrderedTasks<T> {
  readonly count: number
  /** Tasks started ahead; 1 runs one after another. */
  readonly window: number
  start(index: number): Promise<T>
  /** Called with results that nobody will take, because the reader stopped or an earlier task failed. */
  drop(result: T): void
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }

export async function* inOrder<T>(tasks: OrderedTasks<T>): AsyncGenerator<T, void, undefined> {
  const running: Promise<Outcome<T>>[] = []
  let next = 0
  try {
    for (let index = 0; index < tasks.count; index++) {
      while (next < tasks.count && next < index + tasks.window) running.push(outcomeOf(tasks.start(next++)))
      const outcome = await running.shift()
      if (outcome === undefined) return
      if (!outcome.ok) throw outcome.error
      yield outcome.value
    }
  } finally {
    for (const outcome of await Promise.all(running)) if (outcome.ok) tasks.drop(outcome.value)
  }
}

async function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await promise }
  } catch (error) {
    return { ok: false, error }
  }
}
