/** The inputs of the loop runtime from `session.loop`: the analysed loop, and the arrays and values that its names stand for. */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import type { FunctionIr, PortableFunction } from '../../core/ir/functionIr.ts'
import type { AccumulatorKind } from '../../core/loop/accumulator.ts'
import type { AnalyzedLoop } from '../../core/loop/loopSpec.ts'
import type { Refusal } from '../../core/span.ts'
import type { MadeSpec } from '../arrays/makeArray.ts'
import type { ScannedSpec } from '../arrays/scannedArray.ts'
import type { BlockSchedule } from './blocks/schedule.ts'
import type { Finding } from './inspector/finding.ts'
import type { Rounds } from './reductions/lateUpdates.ts'

/** A user's helper function; every `UserFunction` is one. */
export interface HelperFunction {
  readonly original: (...args: never[]) => unknown
  readonly portable?: PortableFunction
  readonly ir?: FunctionIr
}

export interface ArrayInput {
  readonly storage: Storage
  /** Identity of the array: names with one identity have one storage. */
  readonly array: number
  /** The array's name in messages, as `W`. */
  readonly label: string
  /** The array's version; see `LoopInputs.over`. */
  readonly version?: () => string
  readonly made?: () => MadeSpec | undefined
  readonly scanned?: () => ScannedSpec | undefined
  /** Whether elements are true and false to the body, where memory has 1 and 0. */
  readonly isBoolean?: boolean
}

export interface BufferInput {
  readonly storage: DenseStorage
  readonly array: number
  readonly label: string
  readonly version?: () => string
  readonly made?: () => MadeSpec | undefined
  readonly scanned?: () => ScannedSpec | undefined
  readonly combine: 'sum' | HelperFunction
  readonly apply?: HelperFunction
  readonly maxDelay?: number
  /** How the buffer is flushed between rounds; absent where it is not. */
  readonly rounds?: Rounds
}

export type AccumulatorInput = AccumulatorKind | { readonly init: unknown; readonly combine: HelperFunction }

export interface LoopInputs {
  readonly analyzed: AnalyzedLoop
  readonly over:
    | { readonly kind: 'range'; readonly extents: readonly number[] }
    | {
        readonly kind: 'storage'
        readonly storage: Storage
        readonly array: number
        /** Changes with every write to the array; without it any pass may find other values. */
        readonly version?: () => string
        /** The description that the array was made from; undefined once somebody has written it. */
        readonly made?: () => MadeSpec | undefined
        readonly scanned?: () => ScannedSpec | undefined
        /**
         * The loop's blocks, in a process that has the elements of some of them only: bounds are places among these elements, which lie in
         * plan order. Blocks of other processes are empty.
         */
        readonly placed?: BlockSchedule
      }
  /** Arrays by the name the body uses, captured ones included. */
  readonly arrays: ReadonlyMap<string, ArrayInput>
  readonly buffers: ReadonlyMap<string, BufferInput>
  readonly accumulators: ReadonlyMap<string, AccumulatorInput>
  /** Seeds of random generators, by name. */
  readonly rngs: ReadonlyMap<string, number>
  /** Everything else in `env`, as the user gave it, for bodies that run as they stand. */
  readonly envObject: Readonly<Record<string, unknown>>
  /** The names of handles, as the body's own closure knows them: arrays by their plans, all else by itself. */
  readonly handles?: ReadonlyMap<object, string>
  /** Why the body runs as it stands though it can be compiled. */
  readonly asIs?: Refusal
  /** The inspector's finding, for a colored schedule; without it the loop runs serially. */
  readonly finding?: Finding
}
