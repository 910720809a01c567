/** The interface of software prefetch to the loop over iterations. */
import type { Code } from '../../kir/instructions.ts'

/** Code that prefetches for a batch of iterations; it stands at the start of each iteration, whose key is in the local `slot`. */
export interface TouchAhead {
  /** Code before the first iteration of a run. */
  readonly before: Code
  readonly of: (slot: number) => Code
}
