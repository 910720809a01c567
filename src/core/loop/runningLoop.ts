/**
 * The loop whose body is running as it stands, if one is. Such a body is the user's own closure: it may have captured the handles of arrays,
 * accumulators, buffers and generators, and calls their methods as it would in a compiled body. While it runs, these act on the
 * loop's views.
 *
 *     session.loop(range, { x }, ([i], { x }) => { calls++; total.add(x.get(i)); y.set(i, 1) })
 *                                                           captured ─┴──────────┘
 *
 * A body runs from its beginning to its end on the caller's thread: between the two nothing else does.
 */
import { PlanError } from '../errors.ts'

export interface RunningLoop {
  /** The view that a handle stands for inside the body; undefined when the loop does not know it. */
  viewOf(handle: object): object | undefined
}

let running: RunningLoop | undefined

/** Runs a part of a loop; a body may run another one inside. */
export function whileRunning<T>(loop: RunningLoop, run: () => T): T {
  const around = running
  running = loop
  try {
    return run()
  } finally {
    running = around
  }
}

/** The view of a handle whose method a running body calls; undefined where no body runs. */
export function viewInLoop(handle: object, what: string): object | undefined {
  if (running === undefined) return undefined
  const view = running.viewOf(handle)
  if (view !== undefined) return view
  throw new PlanError(
    `A loop body that runs as it stands uses ${what} that the loop does not know: only what is in env, or captured by name, is locked for it. Pass it in env, as { a }, and take it from there.`,
  )
}

/** The view of a handle, for methods that only bodies call; throws PlanError where no body runs. */
export function viewInBody(handle: object, what: string, method: string, instead: string): object {
  const view = viewInLoop(handle, what)
  if (view !== undefined) return view
  throw new PlanError(`${method}() of ${what} is for loop bodies, where it acts at once. ${instead}`)
}
