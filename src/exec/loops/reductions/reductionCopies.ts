/**
 * Reduction copies of arrays that a loop only adds to, and of update buffers: one copy a lane, combined by the fixed
 * tree over lanes and then brought into the array.
 *
 * Float copies start at -0, the identity of addition, so that elements nobody adds to keep their bits.
 */

import { ARRAY_OF_DTYPE, type DenseStorage, lengthOf } from '../../../core/arrays/storage.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'
import { helperError } from '../failure.ts'
import {
  bringIn,
  createLate,
  emptied,
  type Flush,
  flushRest,
  flushRound,
  type LateUpdates,
  type Rounds,
  resetLate,
  takeOver,
  type Updates,
  type Waiting,
} from './lateUpdates.ts'

/** The reduction copies of one array or buffer. */
export interface Lanes {
  readonly target: DenseStorage
  /** `count` copies, one behind the other. */
  readonly data: TypedArray
  /** Elements of one copy; the target's padded length. */
  readonly length: number
  /** Elements from one copy to the next, where copies are pieces of longer ones; otherwise they are `length` apart. */
  readonly stride?: number
  readonly count: number
  /** Which elements of which copy were added to, where `combine` or `apply` are the user's. */
  readonly touched?: Uint8Array
  readonly combine?: (a: number, b: number) => number
  readonly apply?: (current: number, update: number) => number
  /** Iterations of the serial order between flushes; without, there is one at the end of the pass. */
  readonly flushEvery?: number
  /** The updates that wait, where a buffer is flushed between rounds. */
  readonly late?: LateUpdates
}

/** The dtype of a buffer's copies: updates are numbers, not yet elements. */
export function dtypeOfUpdates(dtype: DType | 'object'): DType {
  return dtype === 'i64' ? 'i64' : 'f64'
}

/** Empties all copies. */
export function resetLanes(lanes: Lanes): void {
  const { data } = lanes
  if (data instanceof BigInt64Array) data.fill(0n)
  else data.fill(-0)
  lanes.touched?.fill(0)
}

/** Readies all copies for a pass: no updates, and none that wait. */
export function startLanes(all: readonly Lanes[]): void {
  for (const lanes of all) {
    resetLanes(lanes)
    if (lanes.late !== undefined) resetLate(lanes.late)
  }
}

/** Flushes and empties the copies whose delay ends after so many iterations of the serial order. */
export function flushDue(all: readonly Lanes[], iterations: number): void {
  for (const lanes of all) {
    if (lanes.flushEvery === undefined || iterations % lanes.flushEvery !== 0) continue
    flushLanes(lanes)
    resetLanes(lanes)
  }
}

/** Flushes and empties the copies that are flushed between rounds, at the end of a round that is not a pass's last. */
export function endRound(all: readonly Lanes[]): void {
  for (const lanes of all) {
    if (lanes.late === undefined) continue
    flushOfRound(lanes)
    resetLanes(lanes)
  }
}

/** Flushes copies between two rounds, without emptying them. */
export function flushOfRound(lanes: Lanes): void {
  if (lanes.late === undefined) return
  joinAll(lanes)
  flushRound(lanes.late, copyOfLane(lanes, 0), flushOf(lanes))
}

/** Flushes a piece between two rounds. Returns what waits where a budget is shared by all pieces, which decide together what goes in. */
export function waitingOfRound(lanes: Lanes): Waiting | undefined {
  if (lanes.late === undefined) return undefined
  joinAll(lanes)
  return takeOver(lanes.late, copyOfLane(lanes, 0), flushOf(lanes))
}

/** Brings in the places that were chosen from what waits, or all. */
export function flushChosen(lanes: Lanes, places: Uint32Array | undefined): void {
  if (lanes.late !== undefined) bringIn(lanes.late, places, flushOf(lanes))
}

