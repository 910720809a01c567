/** The table of task kinds: everything a worker can be asked to do. */
import { columnTask } from '../columns/columnTask.ts'
import { gatherTask } from '../loops/gather.ts'
import { runLoopTask } from '../loops/runBlocks.ts'
import { readyTask } from '../loops/warmUp.ts'
import type { TaskHandler } from './worker.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  columns: columnTask,
  gather: gatherTask,
  loop: runLoopTask,
  ready: readyTask,
}
