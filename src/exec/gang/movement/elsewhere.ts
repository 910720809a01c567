/** Elements that lie in other processes and not in this one: which they are, and how they come here. */

import type { DenseStorage, Storage } from '../../../core/arrays/storage.ts'
import { Bug } from '../../../core/errors.ts'
import { partsOf } from '../../arrays/parted.ts'
import type { Answer, Members, Other } from '../members.ts'
import { HOME } from './belongings.ts'
import { unpackBoxes } from './boxWire.ts'
import type { NumberedBox } from './moves.ts'
import type { FetchHead } from './passWire.ts'
import { missingCells, wholeBox } from './residence.ts'
import { type Box, boxesOfCells } from './transfers.ts'

/** Fetches all elements of some arrays that lie elsewhere. Rejects with the GangError of a process that was lost on the way, or before. */
export async function bringHome(gang: Members, storages: readonly Storage[]): Promise<void> {
  const { belongings } = gang
  const wanted = new Map<Other, NumberedBox[]>()
  const away = storages.map((storage) => gang.numberOf(storage)).filter((number) => belongings.away(number) !== undefined)
  for (const number of away) {
    partsOf(gang.storageOf(number) as DenseStorage)?.whole() // those of which cells are known are dense
    for (const [other, boxes] of boxesElsewhere(gang, number))
      wanted.set(other, [...(wanted.get(other) ?? []), ...boxes.map((box) => ({ storage: number, box }))])
  }
  await fetchBoxes(gang, wanted)
  for (const number of away) belongings.brought(number)
}

/** The boxes of an array that lie elsewhere and not here, each under one of the processes that have it. */
export function boxesElsewhere(gang: Members, number: number): ReadonlyMap<Other, readonly Box[]> {
  const found = new Map<Other, readonly Box[]>()
  const residence = gang.belongings.away(number)
  if (residence === undefined) return found
  const left = new Set(missingCells(residence, HOME))
  for (const other of gang.others) {
    const own = residence.has.get(other)
    const cells = [...left].filter((cell) => own?.[cell] === 1)
    for (const cell of cells) left.delete(cell)
    if (cells.length > 0) found.set(other, boxesOfCells(cells, residence.bounds))
  }
  if (left.size > 0) throw gang.lastLoss ?? new Bug('Nobody has the last values of an array.')
  return found
}

/** The boxes of an array whose last values are here. */
export function boxesHere(gang: Members, storage: DenseStorage): readonly Box[] {
  const residence = gang.belongings.away(gang.numberOf(storage))
  if (residence === undefined) return [wholeBox(storage.shape)]
  const own = residence.has.get(HOME) ?? []
  const cells = [...own.keys()].filter((cell) => own[cell] === 1)
  return boxesOfCells(cells, residence.bounds)
}

/** Fetches elements from processes that have them, before a pass or for another use here; `put` stores them, by default in their arrays. */
export async function fetchBoxes(
  gang: Members,
  wanted: ReadonlyMap<Other, readonly NumberedBox[]>,
  put: (boxes: readonly NumberedBox[], bytes: Uint8Array) => void = (boxes, bytes) => putBoxes(gang, boxes, bytes),
): Promise<void> {
  if (wanted.size === 0) return
  const run = gang.nextQuestion()
  const heads = new Map([...wanted].map(([other, boxes]): [Other, FetchHead] => [other, { run, boxes }]))
  const took = ({ rank, parts }: Answer): void => {
    const boxes = [...wanted].find(([other]) => other.rank === rank)?.[1] ?? []
    put(boxes, parts[0] as Uint8Array) // the only one
  }
  await gang.ask(run, 'fetch', heads, undefined, took)
}

function putBoxes(gang: Members, boxes: readonly NumberedBox[], bytes: Uint8Array): void {
  const stored = boxes.map(({ storage, box }) => ({ storage: gang.storageOf(storage) as DenseStorage, box })) // boxes are of dense arrays
  unpackBoxes(stored, bytes)
}
