/** An innermost loop, as the ways to write it are chosen by. */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import type { Code } from '../../kir/instructions.ts'
import type { WasmType } from '../expressions/types.ts'
import type { LoopIndex } from './wasmLoopAccess.ts'

/** What is known of a loop before it is written turn by turn. */
export interface Turns {
  /** Whether another turn follows. */
  readonly test?: Code
  readonly before?: Code
  /** Where a turn ends. */
  readonly after?: Code
  /** What the turns do, where it is not all that the source says: the body between borders, and its index there. */
  readonly body?: readonly Stmt[]
  readonly seen?: WasmType
}

/** A loop without loops in it, whose index is an integer. */
export interface InnerLoop {
  readonly name: string
  /** The name of its index; absent where a turn is an iteration. */
  readonly local?: string
  /** Of its `for`; absent where a turn is an iteration. */
  readonly place?: string
  readonly body: readonly Stmt[]
  /** The body as the source has it. */
  readonly source: readonly Stmt[]
  readonly step: number
  readonly index: LoopIndex
  /** The local that holds where it ends. */
  readonly limit: number
  /** Whether a turn is an iteration. */
  readonly isRun: boolean
  readonly turns: (known: Turns) => Code
  /** What may be written out turn by turn. */
  readonly few?: FewTurns | undefined
  /** Sums that are 0 where the loop begins, and change nowhere else. */
  readonly zeroSums: ReadonlySet<string>
  /** How many vectors are computed at a time, where it is not what the size of the body says. */
  readonly vectors?: number
}

/** Where a loop takes few values, which are known: the index, and they. */
export interface FewTurns {
  readonly local: string
  readonly label: string | undefined
  readonly values: readonly number[]
}
