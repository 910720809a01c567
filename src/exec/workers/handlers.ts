/** The table of task kinds: everything a worker can be asked to do. */
import { runLoopTask } from '../loops/runBlocks.ts'
import { readyTask } from '../loops/warmUp.ts'
import type { TaskHandler } from './worker.ts'

export const HANDLERS: Readonly<Record<string, TaskHandler>> = {
  loop: runLoopTask,
  ready: readyTask,
}
