/** Memory for what lives no longer than a piece of work. */
import { type NewArray, ordinary } from '../core/data/columnSlices.ts'

export interface Lent {
  readonly newArray: NewArray
  /** What was made so far is not used any more, and buffers of so many bytes are garbage. */
  readonly again: (bytes: number) => void
  /** Makes what the work's result lies in, which lives on. */
  readonly newBytes: (length: number) => Uint8Array
}

/** Memory that the garbage collector has back. */
export const LENT_BY_NOBODY: Lent = { newArray: ordinary, again: () => undefined, newBytes: (length) => new Uint8Array(length) }
