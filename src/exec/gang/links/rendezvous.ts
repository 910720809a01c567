/** The address at which rank 0 listens: from a file that it writes, or from the settings. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Place } from './introductions.ts'
import type { Rendezvous } from './settings.ts'

/** Writes the address to a file, which appears as a whole or not at all. */
export function publish(path: string, address: string): void {
  writeFileSync(`${path}.part`, address, { mode: 0o600 })
  renameSync(`${path}.part`, path)
}

export function addressOf(rendezvous: Rendezvous): Place | undefined {
  if (rendezvous.kind === 'address') return rendezvous
  try {
    const [, host = '', port] = /^(.+):(\d+)$/.exec(readFileSync(rendezvous.path, 'utf8')) ?? []
    return port === undefined ? undefined : { host, port: Number(port) }
  } catch {
    return undefined // not there yet
  }
}
