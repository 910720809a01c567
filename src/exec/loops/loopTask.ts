/**
 * What a worker is told about a pass of a loop, and what it gives back. Everything is structured-cloneable; typed
 * arrays are views of the arena, which every thread sees without a copy.
 */
import type { TypedArray } from '../../core/column.ts'
import type { PortableFunction, Primitive } from '../../core/functionIr.ts'
import type { SparseStorage, TableStorage } from '../../core/storage.ts'
import type { ElementBinding } from '../kernels/loopKernelShape.ts'
import type { WasmKernelPlan } from '../kernels/wasmBinding.ts'
import type { AccumulatorForm, AccumulatorPart } from './accumulatorLog.ts'
import type { BlockSchedule, IterationSpace } from './blockSchedule.ts'
import type { ClaimState } from './claim.ts'
import type { WireError } from './failure.ts'

export interface LoopTask {
  /** Two tasks of one id have the same kernel, bound to the same arrays. */
  readonly id: string
  /** The kernel's text (`exec/kernels/loopKernel.ts`). */
  readonly text: string
  /** The kernel as WebAssembly, where that can run it: then the text is not used. */
  readonly wasm?: WasmKernelPlan
  readonly binding: BindingPlan
  readonly extents: readonly number[]
  readonly schedule: BlockSchedule
  readonly claims: ClaimState
  readonly parameters: readonly Primitive[]
  readonly pass: number
  /** This task is number `share` of `shares` that run the pass together. */
  readonly share: number
  readonly shares: number
}

export type ArrayPlan =
  | {
      readonly kind: 'dense'
      readonly label: string
      readonly data: TypedArray
      readonly extents: readonly number[]
      readonly strides: readonly number[]
      readonly lanes?: TypedArray
      readonly touched?: Uint8Array
      readonly laneLength: number
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
  | { readonly kind: 'dense'; readonly data: TypedArray; readonly strides: readonly number[] }
  | { readonly kind: 'columns'; readonly storage: SparseStorage | TableStorage }

export interface LoopTaskResult {
  readonly accumulators: readonly AccumulatorPart[]
  /** The failing iteration of smallest rank that this worker met. */
  readonly failure?: { readonly rank: number; readonly key: readonly number[]; readonly error: WireError }
}

export type { ElementBinding, IterationSpace }
