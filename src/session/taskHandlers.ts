/** Everything a worker of a session can be asked to do: where `exec` and `io` meet in every thread. */

import { HANDLERS as EXEC_HANDLERS } from '../exec/handlers.ts'
import { stageHandler } from '../exec/tables/stageTask.ts'
import type { TaskHandler } from '../exec/workers/worker.ts'
import { type EncodeTask, encode } from '../io/encode.ts'
import { readSplit } from '../io/readSplit.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  ...EXEC_HANDLERS,
  stage: stageHandler(readSplit),
  encode: (task) => encode(task as EncodeTask), // the engine sends nothing else
}
