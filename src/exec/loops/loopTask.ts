/**
 * The messages to a worker about passes of a loop, and its results. Everything is structured-cloneable; typed
 * arrays are views of the arena, which every thread sees without a copy.
 */

import type { SparseStorage, TableStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { PortableFunction, Primitive } from '../../core/ir/functionIr.ts'
import type { ElementBinding } from '../kernels/js/loopKernelShape.ts'
import type { WasmKernelPlan } from '../kernels/loops/wasmBinding.ts'
import type { ClaimedBlocks } from './blocks/claimedBlocks.ts'
import type { BlockSchedule, IterationSpace } from './blocks/schedule.ts'
import type { ClaimState } from './claims/claimWords.ts'
import type { WireError } from './failure.ts'
import type { AccumulatorForm, AccumulatorPart } from './reductions/accumulatorLog.ts'

/** The part of the messages that stays the same for all passes of a prepared loop. */
export interface LoopTask {
  /** Two tasks of one id have the same kernel, bound to the same arrays. */
  readonly id: string
  /** The kernel's text (`exec/kernels/js/loopKernel.ts`). */
  readonly text: string
  /** The kernel as WebAssembly, where that can run it: then the text is empty. */
  readonly wasm?: WasmKernelPlan
  readonly binding: BindingPlan
  readonly extents: readonly number[]
  readonly schedule: BlockSchedule
  /** The units in which the schedule's blocks are claimed: each, or groups of them. */
  readonly claimed: ClaimedBlocks
  readonly claims: ClaimState
}

/** One worker's part in passes that it runs together with others. */
export interface PassTurn {
  readonly parameters: readonly Primitive[]
  /** The first pass, and how many are run one after another; the workers wait for each other in between. */
  readonly pass: number
  readonly passes: number
  /** Whether to measure the time of each block. */
  readonly measures: boolean
  /** This is number `share` of `shares` that run the passes together. */
  readonly share: number
  readonly shares: number
}

/** The task that is sent: `loop` only to workers that may not know it yet. One that does not answers with undefined. */
export interface LoopMessage {
  readonly id: string
  readonly turn: PassTurn
  readonly loop?: LoopTask
}

export type ArrayPlan =
  | {
      readonly kind: 'dense'
      readonly label: string
      readonly data: TypedArray
      /** The number of the element that `data` begins with. */
      readonly first: number
      readonly extents: readonly number[]
      readonly strides: readonly number[]
      readonly lanes?: TypedArray
      readonly touched?: Uint8Array
      readonly laneLength: number
      /** A copy for each worker, where the array is private. */
      readonly copies?: readonly TypedArray[]
      readonly combine?: PortableFunction
    }
  | { readonly kind: 'keyed'; readonly label: string; readonly storage: SparseStorage | TableStorage }

export interface BindingPlan {
  readonly arrays: readonly ArrayPlan[]
  readonly accumulators: readonly AccumulatorForm[]
  readonly seeds: readonly number[]
  readonly tables: readonly ArrayLike<Primitive>[]
  readonly order?: Int32Array
  readonly keys: readonly Int32Array[]
  readonly element: ElementPlan
}

export type ElementPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'dense'; readonly data: TypedArray; readonly first: number; readonly strides: readonly number[] }
  | { readonly kind: 'columns'; readonly storage: SparseStorage | TableStorage }

/** A worker's share of one pass. */
export interface SharePass {
  readonly accumulators: readonly AccumulatorPart[]
  /** Time from the worker's first look for a block to its last. */
  readonly milliseconds: number
  /** The part of that time that was spent on blocks. */
  readonly busyMs: number
}

export interface LoopTaskResult {
  /** The passes in order; the last is not complete after a failure or an abort. */
  readonly passes: readonly SharePass[]
  /** The failing iteration of smallest rank that this worker met. */
  readonly failure?: { readonly rank: number; readonly key: readonly number[]; readonly error: WireError }
}

export type { ElementBinding, IterationSpace }
