/** A loop on the processes of a gang: who runs which of its blocks, and what each was told. */
import type { Storage } from '../../core/arrays/storage.ts'
import type { Primitive } from '../../core/ir/functionIr.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import { definitionOf, type LoopDefinition } from './definition.ts'
import type { Other } from './members.ts'
import type { Movements } from './movement/movement.ts'
import type { NodeMoves } from './movement/moves.ts'
import { type Placement, rowsOf } from './movement/placement.ts'

export interface Part {
  readonly other: Other
  /** Its place among the processes that there are. */
  readonly node: number
  readonly definition: LoopDefinition
  /** Captured tables as they were sent last. */
  tables: readonly ArrayLike<Primitive>[]
  moves: NodeMoves | undefined
}

/** Blocks of this process, and those of the others. */
export interface Shared {
  readonly own: Portion
  readonly parts: readonly Part[]
}

/** The loop on the processes that there are, until one is lost or joins. */
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

/** Rows of blocks with about as many iterations each; the first are run here. Found once for as long as the loop is placed so. */
export function sharedBy(formed: Formed, { inputs, count, portionOf }: SharedLoop, numberOf: (storage: Storage) => number): Shared {
  if (formed.shared !== undefined) return formed.shared
  const { bounds, arrays, order } = formed.placement
  const isLoaded = inputs.analyzed.served !== undefined
  const compared = arrays.flatMap(({ kind, storage }) => (kind === 'compared' ? [numberOf(storage)] : []))
  const parts = formed.others.flatMap((other, i): Part[] => {
    const [from, to] = [bounds[i + 1] as number, bounds[i + 2] as number] // one more than there are processes
    if (from === to) return []
    const rows = arrays.flatMap((placed) =>
      placed.kind === 'boxes' ? { storage: numberOf(placed.storage), ...rowsOf(placed, order, i + 1) } : [],
    )
    const definition = definitionOf(formed.id, inputs, numberOf, { count, from, to, compared, rows, isLoaded })
    return [{ other, node: i + 1, definition, tables: [], moves: undefined }]
  })
  formed.shared = { own: portionOf(0, bounds[1] as number, { isAlone: isLoaded }), parts }
  return formed.shared
}
