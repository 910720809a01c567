/**
 * The progress bar: one line on stderr, drawn from a session's events.
 *
 * A job appears once it has been under way for a moment and leaves when it is done. The bar belongs to the newest job; it
 * is cleared at the end, so that a program's own output stays as it is.
 */
import cliProgress from 'cli-progress'
import type { Observable } from 'rxjs'

/** The event that the bar reads; it ignores all others. */
export interface ProgressEvent {
  readonly kind: 'progress'
  readonly job: string
  readonly done: number
  readonly total: number
}

/** true: always; 'auto': when stderr is a terminal; false: never. */
export type ProgressMode = boolean | 'auto'

export interface ProgressOptions {
  readonly mode: ProgressMode
  /** The stream that the bar is drawn on. Default: stderr. */
  readonly stream?: NodeJS.WriteStream
}

/** A bar whose clock does not keep the program alive: a job that failed halfway leaves its bar behind. */
class IdleBar extends cliProgress.SingleBar {
  override render(): void {
    super.render()
    // `timer` is not in the published types; without it the bar keeps the program alive
    const { timer } = this as unknown as { readonly timer?: NodeJS.Timeout | null }
    timer?.unref()
  }
}

/** The age from which a job is shown: shorter ones would flicker. */
const SHOW_AFTER_MS = 300
/** The most characters of a job's name, which leave room for the bar. */
const LONGEST_NAME = 36

/** Draws a bar for as long as jobs report progress. Returns a function that clears the line and stops it. */
export function progressBar(events: Observable<ProgressEvent | { readonly kind: string }>, options: ProgressOptions): () => void {
  const stream = options.stream ?? process.stderr
  if (options.mode === false || (options.mode === 'auto' && stream.isTTY !== true)) return () => {}

  let bar: IdleBar | undefined
  let job = ''
  let since = 0
  const clear = (): void => {
    bar?.stop()
    bar = undefined
  }
  const draw = (event: ProgressEvent): void => {
    if (event.job !== job) {
      clear()
      job = event.job
      since = performance.now()
    }
    if (event.done >= event.total) {
      clear()
      job = ''
    } else if (bar === undefined) {
      if (performance.now() - since < SHOW_AFTER_MS) return
      bar = new IdleBar({
        format: '{job} [{bar}] {percentage}% {eta_formatted}',
        stream,
        clearOnComplete: true,
        hideCursor: null,
        noTTYOutput: options.mode === true,
      })
      bar.start(event.total, event.done, { job: job.length > LONGEST_NAME ? `${job.slice(0, LONGEST_NAME - 1)}…` : job })
    } else {
      bar.setTotal(event.total)
      bar.update(event.done)
    }
  }
  const subscription = events.subscribe({ next: (event) => isProgress(event) && draw(event), error: clear, complete: clear })
  return () => {
    subscription.unsubscribe()
    clear()
  }
}

function isProgress(event: ProgressEvent | { readonly kind: string }): event is ProgressEvent {
  return event.kind === 'progress'
}
