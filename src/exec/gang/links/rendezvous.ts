/** The address at which rank 0 listens: from a file that it writes, or from the settings. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Place } from './introductions.ts'
import type { Rendezvous } from './settings.ts'

/** Writes the address to a file, which appears as a whole or not at all. */
export function publish(path: string, address: string): void {
  writeFileSync(`${path}.part`, address, { mode: 0o600 })
  renameSync(`${path}.part`, path)
}

/** Writes, in place of the address, that the program has ended: for processes that are started just then, and would wait for rank 0. */
export function publishEnd(path: string, code: number): void {
  publish(path, `over ${code}`)
}

/** Where rank 0 listens, or the status with which its program has ended; undefined where neither is written yet. */
export function addressOf(rendezvous: Rendezvous): Place | { readonly code: number } | undefined {
  if (rendezvous.kind === 'address') return rendezvous
  try {
    const text = readFileSync(rendezvous.path, 'utf8')
    const code = /^over (\d+)$/.exec(text)?.[1]
    if (code !== undefined) return { code: Number(code) }
    const [, host = '', port] = /^(.+):(\d+)$/.exec(text) ?? []
    return port === undefined ? undefined : { host, port: Number(port) }
  } catch {
    return undefined // not there yet
  }
}

/** Writes that a process has ended and is not started again: rank 0 need not wait for it. `path` is where rank 0 writes its address. */
export function publishLoss(path: string, rank: number, code: number): void {
  publish(`${path}.lost${rank}`, `over ${code}`)
}

/** The status with which a process has ended for good, as far as whoever started it has written it. */
export function lossOf(rendezvous: Rendezvous, rank: number): number | undefined {
  if (rendezvous.kind === 'address') return undefined
  const found = addressOf({ ...rendezvous, path: `${rendezvous.path}.lost${rank}` })
  return found !== undefined && 'code' in found ? found.code : undefined
}
