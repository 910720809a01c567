/**
 * The types a loop body sees: what may stand in `env`, and the synchronous view of each entry inside the body.
 *
 * Types only: the views are made by the kernels, or by `exec/loops` for bodies that run as they stand.
 */

import type { DistArray } from '../arrays/distArray.ts'
import type { IndexSpace } from '../arrays/indexSpace.ts'
import type { Key } from '../arrays/keys.ts'
import type { TypedArray } from '../data/column.ts'
import type { Accumulator } from './accumulator.ts'
import type { ArrayView } from './arrayViews.ts'
import type { UpdateBuffer } from './updateBuffer.ts'

/** A counter-based generator for loop bodies: any schedule draws the same numbers. */
export interface Rng {
  readonly kind: 'Rng'
  readonly seed: number
}

// biome-ignore lint/suspicious/noExplicitAny: an env holds arrays of any element and key type; the views keep them apart
type AnyArray = DistArray<any, any>
// biome-ignore lint/suspicious/noExplicitAny: the same for buffers and accumulators
type AnyBuffer = UpdateBuffer<any>
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyAccumulator = Accumulator<any>

/** What a loop's `env` may hold: arrays, buffers, accumulators, generators, constants and pure helper functions. */
export type LoopEnv = Readonly<Record<string, EnvEntry>>
type EnvEntry =
  | AnyArray
  | AnyBuffer
  | AnyAccumulator
  | Rng
  | number
  | bigint
  | boolean
  | string
  | TypedArray
  | ((...args: never[]) => unknown)

/** `E` with a sentence as the type of each entry that no env may hold, so that the compiler reports each such entry once, and what may be there. */
export type CheckedEnv<E> = { readonly [N in keyof E]: Exclude<E[N], undefined> extends EnvEntry ? E[N] : EnvComplaint }
type EnvComplaint =
  'env holds arrays, buffers, accumulators, generators, numbers, booleans, strings, typed arrays and functions, each by its name'

/** The iteration space of a loop: an array or a range. */
export type LoopSource = AnyArray | IndexSpace<Key>
/** The body of a loop over `O`; what it returns replaces the element of an array. */
export type LoopBody<O, E> =
  O extends IndexSpace<infer K>
    ? (key: K, env: LoopViews<E>) => void
    : O extends DistArray<infer T, infer K>
      ? (value: T, key: K, env: LoopViews<E>) => T | void
      : never

/** The type of each entry of `env` inside the body: views for arrays, buffers, accumulators and generators, itself for all else. */
export type LoopViews<E> = {
  readonly [N in keyof E]: E[N] extends DistArray<infer T, infer K>
    ? ArrayView<T, K>
    : E[N] extends UpdateBuffer<infer K>
      ? Pick<ArrayView<number, K>, 'get' | 'add' | 'row'>
      : E[N] extends Accumulator<infer V>
        ? { add(value: V): void }
        : E[N] extends Rng
          ? { uniform(): number; normal(): number; int(below: number): number }
          : E[N]
}