/** Elements `from` up to `to` of a target and its copies, as if there were no others, in a pass that begins. */
export function pieceOf(lanes: Lanes, from: number, to: number): Lanes {
  const { target, late, touched } = lanes
  const piece = (updates: Updates): Updates => partOf(updates, from, to)
  return {
    ...lanes,
    target: { ...target, shape: [to - from], strides: [1], data: target.data.subarray(from, to) as TypedArray },
    data: lanes.data.subarray(from) as TypedArray,
    length: to - from,
    stride: lanes.stride ?? lanes.length,
    ...(touched === undefined ? {} : { touched: touched.subarray(from) }),
    ...(late === undefined ? {} : { late: { ...late, ring: late.ring.map(piece), rest: late.rest && piece(late.rest), over: 0 } }),
  }
}

/** Empties the copies of some lanes, and some elements of those of all others. */
export function resetPiece(
  lanes: Lanes,
  own: { readonly lanes: readonly [from: number, to: number]; readonly elements: readonly [from: number, to: number] },
): void {
  const [first, end] = own.lanes
  for (let lane = 0; lane < lanes.count; lane++) {
    const [from, to] = lane >= first && lane < end ? [0, lanes.length] : own.elements
    emptied(partOf(copyOfLane(lanes, lane), from as number, to as number)) // pairs
  }
}

/** Empties copies between two rounds, where another process brings in what was added. */
export function resetRound(all: readonly Lanes[]): void {
  for (const lanes of all) if (lanes.late !== undefined) resetLanes(lanes)
}

/** Combines the copies and brings them into the target, with all that waits. */
export function flushLanes(lanes: Lanes): void {
  joinAll(lanes)
  const added = copyOfLane(lanes, 0)
  if (lanes.late === undefined) apply(lanes, added)
  else flushRest(lanes.late, added, flushOf(lanes))
}

/** The number of updates that flushes left for later ones; undefined where none has a budget. */
export function delayedOf(all: readonly Lanes[]): number | undefined {
  const counts = all.flatMap(({ late }) => (late?.rest === undefined ? [] : late.delayed))
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0)
}

/** Joins all copies into the first, by the fixed tree. */
function joinAll(lanes: Lanes): void {
  const copies = Array.from({ length: lanes.count }, (_, lane) => copyOfLane(lanes, lane))
  for (const [lane, other] of joinsOf(lanes.count)) join(lanes, copies[lane] as Updates, copies[other] as Updates)
}

/** The fixed tree as joins in order: the copy of `other` into that of `lane`, which then has all of `lane` up to `end`. */
function joinsOf(count: number): (readonly [lane: number, other: number, end: number])[] {
  const joins: (readonly [number, number, number])[] = []
  for (let step = 1; step < count; step *= 2) {
    for (let lane = 0; lane + step < count; lane += 2 * step) joins.push([lane, lane + step, Math.min(lane + 2 * step, count)])
  }
  return joins
}

/** The lanes of `first` up to `end` whose copies together hold everything, after the joins that lie inside that range. */
export function rootsOf(count: number, first: number, end: number): number[] {
  const roots = new Set(Array.from({ length: end - first }, (_, i) => first + i))
  for (const [lane, other, reach] of joinsOf(count)) if (lane >= first && reach <= end) roots.delete(other)
  return [...roots]
}

/** The roots of these copies; all lanes where a user's function joins them, which is done in the process that has the program. */
export function rootsAmong({ count, combine }: Lanes, [first, end]: readonly [number, number]): number[] {
  return combine === undefined ? rootsOf(count, first, end) : Array.from({ length: end - first }, (_, i) => first + i)
}

/** Does those joins of the fixed tree that lie inside lanes `first` up to `end`, for some elements: no other lane takes part. */
export function joinAmong(
  lanes: Lanes,
  [first, end]: readonly [number, number],
  [from, to]: readonly [number, number] = [0, lanes.length],
): void {
  const piece = (lane: number): Updates => partOf(copyOfLane(lanes, lane), from, to)
  for (const [lane, other, reach] of joinsOf(lanes.count)) if (lane >= first && reach <= end) join(lanes, piece(lane), piece(other))
}

function partOf({ data, touched }: Updates, from: number, to: number): Updates {
  return { data: data.subarray(from, to) as TypedArray, ...(touched === undefined ? {} : { touched: touched.subarray(from, to) }) }
}

