/**
 * Updates that wait: a buffer that is flushed between rounds brings in what a round added `staleness` rounds later than the next
 * one begins, and no more elements at a time than its budget has room for.
 *
 *     round      0     1     2     3                                       staleness 1
 *     adds       u0    u1    u2    u3
 *     reads      a     a     a+u0  a+u0+u1     and after the pass a+u0+u1+u2+u3
 *
 * With a budget, what is due joins what is left of earlier flushes; of that the elements whose update is largest beside their own
 * size go first, ties by place (the managed communication of Wei et al., "Managed Communication and Consistency for Fast
 * Data-Parallel Iterative Analytics", SoCC 2015). Counted in rounds, who waits is the same in every run.
 */
import type { TypedArray } from '../../../core/data/column.ts'
import type { DType } from '../../../core/data/schema.ts'

/** How a buffer is flushed in the middle of a pass. */
export interface Rounds {
  /** In a pass; 2 or more. */
  readonly count: number
  /** Rounds that updates are late. */
  readonly staleness: number
  /** Elements that a flush may bring in; Infinity without a budget. */
  readonly most: number
}

/** Joined updates of an array's elements; `touched` where it takes a mark to tell which have one. */
export interface Updates {
  readonly data: TypedArray
  readonly touched?: Uint8Array
}

/** The updates of one buffer that wait. */
export interface LateUpdates {
  readonly rounds: Rounds
  /** Those of the last rounds, in a ring of `staleness` places. */
  readonly ring: readonly Updates[]
  /** Rounds of this pass that are over. */
  over: number
  /** What flushes had no room for; undefined without a budget. */
  readonly rest: Updates | undefined
  /** Updates that a flush left for the next one, in this pass. */
  delayed: number
}

/** Beside it an update's size is looked at where the element is 0. */
const LEAST_SIZE = 1e-9

export function createLate(
  rounds: Rounds,
  {
    length,
    dtype,
    touched,
    allocate,
  }: {
    readonly length: number
    readonly dtype: DType
    readonly touched: boolean
    readonly allocate: (dtype: DType, length: number) => TypedArray
  },
): LateUpdates {
  const updates = (): Updates => ({ data: allocate(dtype, length), ...(touched ? { touched: allocate('u8', length) as Uint8Array } : {}) })
  const ring = Array.from({ length: rounds.staleness }, updates)
  return { rounds, ring, over: 0, rest: Number.isFinite(rounds.most) ? emptied(updates()) : undefined, delayed: 0 }
}

/** Before a pass: one that came to no end has left updates. */
export function resetLate(late: LateUpdates): void {
  if (late.rest !== undefined) emptied(late.rest)
  late.over = 0
  late.delayed = 0
}

/** No updates: -0 is the identity of addition. */
export function emptied(updates: Updates): Updates {
  if (updates.data instanceof BigInt64Array) updates.data.fill(0n)
  else updates.data.fill(-0)
  updates.touched?.fill(0)
  return updates
}

/** What joins updates, and brings them in. */
export interface Flush {
  /** The array's elements. */
  readonly elements: TypedArray
  /** Adds the updates `from` to those of `into`. */
  join(into: Updates, from: Updates): void
  /** Brings updates into the array. */
  apply(updates: Updates): void
}

/** At the end of a round that is not the last: `added` in it is taken over, and what is due is brought in. */
export function flushRound(late: LateUpdates, added: Updates, flush: Flush): void {
  const { ring, rounds } = late
  const place = late.over++ % Math.max(1, rounds.staleness)
  const slot = ring[place]
  if (slot === undefined) {
    bringIn(late, added, flush)
    return
  }
  if (late.over > rounds.staleness) bringIn(late, slot, flush)
  slot.data.set(added.data as never) // of one class
  slot.touched?.set(added.touched ?? [])
}

/** At the end of a pass: everything, in the order of the rounds. */
export function flushRest(late: LateUpdates, added: Updates, flush: Flush): void {
  const { ring, rounds, rest } = late
  const waiting = Math.min(late.over, rounds.staleness)
  const due = Array.from({ length: waiting }, (_, i) => ring[(late.over - waiting + i) % rounds.staleness] as Updates)
  if (rest === undefined) {
    for (const updates of [...due, added]) flush.apply(updates)
    return
  }
  for (const updates of [...due, added]) flush.join(rest, updates)
  flush.apply(rest)
  emptied(rest)
}

function bringIn(late: LateUpdates, due: Updates, flush: Flush): void {
  const { rest, rounds } = late
  if (rest === undefined) {
    flush.apply(due)
    return
  }
  flush.join(rest, due)
  const waiting = placesOf(rest)
  if (waiting.length <= rounds.most) {
    flush.apply(rest)
    emptied(rest)
    return
  }
  const chosen = largest(waiting, rest, flush.elements, rounds.most)
  const first = only(rest, chosen)
  flush.apply(first)
  for (const place of chosen) {
    rest.data[place] = (rest.data instanceof BigInt64Array ? 0n : -0) as never // as the array holds
    if (rest.touched !== undefined) rest.touched[place] = 0
  }
  late.delayed += waiting.length - chosen.length
}

/** Of the elements that have an update. */
function placesOf({ data, touched }: Updates): Uint32Array {
  const places = new Uint32Array(data.length)
  let count = 0
  for (let place = 0; place < data.length; place++) {
    const has = touched === undefined ? Number(data[place]) !== 0 : touched[place] !== 0
    if (has) places[count++] = place
  }
  return places.subarray(0, count)
}

/** The places of the `most` updates that are largest beside their elements, in the order of places; there are more places than that. */
function largest(places: Uint32Array, { data }: Updates, elements: TypedArray, most: number): Uint32Array {
  const sizes = new Float64Array(places.length)
  for (let i = 0; i < places.length; i++) {
    const place = places[i] as number
    const size = Math.abs(Number(data[place])) / (Math.abs(Number(elements[place])) + LEAST_SIZE)
    sizes[i] = Number.isNaN(size) ? Number.POSITIVE_INFINITY : size
  }
  const least = nthLargest(sizes.slice(), most)
  let ties = most
  for (let i = 0; i < sizes.length; i++) if ((sizes[i] as number) > least) ties--
  return places.filter((_, i) => (sizes[i] as number) > least || (sizes[i] === least && ties-- > 0))
}

/** Rearranges the values (C. A. R. Hoare, "Algorithm 65: Find", 1961). */
function nthLargest(values: Float64Array, n: number): number {
  const wanted = values.length - n
  let [low, high] = [0, values.length - 1]
  while (low < high) {
    const pivot = values[(low + high) >>> 1] as number
    let [i, j] = [low, high]
    while (i <= j) {
      while ((values[i] as number) < pivot) i++
      while ((values[j] as number) > pivot) j--
      if (i > j) break
      const value = values[i] as number
      values[i++] = values[j] as number
      values[j--] = value
    }
    if (wanted <= j) high = j
    else if (wanted >= i) low = i
    else break
  }
  return values[wanted] as number
}

/** The updates of these places, and none elsewhere. */
function only({ data, touched }: Updates, places: Uint32Array): Updates {
  const found = emptied({ data: data.slice() as TypedArray, ...(touched === undefined ? {} : { touched: new Uint8Array(touched.length) }) })
  for (const place of places) {
    found.data[place] = data[place] as never // of one class
    if (found.touched !== undefined) found.touched[place] = 1
  }
  return found
}
