/** Everything a worker of a session can be asked to do: where `exec` and `io` meet in every thread. */

import { HANDLERS as EXEC_HANDLERS } from '../exec/handlers.ts'
import { buffersPassed } from '../exec/memory/lease.ts'
import { arraysIn, withScratch } from '../exec/memory/scratchMemory.ts'
import { stageHandler } from '../exec/tables/stageTask.ts'
import type { TaskHandler } from '../exec/workers/worker.ts'
import { type EncodeTask, encode } from '../io/encode.ts'
import { readSplit } from '../io/readSplit.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  ...EXEC_HANDLERS,
  stage: stageHandler(readSplit),
  encode: async (task) =>
    await withScratch(async (scratch) => {
      const bytes = encode(task as EncodeTask, arraysIn(scratch)) // the engine sends nothing else
      buffersPassed(2 * bytes.length) // what the encoder was given is garbage too
      return bytes
    }),
}
