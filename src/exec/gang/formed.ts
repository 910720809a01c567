/** A loop on the processes of a gang: who runs which of its blocks, and what each was told. */
import type { Primitive } from '../../core/ir/functionIr.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import type { LoopDefinition } from './definition.ts'
import type { Other } from './gang.ts'
import type { Movements } from './movement/movement.ts'
import type { NodeMoves } from './movement/moves.ts'
import type { Placement } from './movement/placement.ts'

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
