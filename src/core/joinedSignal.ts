/** Signals as one. */
import { setMaxListeners } from 'node:events'

/** A signal that is aborted with the first of `signals`, for its reason. */
export function joinedSignal(signals: readonly AbortSignal[]): AbortSignal {
  if (signals.every((signal) => signal instanceof AbortSignal)) return AbortSignal.any([...signals])
  // one of another realm, or that only behaves like one
  const joined = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) joined.abort(signal.reason)
    signal.addEventListener('abort', () => joined.abort(signal.reason), { once: true })
  }
  return joined.signal
}

/** The same signal for tasks that each listen to it, however many are under way: Node takes more than ten listeners for a leak. */
export function heardByMany(signal: AbortSignal): AbortSignal
export function heardByMany(signal: AbortSignal | undefined): AbortSignal | undefined
export function heardByMany(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined) return undefined
  const own = joinedSignal([signal])
  setMaxListeners(0, own)
  return own
}
