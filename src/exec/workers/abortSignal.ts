/** The abort flag of a task as a signal, for work that waits: nobody else looks at the flag meanwhile. */

/** Milliseconds between two looks at the flag: soon enough for a thread to stop by itself before it is ended. */
const LOOK_EVERY_MS = 20

/** Runs `work` with a signal that follows the flag. */
export async function withAbortSignal<T>(flag: Int32Array, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const following = new AbortController()
  const timer = setInterval(() => {
    if (Atomics.load(flag, 0) !== 0) following.abort()
  }, LOOK_EVERY_MS)
  try {
    return await work(following.signal)
  } finally {
    clearInterval(timer)
  }
}
