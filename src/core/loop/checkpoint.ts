/**
 * The content of a checkpoint: the passes of each call of a program's loops, and the values of the arrays that these wrote. `io` writes
 * it to files, `exec/ledger` fills and reads it.
 */
import type { TypedArray } from '../data/column.ts'
import type { DType } from '../data/schema.ts'

/** Some rows of an array, in a file of their own. */
export interface KeptRows {
  readonly name: string
  readonly bytes: number
  readonly crc: number
  /** The range of elements, in row-major order without padding; `to` is exclusive. */
  readonly from: number
  readonly to: number
}

/** Elements `from` up to `to` of an array, as they were read. */
export interface ReadRows {
  readonly from: number
  readonly to: number
  readonly values: TypedArray
}

/** The elements of an array in row-major order. */
export interface KeptValues {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly rows: readonly KeptRows[]
}

export interface KeptPass {
  readonly milliseconds: number
  readonly predictedMilliseconds?: number
  readonly balance: number
  readonly waitingMilliseconds?: number
  readonly iterations: number
  readonly workers: number
  readonly accumulators: Readonly<Record<string, number>>
  /** The number of passes that the same loop had before, on which the numbers of an rng depend. */
  readonly before: number
  /** A digest of the body and the values that it captured. */
  readonly captured: string
  /** The content of the arrays that the pass began with; empty for a pass that follows another in the same run. */
  readonly inputs: readonly KeptInput[]
}

/** The content of an array before a pass. `holds` names it: after so many recorded passes, as it was made, or a digest of its values. */
export interface KeptInput {
  readonly label: string
  readonly holds: string
}

/** One call of `run()` or `passes()`. */
export interface KeptCall {
  /** The call's loop, arrays, options and body, a line for each; the call of another program has another text. */
  readonly text: string
  readonly passes: readonly KeptPass[]
}

/** An array that calls wrote, and its values at some states; arrays are in the order in which they were first written. */
export interface KeptArray {
  readonly label: string
  /** The number of recorded passes that have written it. */
  readonly state: number
  /** The values after the pass of that number among those that wrote it. */
  readonly values: readonly (readonly [state: number, values: KeptValues])[]
}

export interface Kept {
  readonly calls: readonly KeptCall[]
  readonly arrays: readonly KeptArray[]
}

/** The files of a checkpoint. */
export interface CheckpointFiles {
  readonly folder: string
  /** Reads the last commit, empty where there is none, and removes all other files. Throws CheckpointError where it is damaged, or another engine's. */
  load(): Promise<Kept>
  write(name: string, values: TypedArray, of: { readonly shape: readonly number[]; readonly dtype: DType }): Promise<KeptValues>
  /** The elements of an array, file by file. */
  read(values: KeptValues): AsyncIterable<ReadRows>
  /** Commits atomically: after a crash the folder has all of it, or the commit before. */
  commit(kept: Kept): Promise<void>
  /** Removes values that no commit names any more. */
  remove(values: readonly KeptValues[]): Promise<void>
  /** Releases the folder, so that another process may take it. */
  release(): Promise<void>
}
