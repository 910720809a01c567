/** A loop placed on the processes of a gang: the blocks that each runs, and the definition that it was sent. */
import type { Storage } from '../../core/arrays/storage.ts'
import type { Primitive } from '../../core/ir/functionIr.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import type { SimulatedPass } from '../loops/kernelPass.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import { definitionOf, type LoopDefinition } from './definition.ts'
import type { Members, Other } from './members.ts'
import { blocksWith } from './movement/elements.ts'
import { Movements } from './movement/movement.ts'
import type { NodeMoves } from './movement/moves.ts'
import { type Placement, placementOf, rowsOf } from './movement/placement.ts'

export interface Part {
  readonly other: Other
  /** The number of the process among those that are there; ranks may have gaps. */
  readonly node: number
  readonly definition: LoopDefinition
  /** Copies of captured tables from when they were last sent. */
  tables: readonly ArrayLike<Primitive>[]
  moves: NodeMoves | undefined
}

/** The blocks of this process, and the parts of the others. */
export interface Shared {
  readonly own: Portion
  readonly parts: readonly Part[]
}

/** The loop on the processes of an epoch, which ends when one is lost or joins. */
export interface Formed {
  readonly epoch: number
  readonly id: string
  readonly others: readonly Other[]
  readonly placement: Placement
  readonly movements: Movements<Other>
  shared: Shared | undefined
}

export interface SharedLoop {
  readonly inputs: LoopInputs
  readonly count: number
  readonly portionOf: (from: number, to: number, options: { readonly isAlone: boolean }) => Portion
}

/** A loop placed on some processes, this one beside them; the reason where it stays in this one. */
export function formedOn(
  gang: Members,
  { inputs, blocks, space, elements }: Pick<SimulatedPass, 'inputs' | 'blocks' | 'space' | 'elements'>,
  { others, epoch }: Pick<Formed, 'others' | 'epoch'>,
): Formed | { readonly because: string } {
  const placement = placementOf(inputs, { blocks, space, world: others.length + 1, byPlace: elements })
  if ('because' in placement) return placement
  const movements = new Movements(gang, blocks, placement, others)
  return { epoch, id: gang.nextLoop(), others, placement, movements, shared: undefined }
}

/** Divides lanes of blocks among processes, about as many iterations each; this one has the first. Kept as long as the loop is placed so. */
export function sharedBy(formed: Formed, loop: SharedLoop, numberOf: (storage: Storage) => number): Shared {
  if (formed.shared !== undefined) return formed.shared
  const isAlone = loop.inputs.analyzed.served !== undefined
  const own = loop.portionOf(0, formed.placement.bounds[1] as number, { isAlone })
  formed.shared = { own, parts: partsOf(formed, loop, numberOf) }
  return formed.shared
}

/** The parts of the other processes. */
export function partsOf(
  formed: Formed,
  { inputs, count }: Pick<SharedLoop, 'inputs' | 'count'>,
  numberOf: (storage: Storage) => number,
): readonly Part[] {
  const { bounds, arrays, elements } = formed.placement
  const isLoaded = inputs.analyzed.served !== undefined
  const compared = arrays.flatMap(({ kind, storage }) => (kind === 'compared' ? [numberOf(storage)] : []))
  return formed.others.flatMap((other, i): Part[] => {
    const [from, to] = [bounds[i + 1] as number, bounds[i + 2] as number] // one more than there are processes
    if (from === to) return []
    const rows = arrays.flatMap((placed) =>
      placed.kind === 'boxes' ? { storage: numberOf(placed.storage), ...rowsOf(placed, formed.placement, i + 1) } : [],
    )
    const own = elements && { number: numberOf(elements.name), blocks: blocksWith(elements, i + 1) }
    const definition = definitionOf(formed.id, inputs, numberOf, { count, from, to, compared, rows, isLoaded }, own)
    return [{ other, node: i + 1, definition, tables: [], moves: undefined }]
  })
}
