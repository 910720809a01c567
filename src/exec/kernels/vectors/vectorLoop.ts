/** What vector loops are written from, and what loops that run side by side hand each other. */
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import type { Access, Turning } from '../loops/wasmLoopAccess.ts'
import type { KeptRows } from '../passes/keptRows.ts'
import type { Mode, Vector } from './wasmLanes.ts'

/** What a store of one loop hands to loads of another that runs beside it, turn by turn: the element that both have. */
export interface HandedOver {
  readonly write: object
  readonly reads: ReadonlySet<object>
  /** The element as a load would give it, when it is stored. */
  element?: Vector
}

/** A loop's turns in lanes of two doubles, for loops that run side by side. */
export interface LaneTurns {
  /** Code before the first turn. */
  readonly before: Code
  /** The vector of turns that so many vectors lie before; sums are added in order. */
  readonly turn: (copy: number, beside: Beside) => Code
}

/** What loops that run side by side pass on. */
export interface Beside {
  readonly handed: HandedOver | undefined
  readonly kept: KeptRows | undefined
}

export interface Vectors {
  readonly loop: InnerLoop
  readonly accesses: ReadonlyMap<object, Access> | 'nest'
  readonly turning: Turning
  readonly mode: Mode
  /** Whether sums are added in order, lane by lane. */
  readonly isInOrder?: boolean
  /** Whether a product and a sum may round once: not where part of a run may take other code than lanes. */
  readonly contracts?: boolean
  /** Whether factors that do not change in the loop may be multiplied out: where contraction might be. */
  readonly regroups?: boolean
}

/** Runs the body, which does so many turns, while so many are left. */
export function whileLeft({ index, limit }: InnerLoop, turns: number, body: Code): Code {
  const enough = [I.localGet(limit), I.localGet(index.slot), OP.i32Sub, I.i32Const(turns), OP.i32GeS]
  const next = [I.localGet(index.slot), I.i32Const(turns), OP.i32Add, I.localSet(index.slot)]
  return [enough, I.if(), I.loop, body, next, enough, I.brIf(0), OP.end, OP.end]
}

/** A turn of the loop, as it is where code is being written. */
export interface Turn {
  /** Locals of the body. */
  readonly locals: Map<string, Vector>
  /** Lanes that run the statement being written; all of them when undefined. */
  mask: Vector | undefined
  /** Lanes whose turn has not ended. */
  alive: Vector | undefined
  element: Vector | undefined
}

export function newTurn(): Turn {
  return { locals: new Map(), mask: undefined, alive: undefined, element: undefined }
}
