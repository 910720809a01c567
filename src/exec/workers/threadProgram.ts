/**
 * The program of worker threads: among the sources, the file `threadMain.ts`, or a text of the same modules. In the package
 * `packaged/threadProgram.ts` is in this module's place.
 */
import { fileURLToPath } from 'node:url'
import { READS_TYPESCRIPT, sourceText } from './sourceProgram.ts'

/** Awaited before a session starts threads. */
export async function loadThreadProgram(): Promise<void> {}

const MAIN = new URL('./threadMain.ts', import.meta.url)

/** `handlers`: the module that exports the table of tasks, where it is not `handlers.ts`; its path is as `threadMain.ts` imports it. */
export function threadProgram(handlers: string = '../handlers.ts'): string | URL {
  if (READS_TYPESCRIPT) return MAIN
  const isFile = new URL(handlers, MAIN).protocol === 'file:' // what is no file is loaded by the thread
  const lines = [
    "import { workerData } from 'node:worker_threads'",
    "import { runThread } from './runThread.ts'",
    ...(isFile ? [`import { HANDLERS } from ${JSON.stringify(pathOf(handlers))}`] : []),
    isFile
      ? 'runThread(workerData, Promise.resolve(HANDLERS))'
      : 'runThread(workerData, import(workerData.handlers).then((module) => module.HANDLERS))',
  ]
  return sourceText(lines.join('\n'), MAIN)
}

function pathOf(handlers: string): string {
  return handlers.startsWith('file:') ? fileURLToPath(handlers) : handlers
}
