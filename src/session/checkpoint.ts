/** Where a session keeps what its loops have done, and the ledger of it. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { Subject } from 'rxjs'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import type { CheckpointFiles, Kept } from '../core/loop/checkpoint.ts'
import type { SessionEvent } from '../core/sessionEvent.ts'
import { Ledger } from '../exec/ledger/ledger.ts'
import type { SharedArena } from '../exec/memory/sharedArena.ts'
import { threadProgram } from '../exec/workers/threadProgram.ts'
import { type CheckpointOptions, openCheckpoint } from '../io/arrays/checkpointFiles.ts'

export interface Checkpoint {
  readonly files: CheckpointFiles
  readonly kept: Kept
  readonly eager: boolean
}

const SMALL_STEPS: unique symbol = Symbol('distarray.checkpointInSmallSteps')

/** To spread into the options of a session, for tests: everything is committed at once, and `before` each step of it is told. */
export function checkpointInSmallSteps(options: Partial<CheckpointOptions> = {}): object {
  return { [SMALL_STEPS]: options }
}

/** What the bits of results depend on: node's major version and that of V8, the kind of processor, and the library's own code. */
function engineText(): string {
  const program = threadProgram()
  const code = typeof program === 'string' ? createHash('sha256').update(program).digest('hex').slice(0, 16) : 'sources'
  return `node ${process.versions.node.split('.')[0] ?? ''}, v8 ${process.versions.v8}, ${process.arch}, distarray ${code}`
}

let sessions = 0

/** The folder that the environment gives the next session: DA_CKPT, and in it one for each session, which programs start in the same order. */
export function checkpointAskedFor(): string | undefined {
  const folder = process.env.DA_CKPT ?? asked
  if (!isMainThread || folder === undefined || folder === '') return undefined
  asked = folder // a gang takes its variables out of the environment
  return join(folder, `session-${++sessions}`)
}
let asked: string | undefined

/** Opens the folder of a session that keeps a checkpoint. What the environment says comes first. */
export async function openedCheckpoint(
  options: { readonly checkpoint?: string },
  wanted: string | undefined,
): Promise<Checkpoint | undefined> {
  const { checkpoint } = options
  if (checkpoint !== undefined && (typeof checkpoint !== 'string' || checkpoint === ''))
    throw new PlanError(`checkpoint is ${valueText(checkpoint)}. It is the path of a folder.`)
  const folder = wanted ?? checkpoint
  if (folder === undefined) return undefined
  const steps = SMALL_STEPS in options ? (options[SMALL_STEPS] as Partial<CheckpointOptions>) : undefined // as checkpointInSmallSteps made it
  const files = await openCheckpoint(folder, { engine: engineText(), ...steps })
  try {
    return { files, kept: await files.load(), eager: steps !== undefined }
  } catch (error) {
    await files.release()
    throw error
  }
}

/** Events are told as long as somebody holds them. */
export function ledgerOf({ files, kept, eager }: Checkpoint, arena: SharedArena, events: Subject<SessionEvent>): Ledger {
  const onClosed = (because: string): void =>
    events.next({ kind: 'fallback', what: 'checkpoint', because: `Passes are not kept in ${files.folder} any more: ${because}` })
  return new Ledger(files, kept, { arena, eager, onClosed })
}
