/** The table of task kinds: everything a worker can be asked to do. */

import { runLoopTask } from './loops/claims/runBlocks.ts'
import { readyTask } from './loops/claims/warmUp.ts'
import { gatherTask } from './loops/gather.ts'
import { columnTask } from './tables/columns/columnTask.ts'
import type { TaskHandler } from './workers/worker.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  columns: columnTask,
  gather: gatherTask,
  loop: runLoopTask,
  ready: readyTask,
}
