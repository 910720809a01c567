/**
 * The events of a session as programs subscribe to them: no subscriber can disturb a run.
 *
 * An error that a subscriber throws, at once or in a promise, does not concern the run that sent the event, and rxjs would end the
 * process with it. So it becomes a process warning, one for each subscriber. Observables that operators make of this one are of
 * the same class. The package bundles a copy of rxjs, while operators come from the program's own.
 */

import { Observable, type Observer, type Operator, type Subscriber, type Subscription } from 'rxjs'
import { isError } from '../core/isError.ts'

type Listener<T> = Partial<Observer<T>> | ((value: T) => void) | null

export class SessionEvents<T> extends Observable<T> {
  static of<T>(source: Observable<T>): SessionEvents<T> {
    const events = new SessionEvents<T>()
    events.source = source
    return events
  }

  // every operator of `pipe` calls this
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const events = new SessionEvents<R>()
    events.source = this
    events.operator = operator
    return events
  }

  override subscribe(listener?: Listener<T>, error?: ((reason: unknown) => void) | null, complete?: (() => void) | null): Subscription {
    if (isSubscriber(listener)) return super.subscribe(listener) // an operator's; the subscriber at the end of the pipe is guarded by its own SessionEvents
    const given: Partial<Observer<T>> =
      typeof listener === 'object' && listener !== null
        ? listener
        : { ...(listener && { next: listener }), ...(error && { error }), ...(complete && { complete }) }
    let isWarned = false
    const warn = (reason: unknown): void => {
      if (isWarned) return
      isWarned = true
      process.emitWarning(warningOf(reason), {
        type: 'DistarrayWarning',
        ...(isError(reason) && reason.stack ? { detail: reason.stack } : {}),
      })
    }
    const guarded = (call: () => unknown): void => {
      try {
        const result = call()
        if (result instanceof Promise) result.catch(warn)
      } catch (reason) {
        warn(reason)
      }
    }
    return super.subscribe({
      next: (value) => guarded(() => given.next?.(value)),
      error: (reason) => guarded(() => (given.error === undefined ? warn(reason) : given.error(reason))),
      complete: () => guarded(() => given.complete?.()),
    })
  }
}

/** Whether a listener is a Subscriber of any copy of rxjs, told by its methods, as rxjs itself does. */
function isSubscriber<T>(listener: Listener<T> | undefined): listener is Subscriber<T> {
  if (typeof listener !== 'object' || listener === null || !('closed' in listener)) return false
  const { next, error, complete, add, remove, unsubscribe } = listener as Partial<Subscriber<T>>
  return [next, error, complete, add, remove, unsubscribe].every((method) => typeof method === 'function')
}

function warningOf(reason: unknown): string {
  const what = isError(reason) ? `${reason.name}: ${reason.message}` : String(reason)
  return `A subscriber of session.events threw, which the run does not heed: ${what}`
}
