/** What is touched ahead of the iterations that read it. */
import type { Code } from '../../kir/instructions.ts'

/** Code where an iteration begins, that a local holds, which touches what a batch of iterations from it on reaches. */
export interface TouchAhead {
  /** Before the first iteration of a run. */
  readonly before: Code
  readonly of: (slot: number) => Code
}
