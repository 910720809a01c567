/** The handlers of `streamHandlers.ts` in threads, once Arrow is loaded there. */
import type { Handlers } from '../src/exec/workers/runTask.ts'
import { loadArrow } from '../src/io/arrow/arrowLibrary.ts'
import { HANDLERS as TABLE } from './streamHandlers.ts'

export const HANDLERS: Promise<Handlers> = loadArrow().then(() => TABLE)
