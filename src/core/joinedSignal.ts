/** Signals as one. */

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
