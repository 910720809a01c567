/** The task handlers of worker threads, which first load Arrow, as the caller's thread did when its session started. */
import type { Handlers } from '../exec/workers/runTask.ts'
import { loadArrow } from '../io/arrow/arrowLibrary.ts'
import { HANDLERS as TABLE } from './taskHandlers.ts'

export const HANDLERS: Promise<Handlers> = loadArrow().then(() => TABLE)
