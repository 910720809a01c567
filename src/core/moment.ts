/**
 * The call of an action, as far as functions are concerned: what they capture is read then, once, and neither while the
 * plan is made nor while it runs.
 */
import type { UserFunction } from './ir/functionIr.ts'

export interface Moment {
  /** The function with what it captures now; itself where that is what it was. */
  now(f: UserFunction): UserFunction
  /** Names the function as it is now: of two moments the same only where it gives the same elements. */
  nameOf(f: UserFunction): string
}

/** Where functions have no captures, as in tests of parts. */
export const SAME_FUNCTIONS: Moment = { now: (f) => f, nameOf: () => '' }
