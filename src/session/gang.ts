/** The gang of processes that run one program: rank 0 has the program, the others run parts of its loops. Loaded only where a gang is asked for. */
import type { Storage } from '../core/arrays/storage.ts'
import { GangError } from '../core/errors.ts'
import type { ScannedSpec } from '../exec/arrays/scannedArray.ts'
import { Gang } from '../exec/gang/gang.ts'
import type { GangSettings } from '../exec/gang/links/settings.ts'
import { serveGang } from '../exec/gang/serveGang.ts'
import { threadProgram } from '../exec/workers/threadProgram.ts'
import { queriesBy } from './arrayQueries.ts'
import { LOST_STATUS } from './launch.ts'
import type { Runtime } from './runtime.ts'

let gang: Promise<Gang> | undefined

/** The gang of this process, which has rank 0; the same for all sessions. Its other processes are released when this one exits. */
export async function driverGang(settings: GangSettings): Promise<Gang> {
  gang ??= Gang.start(settings, threadProgram()).then((found) => {
    process.once('exit', (code) => found.releaseNow(code))
    return found
  })
  return await gang
}

/** Serves rank 0 until its program has ended, and then ends this process with the same status. */
export async function serveDriver(settings: GangSettings, { pool, arena, worthThreadsMs, executor }: Runtime): Promise<never> {
  const { index } = queriesBy(executor)
  const compute = async ({ plan, form }: ScannedSpec): Promise<Storage> => await index(plan, form)
  try {
    process.exit(await serveGang(settings, threadProgram(), { pool, arena, worthThreadsMs, compute }))
  } catch (error) {
    if (!(error instanceof GangError)) throw error
    process.stderr.write(`GangError on rank ${settings.rank}: ${error.message}\n`)
    process.exit(LOST_STATUS)
  }
}
