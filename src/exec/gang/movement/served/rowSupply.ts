/** The sending of rows of served arrays to processes that read them, and home from those that have them. Keys are told once. */
import type { DenseStorage } from '../../../../core/arrays/storage.ts'
import type { Answer, Members, Other } from '../../members.ts'
import { shapeOfStorage } from '../../storageWire.ts'
import type { Needed } from '../belongings.ts'
import { bytesOf } from '../changes.ts'
import type { RowsHead } from '../moves.ts'
import { bytesMissing } from '../needs.ts'
import { countOfRows, packRows, unpackRows } from './rowCopies.ts'
import type { Rows } from './servedRows.ts'

/** Sends the rows that a process's blocks read, where these are less than what it lacks, or where `isAll`: this process has no more than them. */
export function serveRows(
  gang: Members,
  other: Other,
  loop: string,
  { needed, rows, isAll }: { readonly needed: Needed; readonly rows: Rows; readonly isAll: boolean },
): void {
  gang.checkThere([other])
  const { storage, version, by } = needed
  const number = gang.numberOf(storage)
  const missing = gang.missing(other, loop, needed)
  if (missing.length === 0 || by === undefined || storage.kind !== 'dense') return
  const head: RowsHead = { loop, storage: number }
  const bytes = countOfRows(rows) * storage.data.BYTES_PER_ELEMENT + (knowsRows(other, head, by) ? 0 : rows.byteLength)
  if (!isAll && bytes >= bytesMissing(missing, storage)) return
  if (gang.belongings.held(other, number) === undefined)
    gang.send(other.rank, 'values', { storage: number, shape: shapeOfStorage(storage) })
  tellKeys(gang, other, head, { by, rows })
  gang.send(other.rank, 'rows', head, [packRows(storage, rows)])
  gang.belongings.hold(other, number, { version, by })
}

/** Fetches rows of an array from the processes that have them, for a loop whose blocks read them. */
export async function fetchRows(
  gang: Members,
  loop: string,
  storage: DenseStorage,
  { by, fetches }: { readonly by: string; readonly fetches: ReadonlyMap<Other, Rows> },
): Promise<void> {
  if (fetches.size === 0) return
  const run = gang.nextQuestion()
  const head: RowsHead = { loop: `${loop} home`, storage: gang.numberOf(storage) }
  gang.checkThere(fetches.keys())
  for (const [other, rows] of fetches) tellKeys(gang, other, head, { by, rows })
  const took = ({ rank, parts }: Answer): void => {
    const rows = [...fetches].find(([other]) => other.rank === rank)?.[1] ?? new Int32Array(0)
    unpackRows(storage, rows, parts[0] as Uint8Array) // the only one
  }
  const heads = new Map([...fetches.keys()].map((other) => [other, { run, rows: head }]))
  await gang.ask(run, 'fetch', heads, undefined, took)
}

export function knowsRows({ keys }: Other, { loop, storage }: RowsHead, by: string): boolean {
  return keys.get(`${loop} ${storage}`) === by
}

/** Tells a process which rows a head names, unless it knows. */
export function tellKeys(gang: Members, other: Other, head: RowsHead, { by, rows }: { readonly by: string; readonly rows: Rows }): void {
  if (!knowsRows(other, head, by)) gang.send(other.rank, 'keys', head, [bytesOf(rows)])
  other.keys.set(`${head.loop} ${head.storage}`, by)
}
