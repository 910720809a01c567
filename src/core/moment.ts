/**
 * The call of an action, as far as functions are concerned: what they capture is read then, once, and neither while the
 * plan is made nor while it runs.
 */
import type { UserFunction } from './ir/functionIr.ts'

export interface Moment {
  /** The function with the values that it captures now; the same object where none has changed. */
  now(f: UserFunction): UserFunction
  /** A name for the function with its captures: equal at two moments only where it gives the same elements. */
  nameOf(f: UserFunction): string
}

/** The moment for functions without captures, as in tests of parts. */
export const SAME_FUNCTIONS: Moment = { now: (f) => f, nameOf: () => '' }
