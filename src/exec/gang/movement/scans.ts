/**
 * Arrays that processes compute from files which they have: nobody sends these. The array that a process has computed counts where its
 * layout and all of its bytes are those of the array here; else the array is sent, as to a process without the file.
 */
import { createHash } from 'node:crypto'
import type { Storage } from '../../../core/arrays/storage.ts'
import { toBytes } from '../definition.ts'
import type { Answer, Members, Other } from '../members.ts'
import { buffersOf, shapeOfStorage } from '../storageWire.ts'
import type { Needed } from './belongings.ts'
import { bytesOf } from './changes.ts'
import type { FetchHead } from './passWire.ts'

/** The file that each array was computed from, and the ranks that were sent it all the same; explain() prints them. */
export type Scans = ReadonlyMap<Storage, { readonly file: string; readonly sent: readonly number[] }>

/** Has processes compute the arrays of which they have nothing yet. Rejects with the GangError of one that was lost. */
export async function scanElsewhere(gang: Members, others: readonly Other[], needed: readonly Needed[]): Promise<Scans> {
  const scans = new Map<Storage, { readonly file: string; readonly sent: readonly number[] }>()
  for (const one of needed) {
    const number = gang.numberOf(one.storage)
    const without = others.filter((other) => gang.belongings.computes(other, number, one))
    const spec = without.length === 0 ? undefined : one.scanned?.()
    if (spec === undefined) continue
    const digests: (readonly [rank: number, digest: Buffer])[] = []
    const took = ({ rank, parts }: Answer): unknown => digests.push([rank, Buffer.from(parts[0] as Uint8Array)]) // a copy
    const run = gang.nextQuestion()
    const head: FetchHead = { run, scan: { storage: number, spec } }
    const asked = gang.ask(run, 'fetch', new Map(without.map((other) => [other, head])), undefined, took)
    asked.catch(() => undefined) // awaited below
    const own = Buffer.from(digestOf(one.storage))
    await asked
    const sent = new Set<number>()
    for (const [rank, digest] of digests) {
      const other = without.find((each) => each.rank === rank) as Other // one that was asked
      if (own.equals(digest)) gang.belongings.supplied(other, number, one)
      else {
        sent.add(rank)
        gang.send(rank, 'forget', { loops: [], storages: [number] })
      }
    }
    scans.set(one.storage, { file: spec.file, sent: [...sent] })
  }
  return scans
}

/** A digest of all bits and of the layout of an array. */
export function digestOf(storage: Storage): Uint8Array {
  const hash = createHash('sha256').update(toBytes(shapeOfStorage(storage), 'The shape of an array'))
  for (const buffer of buffersOf(storage)) hash.update(bytesOf(buffer))
  return hash.digest()
}

export function scansText(scans: Scans, labelOf: (storage: Storage) => string): string {
  return [...scans]
    .map(([storage, { file, sent }]) => {
      const label = labelOf(storage)
      if (sent.length === 0) return ` Each computes ${label} from ${file} by itself.`
      return ` Rank ${sent.join(', ')} does not find in ${file} what is here, and is sent ${label}.`
    })
    .join('')
}
