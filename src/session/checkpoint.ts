/** A session's checkpoint: the folder that keeps the passes of its loops, and the ledger over it. */
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

/** Session options for tests: each pass is committed at once, in steps, before each of which `options.before` is called. */
export function checkpointInSmallSteps(options: Partial<CheckpointOptions> = {}): object {
  return { [SMALL_STEPS]: options }
}

/** A text of all that the bits of results depend on: Node's major version, V8's version, the processor architecture, and the library's code. */
function engineText(): string {
  const program = threadProgram()
  const code = typeof program === 'string' ? createHash('sha256').update(program).digest('hex').slice(0, 16) : 'sources'
  return `node ${process.versions.node.split('.')[0] ?? ''}, v8 ${process.versions.v8}, ${process.arch}, distarray ${code}`
}

let sessions = 0

/** The folder that the environment gives the next session: one for each inside of DA_CKPT, by the order in which the program starts them; undefined where none is asked for. */
export function checkpointAskedFor(): string | undefined {
  const folder = process.env.DA_CKPT ?? asked
  if (!isMainThread || folder === undefined || folder === '') return undefined
  asked = folder // kept, since a gang removes its variables from the environment
  return join(folder, `session-${++sessions}`)
}
let asked: string | undefined

/** Opens the checkpoint of a session; `wanted`, the environment's folder, comes before the option. Undefined where neither names one. */
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

/** Makes the ledger of a checkpoint, which tells `events` when it stops keeping passes. */
export function ledgerOf({ files, kept, eager }: Checkpoint, arena: SharedArena, events: Subject<SessionEvent>): Ledger {
  const onClosed = (because: string): void =>
    events.next({ kind: 'fallback', what: 'checkpoint', because: `Passes are not kept in ${files.folder} any more: ${because}` })
  return new Ledger(files, kept, { arena, eager, onClosed })
}
