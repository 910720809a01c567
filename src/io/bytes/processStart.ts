/** Whether a process is still there: told by when it was started, since its number may be another one's by now. */
import { readFileSync } from 'node:fs'

/** The fields of /proc/<pid>/stat after the name: the state is the first, the start the twentieth. */
const START = 19

/** When a process was started, as Linux tells it; undefined where nothing tells, or it is not there, or has ended and waits for its parent. */
export function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[START]
  } catch {
    return undefined
  }
}

/** Surely running: false where the system does not tell. */
export function isRunning(pid: number, started: string | undefined): boolean {
  return started !== undefined && startOf(pid) === started
}