function copyOfLane({ data, touched, length, stride = length }: Lanes, lane: number): Updates {
  const [from, to] = [lane * stride, lane * stride + length]
  return { data: data.subarray(from, to) as TypedArray, ...(touched === undefined ? {} : { touched: touched.subarray(from, to) }) }
}

function flushOf(lanes: Lanes): Flush {
  return {
    elements: lanes.target.data,
    join: (into, from) => join(lanes, into, from),
    apply: (updates) => apply(lanes, updates),
  }
}

function apply(lanes: Lanes, updates: Updates): void {
  if (updates.touched !== undefined) applyTouched(lanes, updates.data, updates.touched)
  else if (lanes.target.dtype === 'bool') addBools(lanes.target.data, updates.data, lanes.length)
  else addInto(lanes.target.data, updates.data)
}

function join(lanes: Lanes, into: Updates, from: Updates): void {
  const { touched } = from
  if (touched === undefined || into.touched === undefined) {
    addInto(into.data, from.data)
    return
  }
  for (let i = 0; i < touched.length; i++) {
    if (touched[i] === 0) continue
    const update = from.data[i] as number
    into.data[i] = (into.touched[i] === 0 ? update : joined(lanes, into.data[i] as number, update)) as never // numbers, or bigints of i64
    into.touched[i] = 1
  }
}

function joined(lanes: Lanes, a: number, b: number): number {
  if (lanes.combine === undefined) return a + b
  try {
    return lanes.combine(a, b)
  } catch (error) {
    throw helperError("A buffer's combine function", error)
  }
}

function applyTouched(lanes: Lanes, updates: TypedArray, touched: Uint8Array): void {
  const { data } = lanes.target
  const bool = lanes.target.dtype === 'bool'
  for (let i = 0; i < lanes.length; i++) {
    if (touched[i] === 0) continue
    const current = data[i] as number
    const update = updates[i] as number
    const value = applied(lanes, current, update)
    data[i] = (bool ? (value ? 1 : 0) : value) as never // stores as the array does
  }
}

function applied({ apply }: Lanes, current: number, update: number): number {
  if (apply === undefined) return current + update
  try {
    return apply(current, update)
  } catch (error) {
    throw helperError("A buffer's apply function", error)
  }
}

function addBools(target: TypedArray, updates: TypedArray, length: number): void {
  for (let i = 0; i < length; i++) target[i] = (target[i] as number) + (updates[i] as number) ? 1 : 0
}

/** target[i] += source[i]; one loop for each class of array would be faster, but this runs once a pass, or a round. */
function addInto(target: TypedArray, source: TypedArray): void {
  const length = source.length
  if (target instanceof BigInt64Array) {
    for (let i = 0; i < length; i++) target[i] = (target[i] as bigint) + (source[i] as bigint)
    return
  }
  const [a, b] = [target as Float64Array, source as Float64Array] // both hold numbers: i64 is done above
  for (let i = 0; i < length; i++) a[i] = (a[i] as number) + (b[i] as number)
}

/** Copies for a target; `allocate` gives zeroed memory for so many elements of a dtype. */
export function createLanes(
  target: DenseStorage,
  count: number,
  options: Pick<Lanes, 'combine' | 'apply' | 'flushEvery'> & {
    readonly rounds?: Rounds
    readonly dtype: DType
    readonly touched: boolean
    readonly allocate: (dtype: DType, length: number) => TypedArray
  },
): Lanes {
  const length = lengthOf(target)
  return {
    target,
    count,
    length,
    data: options.allocate(options.dtype, length * count),
    ...(options.touched ? { touched: options.allocate('u8', length * count) as Uint8Array } : {}),
    ...(options.combine === undefined ? {} : { combine: options.combine }),
    ...(options.apply === undefined ? {} : { apply: options.apply }),
    ...(options.flushEvery === undefined ? {} : { flushEvery: options.flushEvery }),
    ...(options.rounds === undefined ? {} : { late: createLate(options.rounds, { ...options, length }) }),
  }
}

/** Ordinary memory, for runs on the caller's thread. */
export function allocatePlain(dtype: DType, length: number): TypedArray {
  return new ARRAY_OF_DTYPE[dtype](length)
}
