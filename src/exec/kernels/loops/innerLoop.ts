/** The description of an innermost loop, by which its compilation is chosen. */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import type { Code } from '../../kir/instructions.ts'
import type { WasmType } from '../expressions/types.ts'
import type { LoopIndex } from './wasmLoopAccess.ts'

/** Variations of a loop that is written iteration by iteration. */
export interface Turns {
  /** Tests whether another iteration follows. */
  readonly test?: Code
  readonly before?: Code
  /** Code at the end of an iteration. */
  readonly after?: Code
  /** The body and the range of its index, where they are not the loop's own: between borders. */
  readonly body?: readonly Stmt[]
  readonly seen?: WasmType
}

/** A loop without inner loops, whose index is an integer. */
export interface InnerLoop {
  readonly name: string
  /** The name of the index; absent for the loop over iterations. */
  readonly local?: string
  /** The place of its `for` in the source; absent for the loop over iterations. */
  readonly place?: string
  readonly body: readonly Stmt[]
  /** The body as in the source. */
  readonly source: readonly Stmt[]
  readonly step: number
  readonly index: LoopIndex
  /** The local with the end of the loop's range. */
  readonly limit: number
  /** Whether it is the loop over iterations. */
  readonly isRun: boolean
  readonly turns: (known: Turns) => Code
  /** The values of the index, where the loop may be fully unrolled. */
  readonly few?: FewTurns | undefined
  /** Sums that are 0 where the loop begins, and change nowhere else. */
  readonly zeroSums: ReadonlySet<string>
  /** The number of vectors per iteration, where the size of the body does not decide it. */
  readonly vectors?: number
}

/** The index of a loop with few iterations, and its values. */
export interface FewTurns {
  readonly local: string
  readonly label: string | undefined
  readonly values: readonly number[]
}
