/** The sending of arrays and loop definitions that another process lacks before a pass. Elements that a description gives are made there. */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { LoopDefinition } from '../definition.ts'
import type { Members, Other } from '../members.ts'
import { buffersOf, shapeOfStorage } from '../storageWire.ts'
import type { Needed } from './belongings.ts'
import { packBoxes } from './boxWire.ts'
import { bytesOf } from './changes.ts'
import type { NumberedBox } from './moves.ts'
import type { BoxesHead, MakeHead, ValuesHead } from './passWire.ts'
import { wholeBox } from './residence.ts'

/** Sends what a process lacks of whole arrays for a loop's passes. Throws the GangError of a process that was lost. */
export function supply(gang: Members, other: Other, needed: readonly Needed[], loop: string): void {
  gang.checkThere([other])
  for (const one of needed) {
    const { storage, isShape, made } = one
    const number = gang.numberOf(storage)
    const missing = gang.missing(other, loop, one)
    if (missing.length === 0) continue
    if (missing === 'all') {
      const head: ValuesHead = { storage: number, shape: shapeOfStorage(storage) }
      gang.send(other.rank, 'values', head, isShape || made !== undefined ? [] : buffersOf(storage).map(bytesOf))
    }
    // boxes are of dense arrays, as those are that are made
    const boxes = missing === 'all' ? (isShape || made === undefined ? [] : [wholeBox((storage as DenseStorage).shape)]) : missing
    supplyBoxes(
      gang,
      other,
      boxes.map((box) => ({ storage: number, box })),
      () => made,
    )
    gang.belongings.supplied(other, number, one)
  }
}

/** Sends a loop's definition, once, to a process that has something of all its arrays. */
export function define(gang: Members, other: Other, definition: LoopDefinition): void {
  if (other.loops.has(definition.id)) return
  const { belongings } = gang
  const rows = definition.rows.map((one) => {
    const isFresh = !belongings.counts(other, one.storage) && !belongings.isShared(one.storage)
    return { ...one, isFresh }
  })
  gang.send(other.rank, 'define', { ...definition, rows } satisfies LoopDefinition)
  other.loops.add(definition.id)
}

/** Sends boxes that another process lacks; of arrays that are still as their description made them, it has the process make them. */
export function supplyBoxes(
  gang: Members,
  { rank }: Other,
  boxes: readonly NumberedBox[],
  madeBy: (storage: DenseStorage) => MadeSpec | undefined,
): void {
  const storageOf = (number: number): DenseStorage => gang.storageOf(number) as DenseStorage // boxes are of dense arrays
  const sent: NumberedBox[] = []
  const made = new Map<number, { readonly spec: MadeSpec; readonly boxes: NumberedBox[] }>()
  for (const one of boxes) {
    const spec = madeBy(storageOf(one.storage))
    if (spec === undefined) sent.push(one)
    else made.set(one.storage, { spec, boxes: [...(made.get(one.storage)?.boxes ?? []), one] })
  }
  for (const head of made.values()) gang.send(rank, 'make', head satisfies MakeHead)
  if (sent.length === 0) return
  const head: BoxesHead = { boxes: sent }
  gang.send(rank, 'boxes', head, [packBoxes(sent.map(({ storage, box }) => ({ storage: storageOf(storage), box })))])
}
