/** Memory for what lives no longer than a piece of work. */
import { type NewArray, ordinary } from '../core/data/columnSlices.ts'

export interface Lent {
  readonly newArray: NewArray
  /** Called when what was made so far is not used any more, and buffers of so many bytes are garbage. */
  readonly again: (bytes: number) => void
  /** Makes the memory of the work's result, which lives on. */
  readonly newBytes: (length: number) => Uint8Array
}

/** Ordinary memory, which the garbage collector frees. */
export const LENT_BY_NOBODY: Lent = { newArray: ordinary, again: () => undefined, newBytes: (length) => new Uint8Array(length) }
