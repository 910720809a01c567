/**
 * What a checkpoint keeps of a program's loops: the passes of each of its calls, and what the arrays that these wrote held then. Written
 * to files by `io`, filled and read by `exec/ledger`.
 */
import type { TypedArray } from '../data/column.ts'
import type { DType } from '../data/schema.ts'

/** Some rows of an array, in a file of their own. */
export interface KeptRows {
  readonly name: string
  readonly bytes: number
  readonly crc: number
  /** Elements in row-major order. */
  readonly from: number
  readonly to: number
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
  readonly iterations: number
  readonly workers: number
  readonly accumulators: Readonly<Record<string, number>>
  /** How many passes the same loop had before: what an rng gives depends on it. */
  readonly before: number
  /** A digest of what the body captured. */
  readonly captured: string
  /** What the arrays held that it began with, by name; nothing for what the pass before it in the same run has left. */
  readonly inputs: readonly KeptInput[]
}

/** An array as a pass found it: as some number of recorded passes left it, as it was made, or a digest of its values. */
export interface KeptInput {
  readonly label: string
  readonly holds: string
}

/** One call of `run()` or `passes()`. */
export interface KeptCall {
  /** What it was called with and on, a line a fact: another program's call has another text. */
  readonly text: string
  readonly passes: readonly KeptPass[]
}

/** An array, by the order in which calls first wrote it. */
export interface KeptArray {
  readonly label: string
  /** How many of the passes have written it. */
  readonly state: number
  /** What it held after so many of them. */
  readonly values: readonly (readonly [state: number, values: KeptValues])[]
}

export interface Kept {
  readonly calls: readonly KeptCall[]
  readonly arrays: readonly KeptArray[]
}

/** The files of a checkpoint. */
export interface CheckpointFiles {
  readonly folder: string
  /** What was committed last, be it nothing; all else is removed. CheckpointError for what is damaged, or another engine's. */
  load(): Promise<Kept>
  write(name: string, values: TypedArray, of: { readonly shape: readonly number[]; readonly dtype: DType }): Promise<KeptValues>
  read(values: KeptValues): Promise<TypedArray>
  /** All of it or nothing, whatever happens meanwhile. */
  commit(kept: Kept): Promise<void>
  /** Values that no commit names any more. */
  remove(values: readonly KeptValues[]): Promise<void>
  /** Others may take the folder. */
  release(): Promise<void>
}
