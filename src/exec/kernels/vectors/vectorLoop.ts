/** The inputs of vector loops, and the interface between loops that run side by side. */
import { type Code, I, OP } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import type { Access, Turning } from '../loops/wasmLoopAccess.ts'
import type { KeptRows } from '../passes/keptRows.ts'
import type { Mode, Vector } from './wasmLanes.ts'

/** An element that a store of one loop passes to loads of another one, which runs beside it iteration by iteration. */
export interface HandedOver {
  readonly write: object
  readonly reads: ReadonlySet<object>
  /** The element as a load would return it; set by the store. */
  element?: Vector
}

/** A loop's iterations in lanes of two doubles, for loops that run side by side. */
export interface LaneTurns {
  /** Code before the first iteration. */
  readonly before: Code
  /** The iterations of vector number `copy`; sums are added in order. */
  readonly turn: (copy: number, beside: Beside) => Code
}

/** Values that loops which run side by side pass on. */
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
  /** Whether a product and a sum may be contracted: not where other code than lanes may compute part of a run. */
  readonly contracts?: boolean
  /** Whether loop-invariant factors may be multiplied out, under the same condition. */
  readonly regroups?: boolean
}

/** Runs the body, which covers `turns` iterations, while that many are left. */
export function whileLeft({ index, limit }: InnerLoop, turns: number, body: Code): Code {
  const enough = [I.localGet(limit), I.localGet(index.slot), OP.i32Sub, I.i32Const(turns), OP.i32GeS]
  const next = [I.localGet(index.slot), I.i32Const(turns), OP.i32Add, I.localSet(index.slot)]
  return [enough, I.if(), I.loop, body, next, enough, I.brIf(0), OP.end, OP.end]
}

/** The state of an iteration whose code is being written. */
export interface Turn {
  /** The values of the body's locals. */
  readonly locals: Map<string, Vector>
  /** The lanes that run the statement being written; undefined for all. */
  mask: Vector | undefined
  /** The lanes whose iteration has not ended; undefined for all. */
  alive: Vector | undefined
  element: Vector | undefined
}

export function newTurn(): Turn {
  return { locals: new Map(), mask: undefined, alive: undefined, element: undefined }
}
