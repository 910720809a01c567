/** The handlers of threads, which have to load first what the caller's thread has loaded when its session started. */
import type { Handlers } from '../exec/workers/runTask.ts'
import { loadArrow } from '../io/arrow/arrowLibrary.ts'
import { HANDLERS as TABLE } from './taskHandlers.ts'

export const HANDLERS: Promise<Handlers> = loadArrow().then(() => TABLE)
