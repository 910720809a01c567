/** What a pass of a compiled loop is told: its options, its portion, and what other processes do at the same time. */
import type { SparseStorage } from '../../core/arrays/storage.ts'
import type { Primitive } from '../../core/ir/functionIr.ts'
import type { BlockSchedule, IterationSpace } from './blocks/schedule.ts'
import type { ShareResult } from './callerPass.ts'
import type { Outside } from './claims/blockGate.ts'
import type { Portion } from './kernelLayout.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { PassTurn } from './loopTask.ts'
import type { Lanes } from './reductions/reductionCopies.ts'

/** Numbers of blocks, from the first up to the second. */
export type Range = readonly [number, number]

/** The other processes, which run the rest of a pass while this process runs a portion of it. */
export interface Others {
  readonly portion: Portion
  /** The dependences of its blocks on those of other processes; undefined where there are none. */
  readonly outside?: Outside | undefined
  readonly shared?: SharedLanes | undefined
  /** Runs the others' blocks of the pass, or of one of its rounds. Resolves when what they wrote and added has come here. */
  start(turn: Omit<PassTurn, 'share' | 'shares'>, signal: AbortSignal | undefined, round?: number): Promise<readonly ShareResult[]>
}

/** Update buffers whose elements several processes flush among them. */
export interface SharedLanes {
  has(lanes: Lanes): boolean
  /** Waits, before the blocks of a round, for what others have flushed; `flush` follows after the blocks. */
  ready(round: number): Promise<void>
  flush(round: number, last: { readonly isLast: boolean }): Promise<void>
  stop(): void
}

export interface PassOptions {
  readonly signal?: AbortSignal | undefined
  readonly others?: Others | undefined
  /** Whether elements may stay in the process that wrote them. */
  readonly stays?: boolean | undefined
  /** The captured values of the first time, where a pass is run again; undefined for those of now. */
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
  /** The dependences of the portion's blocks on those of other processes; undefined where there are none. */
  readonly outside?: Outside | undefined
  /** The round to run; undefined where a pass is one round. */
  readonly round?: number | undefined
  readonly shared?: Pick<SharedLanes, 'has'> | undefined
}

/** The facts that a simulation of a pass needs. */
export interface SimulatedPass {
  readonly inputs: LoopInputs
  readonly blocks: BlockSchedule
  readonly space: IterationSpace
  /** The elements of a sparse array that the loop goes over, by place; undefined where there are none, or nobody has them so. */
  readonly elements: SparseStorage | undefined
  readonly lanes: readonly Lanes[]
  /** The time of a pass on one thread, as estimated from the body. */
  readonly aloneMs: number
  /** The last passes, the latest first. */
  readonly measured: readonly MeasuredWork[]
}

/** The work of a pass: the time that all its workers spent on blocks, which is more where they share memory or a core. */
export interface MeasuredWork {
  readonly workers: number
  readonly milliseconds: number
  /** The time of the pass beside the blocks of its longest worker, where it ran here alone: copies that are readied and joined, threads that wake. */
  readonly besideMs?: number
}
