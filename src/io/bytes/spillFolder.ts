/**
 * The folder that a session spills to: made when something is, removed when the session stops or the process ends.
 *
 *     <folder>/distarray-<host>-<pid>-<start>-XXXXXX/1, 2, 3, …
 *
 * A process that is killed leaves its folder behind. The next that spills there removes those of this machine whose process is
 * not there any more: its number may be another one's by now, so the time of its start counts too.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startOf } from './processStart.ts'

export class SpillFolder {
  readonly parent: string
  private own: string | undefined
  private files = 0
  constructor(parent: string = tmpdir()) {
    this.parent = resolve(parent)
  }

  /** Where the next file goes. Throws what the system says where there is no folder, and none can be made. */
  file(): string {
    if (this.own === undefined) {
      mkdirSync(this.parent, { recursive: true })
      removeAbandoned(this.parent)
      this.own = mkdtempSync(join(this.parent, `${PREFIX}${process.pid}-${startOf(process.pid) ?? '0'}-`))
      if (OPEN.size === 0) process.on('exit', removeAll)
      OPEN.add(this)
    }
    this.files++
    return join(this.own, String(this.files))
  }

  /** Removes all that is in it. */
  remove(): void {
    if (this.own === undefined) return
    rmSync(this.own, { recursive: true, force: true })
    this.own = undefined
    OPEN.delete(this)
    if (OPEN.size === 0) process.off('exit', removeAll)
  }
}

/** Those that have a folder: a process that ends in the middle removes them. */
const OPEN = new Set<SpillFolder>()

function removeAll(): void {
  for (const folder of OPEN) folder.remove()
}

/** Of machines that share a folder, each knows only its own processes. */
const PREFIX = `distarray-${createHash('sha256').update(hostname()).digest('hex').slice(0, 8)}-`

function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const [pid = '', start = ''] = name.slice(PREFIX.length).split('-')
    if (!isThere(Number(pid), start)) rmSync(join(parent, name), { recursive: true, force: true })
  }
}

/** Where the system does not tell when a process started, any that has the number counts. */
function isThere(pid: number, start: string): boolean {
  const found = startOf(pid)
  if (found !== undefined && start !== '0') return found === start
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // somebody else's
  }
}
