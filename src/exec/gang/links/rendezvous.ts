/** Where rank 0 listens, as it says so in a file or everybody was told. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Place } from './introductions.ts'
import type { Rendezvous } from './settings.ts'

/** Whole, or not there. */
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
