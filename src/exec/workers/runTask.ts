/** Runs one task by its handler, in the same way on every kind of worker. */
import { Bug } from '../../core/errors.ts'
import type { SharedArena } from '../memory/sharedArena.ts'
import type { Task, TaskHandler, WorkerContext } from './worker.ts'

export type Handlers = Readonly<Record<string, TaskHandler>>

export async function runTask(task: Task, handlers: Handlers, context: WorkerContext & { readonly arena: SharedArena }): Promise<unknown> {
  const handler = Object.hasOwn(handlers, task.kind) ? handlers[task.kind] : undefined
  if (handler === undefined) {
    throw new Bug(`No worker can run a task of kind "${task.kind}". There are: ${Object.keys(handlers).join(', ') || 'none'}.`)
  }
  context.arena.owner = task.owner
  try {
    return await handler(task.payload, context)
  } finally {
    context.arena.owner = 0
  }
}
