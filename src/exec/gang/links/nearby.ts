/**
 * Processes of this machine that end. The kernel frees all memory of a process that was killed before it closes its sockets and tells its
 * parent, which takes it a tenth of a millisecond a megabyte, several times that on a busy machine. Who looks sees at once that it has none.
 *
 * A process that cannot be seen from here, as on another machine, in another container, or elsewhere than on Linux, is not looked at: its
 * links break when its sockets close, or when it does not answer.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { isError } from '../../../core/isError.ts'

/** The time between looks, each of which takes some fifteen microseconds. */
const LOOK_MS = 20

/** The receiver of the news that a process has ended, called once, even if it knows already. */
export interface Watched {
  end(why: string): void
}

/** The process id and machine by which others can look at this process; without `machine` where the system does not tell. */
export function whereabouts(): { readonly pid: number; readonly machine?: string } {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    return { pid: process.pid, machine: `${boot} ${readlinkSync('/proc/self/ns/pid')}` }
  } catch {
    return { pid: process.pid }
  }
}

/** Whether a process is there and has not begun to end. An error other than its absence says nothing, and counts as there. */
function isThere(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/statm`, 'latin1').startsWith('0 ')
  } catch (error) {
    const code = isError(error) && 'code' in error ? error.code : undefined
    return code !== 'ENOENT' && code !== 'ESRCH'
  }
}

export class Nearby {
  readonly #machine = whereabouts().machine
  readonly #watched = new Map<Watched, number>()
  #timer: NodeJS.Timeout | undefined

  /** Watches a process by what it has said of itself, unless that names another machine or makes no sense. */
  watch(one: Watched, { pid, machine }: { readonly pid?: unknown; readonly machine?: unknown }): void {
    if (machine === undefined || machine !== this.#machine || typeof pid !== 'number' || !isThere(pid)) return
    this.#watched.set(one, pid)
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref()
  }

  #look(): void {
    for (const [one, pid] of this.#watched) {
      if (isThere(pid)) continue
      this.#watched.delete(one)
      one.end('its process has ended')
    }
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
