/**
 * Names beside a place, for what is not whole yet, and what processes have left there that are not there any more.
 *
 *     rows.parquet.1f0c9a3e-4711-88213.a1b2c3d4.tmp     name, host, process and its start, chance: what is written
 *     lake.1f0c9a3e-4711-88213.a1b2c3d4.old.tmp         a folder that was moved aside for another
 *
 * Who writes to a folder removes what killed processes of this machine have left in it; a folder that was moved aside, and in whose
 * place nothing came, is moved back.
 */
import { randomBytes } from 'node:crypto'
import { access, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isOwnerThere, ownerHere } from './processStart.ts'

/** Most letters that are taken of a name, which may be as long as names can be. */
const MOST_LETTERS = 40
const LEFT = /^(?<name>.*)\.(?<owner>[0-9a-f]{8}-\d+-\d+)\.[0-9a-f]{8}(?<old>\.old)?\.tmp$/s

/** A new path beside a place, at which the file or folder for that place is written. */
export function besideOf(place: string): string {
  const name = basename(place).slice(0, MOST_LETTERS)
  return join(dirname(place), `${name}.${ownerHere()}.${randomBytes(4).toString('hex')}.tmp`)
}

/** The path to which the folder at a place is moved while the one written at `beside` takes its place. */
export function asideOf(beside: string): string {
  return `${beside.slice(0, -'.tmp'.length)}.old.tmp`
}

/** Removes what killed processes have left beside a place. What cannot be removed stays: nobody is held up by it. */
export async function removeLeft(place: string): Promise<void> {
  const folder = dirname(place)
  const names = await readdir(folder).catch(() => [])
  for (const left of names) {
    const { name = '', owner, old } = LEFT.exec(left)?.groups ?? {}
    if (owner === undefined || isOwnerThere(owner)) continue
    const path = join(folder, left)
    if (old === undefined) await rm(path, { recursive: true, force: true }).catch(() => undefined)
    else await putBack(path, name, place)
  }
}

/** A folder that was moved aside goes back to its place, or is removed where another one has taken that. */
async function putBack(aside: string, name: string, place: string): Promise<void> {
  const isCut = name.length === MOST_LETTERS
  if (isCut && !basename(place).startsWith(name)) return // nobody knows where it was
  const from = isCut ? place : join(dirname(place), name)
  const isTaken = await access(from).then(
    () => true,
    () => false,
  )
  await (isTaken ? rm(aside, { recursive: true, force: true }) : rename(aside, from)).catch(() => undefined)
}
