/** What lies in other processes and not in this one: how much it is, and how it comes here. */
import { Bug } from '../../core/errors.ts'
import type { DenseStorage, Storage } from '../../core/storage.ts'
import { HOME, type Process } from './belongings.ts'
import { unpackBoxes } from './boxWire.ts'
import type { Answer, Gang, Other } from './gang.ts'
import type { Elsewhere } from './journal.ts'
import type { NumberedBox } from './moves.ts'
import { awayBytes } from './needs.ts'
import type { FetchHead } from './passWire.ts'
import { missingCells, type Residence } from './residence.ts'
import { boxesOfCells } from './transfers.ts'

/** Brings what lies elsewhere of some arrays. Rejects with the GangError of a process that was lost on the way, or before. */
export async function bringHome(gang: Gang, storages: readonly Storage[]): Promise<void> {
  const { belongings } = gang
  const wanted = new Map<Other, NumberedBox[]>()
  const away = storages.map((storage) => gang.numberOf(storage)).filter((number) => belongings.away(number) !== undefined)
  for (const number of away) {
    const residence = belongings.away(number) as Residence<Process> // as filtered
    const left = new Set(missingCells(residence, HOME))
    for (const other of gang.others) {
      const own = residence.has.get(other)
      const cells = [...left].filter((cell) => own?.[cell] === 1)
      for (const cell of cells) left.delete(cell)
      const boxes = boxesOfCells(cells, residence.bounds).map((box) => ({ storage: number, box }))
      if (boxes.length > 0) wanted.set(other, [...(wanted.get(other) ?? []), ...boxes])
    }
    if (left.size > 0) throw gang.lastLoss ?? new Bug('Nobody has the last values of an array.')
  }
  await fetchBoxes(gang, wanted)
  for (const number of away) belongings.brought(number)
}

/** Takes elements from those that have them, before a pass or for somebody who uses an array here. */
export async function fetchBoxes(gang: Gang, wanted: ReadonlyMap<Other, readonly NumberedBox[]>): Promise<void> {
  if (wanted.size === 0) return
  const run = gang.nextQuestion()
  const heads = new Map([...wanted].map(([other, boxes]): [Other, FetchHead] => [other, { run, boxes }]))
  const took = ({ rank, parts }: Answer): void => {
    const boxes = [...wanted].find(([other]) => other.rank === rank)?.[1] ?? []
    unpackBoxes(
      boxes.map(({ storage, box }) => ({ storage: gang.storageOf(storage) as DenseStorage, box })), // boxes are of dense arrays
      parts[0] as Uint8Array, // the only one
    )
  }
  await gang.ask(run, 'fetch', heads, undefined, { took, edge: () => undefined })
}

export function elsewhereOf(gang: Gang): Elsewhere {
  return {
    bringHome: (storages) => bringHome(gang, storages),
    isHome: (storages) => {
      for (const storage of storages) gang.belongings.settle(gang.numberOf(storage), undefined, undefined)
    },
    awayBytes: (storages) => storages.reduce((sum, storage) => sum + awayBytes(gang, storage), 0),
    hasLost: (error) => gang.hasLost(error),
  }
}
