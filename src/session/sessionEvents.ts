/**
 * The events of a session as its users see them: whoever listens cannot disturb a run.
 *
 * What a subscriber throws, at once or in a promise, is no concern of the run that told it something, and rxjs would end the
 * process with it. So it becomes a warning of the process, one for each subscriber. Observables made of this one by
 * operators are of the same kind. The package has a copy of rxjs in it: operators are those of a program's own.
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

  // what every operator of `pipe` calls
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const events = new SessionEvents<R>()
    events.source = this
    events.operator = operator
    return events
  }

  override subscribe(listener?: Listener<T>, error?: ((reason: unknown) => void) | null, complete?: (() => void) | null): Subscription {
    if (isSubscriber(listener)) return super.subscribe(listener) // of an operator: who subscribes at its end is listened to here
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

/** Of any copy of rxjs, which itself tells subscribers of other copies so. */
function isSubscriber<T>(listener: Listener<T> | undefined): listener is Subscriber<T> {
  if (typeof listener !== 'object' || listener === null || !('closed' in listener)) return false
  const { next, error, complete, add, remove, unsubscribe } = listener as Partial<Subscriber<T>>
  return [next, error, complete, add, remove, unsubscribe].every((method) => typeof method === 'function')
}

function warningOf(reason: unknown): string {
  const what = isError(reason) ? `${reason.name}: ${reason.message}` : String(reason)
  return `A subscriber of session.events threw, which the run does not heed: ${what}`
}
