/** Everything a worker of a session can be asked to do: where `exec` and `io` meet in every thread. */

import { HANDLERS as EXEC_HANDLERS } from '../exec/handlers.ts'
import { buffersPassed } from '../exec/memory/lease.ts'
import { arraysIn, withScratch } from '../exec/memory/scratchMemory.ts'
import { bytesOfBatches } from '../exec/tables/planRecord.ts'
import { stageHandler } from '../exec/tables/stageTask.ts'
import type { TaskHandler } from '../exec/workers/worker.ts'
import { type EncodeTask, encode } from '../io/encode.ts'
import { readSplit } from '../io/readSplit.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  ...EXEC_HANDLERS,
  stage: stageHandler(readSplit),
  encode: async (payload) => {
    const task = payload as EncodeTask // the engine sends nothing else
    return await withScratch(async (scratch) => {
      const again = (garbageBytes: number): void => {
        scratch.reset()
        buffersPassed(garbageBytes)
      }
      const bytes = encode(task, { newArray: arraysIn(scratch), again })
      // of text each value's bytes are garbage too
      buffersPassed((task.format === 'parquet' ? 0 : bytesOfBatches(task.parts)) + bytes.length)
      return bytes
    })
  },
}
