/** Whether a process is still there: told by when it was started, since its number may be another one's by now. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The fields of /proc/<pid>/stat after the name: the state is the first, the start the twentieth. */
const START = 19

/** The start of a process, as Linux tells it; undefined where nothing tells, or it is not there, or has ended and waits for its parent. */
export function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[START]
  } catch {
    return undefined
  }
}

/** Whether a process surely runs; false where the system does not tell. */
export function isRunning(pid: number, started: string | undefined): boolean {
  return started !== undefined && startOf(pid) === started
}

/** This machine's part of such names: of machines that share a folder, each knows only its own processes. */
export const HOST: string = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)

/** This process in the name of what it may leave behind: machine, number and start, which is 0 where the system does not tell. */
export function ownerHere(): string {
  return `${HOST}-${process.pid}-${startOf(process.pid) ?? '0'}`
}

/** The owner at the start of such a name, behind what tells its kind; undefined where there is none. */
export function ownerIn(name: string): string | undefined {
  return /^[^-]+-\d+-\d+(?=-)/.exec(name)?.[0]
}

/** Whether the process of such a name is still there. True for one of another machine, which may be. */
export function isOwnerThere(owner: string): boolean {
  const [host, pid = '', start = ''] = owner.split('-')
  return host !== HOST || isThere(Number(pid), start)
}

/** Whether a process of this machine is there. Where the system does not tell its start, any that has the number counts. */
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
