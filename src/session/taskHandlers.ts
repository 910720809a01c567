/** The handlers of all tasks of a session's workers; here `exec` and `io` are joined in every thread. */

import { MemoryError } from '../core/errors.ts'
import { HANDLERS as EXEC_HANDLERS } from '../exec/handlers.ts'
import type { Arena } from '../exec/memory/arena.ts'
import { buffersPassed } from '../exec/memory/lease.ts'
import { arraysIn, withScratch } from '../exec/memory/scratchMemory.ts'
import { stageHandler } from '../exec/tables/stageTask.ts'
import type { TaskHandler } from '../exec/workers/worker.ts'
import { type EncodeTask, encode } from '../io/encode.ts'
import { readSplit } from '../io/readSplit.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  ...EXEC_HANDLERS,
  stage: stageHandler(readSplit),
  encode: async (payload, { arena }) => {
    const task = payload as EncodeTask // the engine sends nothing else
    return await withScratch(async (scratch) => {
      const again = (garbageBytes: number): void => {
        scratch.reset()
        buffersPassed(garbageBytes)
      }
      return encode(task, { newArray: arraysIn(scratch), again, newBytes: bytesIn(arena) })
    })
  },
}

/** Reserves bytes in a block of the arena, which the writer frees once they are written; in ordinary memory where the arena has no room. */
function bytesIn(arena: Arena): (length: number) => Uint8Array {
  return (length) => {
    try {
      return arena.view('u8', arena.reserve(length, 'encode'), length) as Uint8Array // of that dtype
    } catch (error) {
      if (error instanceof MemoryError) return new Uint8Array(length)
      throw error
    }
  }
}
