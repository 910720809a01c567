/** Several abort signals as one, and one signal for many listeners. */
import { setMaxListeners } from 'node:events'

/** A signal that is aborted with the first of `signals`, for its reason. */
export function joinedSignal(signals: readonly AbortSignal[]): AbortSignal {
  if (signals.every((signal) => signal instanceof AbortSignal)) return AbortSignal.any([...signals])
  // a signal of another realm, or an object that only behaves like one
  const joined = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) joined.abort(signal.reason)
    signal.addEventListener('abort', () => joined.abort(signal.reason), { once: true })
  }
  return joined.signal
}

/** A signal that follows this one and that any number of tasks may listen to: Node warns of a leak at more than ten listeners. */
export function heardByMany(signal: AbortSignal): AbortSignal
export function heardByMany(signal: AbortSignal | undefined): AbortSignal | undefined
export function heardByMany(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined) return undefined
  const own = joinedSignal([signal])
  setMaxListeners(0, own)
  return own
}
