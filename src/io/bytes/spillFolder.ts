/**
 * The folder that a session spills to: made when something is, removed when the session stops or the process ends.
 *
 *     <folder>/distarray-<host>-<pid>-<start>-XXXXXX/1, 2, 3, …
 *
 * A process that is killed leaves its folder behind. The next session that starts, or spills, with the same folder removes those of
 * this machine whose process is not there any more: its number may be another one's by now, so the time of its start counts too.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isOwnerThere, ownerHere, ownerIn } from './processStart.ts'

export class SpillFolder {
  readonly parent: string
  private own: string | undefined
  private files = 0
  constructor(parent: string = tmpdir()) {
    this.parent = resolve(parent)
  }

  /** Removes what killed processes have left in a folder that is there and may be looked at. */
  tidy(): void {
    try {
      removeAbandoned(this.parent)
    } catch {
      // whoever spills there is told
    }
  }

  /** The path of the next file. Throws what the system says where there is no folder, and none can be made. */
  file(): string {
    // somebody may have removed it since
    if (this.own === undefined || !existsSync(this.own)) {
      makeFolder(this.parent)
      removeAbandoned(this.parent)
      this.own = mkdtempSync(join(this.parent, `${PREFIX}${ownerHere()}-`))
      if (OPEN.size === 0) process.on('exit', removeAll)
      OPEN.add(this)
    }
    this.files++
    return join(this.own, String(this.files))
  }

  /** Removes the folder and all that is in it. */
  remove(): void {
    if (this.own === undefined) return
    rmSync(this.own, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }) // workers may write there still
    this.own = undefined
    OPEN.delete(this)
    if (OPEN.size === 0) process.off('exit', removeAll)
  }
}

/** Makes a folder, and those above it one by one: `mkdirSync` of all never ends where a system denies a folder that is there, as /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return void readdirSync(path) // which throws for a file
  if (!existsSync(dirname(path))) makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error // another program may have been faster
  }
}

/** The objects that have a folder: a process that ends in the middle removes these. */
const OPEN = new Set<SpillFolder>()

function removeAll(): void {
  for (const folder of [...OPEN]) {
    try {
      folder.remove()
    } catch {
      // the next session that spills there removes what is left of an ended process
    }
  }
}

const PREFIX = 'distarray-'

/** Removes what killed processes have spilled there. */
export function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const owner = ownerIn(name.slice(PREFIX.length))
    if (owner !== undefined && !isOwnerThere(owner)) rmSync(join(parent, name), { recursive: true, force: true })
  }
}
