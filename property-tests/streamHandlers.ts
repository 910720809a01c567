/** What the workers of the law of streams can do: results lie in the arena however small they are, so that the budget counts them. */

import { HANDLERS as EXEC_HANDLERS } from '../src/exec/handlers.ts'
import { stageHandler } from '../src/exec/tables/stageTask.ts'
import type { TaskHandler } from '../src/exec/workers/worker.ts'
import { readSplit } from '../src/io/readSplit.ts'

/** Splits that this thread has read. */
export const reads: { count: number } = { count: 0 }

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  ...EXEC_HANDLERS,
  stage: stageHandler(
    (...split) => {
      reads.count++
      return readSplit(...split)
    },
    { sharedFromBytes: 1 },
  ),
}
