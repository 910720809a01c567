import type { Primitive } from '../../core/ir/functionIr.ts'
import type { ShareResult } from './callerPass.ts'
import type { Outside } from './claims/blockGate.ts'
import type { Portion } from './kernelLayout.ts'
import type { PassTurn } from './loopTask.ts'
import type { Lanes } from './reductions/reductionCopies.ts'

/** Blocks from the first up to the second; undefined for all. */
export type Range = readonly [number, number]

/** What runs the rest of a pass elsewhere while this process runs a portion of it. */
export interface Others {
  readonly portion: Portion
  /** What its blocks wait for elsewhere. */
  readonly outside?: Outside | undefined
  readonly shared?: SharedLanes | undefined
  /** Runs their blocks of the pass, or of one of its rounds. Resolves when what they wrote and added lies here. */
  start(turn: Omit<PassTurn, 'share' | 'shares'>, signal: AbortSignal | undefined, round?: number): Promise<readonly ShareResult[]>
}

/** Update buffers whose elements several processes flush among them. */
export interface SharedLanes {
  has(lanes: Lanes): boolean
  /** Before the blocks of a round, and after them. */
  ready(round: number): Promise<void>
  flush(round: number, last: { readonly isLast: boolean }): Promise<void>
  stop(): void
}

export interface PassOptions {
  readonly signal?: AbortSignal | undefined
  readonly others?: Others | undefined
  /** What is written may stay where it is, in whatever process. */
  readonly stays?: boolean | undefined
  /** What the body captured when the pass ran before, where it runs again. */
  readonly captured?: Captured | undefined
}

export interface Captured {
  readonly parameters: readonly Primitive[]
  /** Tables in the IR's order. */
  readonly tables: readonly ArrayLike<Primitive>[]
}

export interface PortionTurn extends Pick<PassTurn, 'pass' | 'parameters'> {
  /** Captured tables in the IR's order. */
  readonly tables: readonly ArrayLike<Primitive>[]
  readonly signal: AbortSignal
  /** What the portion's blocks wait for elsewhere. */
  readonly outside?: Outside | undefined
  /** Which of the pass's rounds to run, where it has some. */
  readonly round?: number | undefined
  readonly shared?: Pick<SharedLanes, 'has'> | undefined
}
