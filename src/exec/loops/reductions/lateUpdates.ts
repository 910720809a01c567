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
  /** The number of rounds in a pass; 2 or more. */
  readonly count: number
  /** By how many rounds updates are late. */
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
  /** The updates of the last rounds, in a ring of `staleness` places. */
  readonly ring: readonly Updates[]
  /** Rounds of this pass that are over. */
  over: number
  /** The updates that flushes had no room for; undefined without a budget. */
  readonly rest: Updates | undefined
  /** Updates that a flush left for the next one, in this pass. */
  delayed: number
}

/** Added to the size of an element, to which that of an update is compared: the element may be 0. */
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

/** Drops the updates that wait, before a pass: one that came to no end has left some. */
export function resetLate(late: LateUpdates): void {
  if (late.rest !== undefined) emptied(late.rest)
  late.over = 0
  late.delayed = 0
}

/** Drops the updates, and returns their memory: -0 is the identity of addition. */
export function emptied(updates: Updates): Updates {
  if (updates.data instanceof BigInt64Array) updates.data.fill(0n)
  else updates.data.fill(-0)
  updates.touched?.fill(0)
  return updates
}

/** The two operations of a flush: to join updates, and to bring them into the array. */
export interface Flush {
  /** The array's elements. */
  readonly elements: TypedArray
  /** Adds the updates `from` to those of `into`. */
  join(into: Updates, from: Updates): void
  /** Brings updates into the array. */
  apply(updates: Updates): void
}

/** Ends a round that is not the last: takes over the updates `added` in it, and brings in those that are due. */
export function flushRound(late: LateUpdates, added: Updates, flush: Flush): void {
  const waiting = takeOver(late, added, flush)
  if (waiting === undefined) return
  const { sizes } = waiting
  bringIn(late, chosenOf(waiting, [{ count: sizes.length, sizes }], 0, late), flush)
}

/** Takes over a round's updates and brings in those that are due; with a budget returns what waits, to choose from for `bringIn`. */
export function takeOver(late: LateUpdates, added: Updates, flush: Flush): Waiting | undefined {
  const { ring, rounds, rest } = late
  const slot = ring[late.over++ % Math.max(1, rounds.staleness)]
  const isDue = late.over > rounds.staleness
  const into = (updates: Updates): void => (rest === undefined ? flush.apply(updates) : flush.join(rest, updates))
  if (isDue) into(slot ?? added)
  if (slot !== undefined) {
    slot.data.set(added.data as never) // of one class
    slot.touched?.set(added.touched ?? [])
  }
  return isDue && rest !== undefined ? waitingOf(rest, flush.elements) : undefined
}

/** Ends a pass: brings in all updates, in the order of the rounds. */
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

/** Brings in the updates that wait at these places, or all that wait. */
export function bringIn(late: LateUpdates, places: Uint32Array | undefined, flush: Flush): void {
  const { rest } = late
  if (rest === undefined) return
  if (places === undefined) {
    flush.apply(rest)
    emptied(rest)
    return
  }
  flush.apply(only(rest, places))
  for (const place of places) {
    rest.data[place] = (rest.data instanceof BigInt64Array ? 0n : -0) as never // as the array holds
    if (rest.touched !== undefined) rest.touched[place] = 0
  }
}

/** Places that have an update, in their order, and how large each is beside its element. */
export interface Waiting {
  readonly places: Uint32Array
  readonly sizes: Float64Array
}

function waitingOf(rest: Updates, elements: TypedArray): Waiting {
  const places = placesOf(rest)
  const sizes = Float64Array.from(places, (place) => {
    const size = Math.abs(Number(rest.data[place])) / (Math.abs(Number(elements[place])) + LEAST_SIZE)
    return Number.isNaN(size) ? Number.POSITIVE_INFINITY : size
  })
  return { places, sizes }
}

/** The summary of a stretch of an array for other processes: how many elements have an update, and the largest sizes of these. */
export interface Stretch {
  readonly count: number
  readonly sizes: Float64Array
}

/** Sums up what waits here for others, with the `most` largest sizes: no more updates can be brought in. */
export function stretchOf({ sizes }: Waiting, most: number): Stretch {
  const count = sizes.length
  if (count <= most) return { count, sizes }
  const least = nthLargest(sizes.slice(), most)
  const largest = new Float64Array(most).fill(least)
  largest.set(sizes.filter((size) => size > least))
  return { count, sizes: largest }
}

/**
 * The places of a stretch of an array that are among those with the largest updates, ties by place; undefined where a flush has room for
 * all that waits. `all` are the stretches of the array in order, `own` the number of this one. Counts the updates that have no room.
 */
export function chosenOf(
  { places, sizes }: Waiting,
  all: readonly Stretch[],
  own: number,
  late: Pick<LateUpdates, 'rounds' | 'delayed'>,
): Uint32Array | undefined {
  const { most } = late.rounds
  const count = all.reduce((sum, one) => sum + one.count, 0)
  if (count <= most) return undefined
  late.delayed += count - most
  const joined = new Float64Array(all.reduce((sum, one) => sum + one.sizes.length, 0))
  let at = 0
  for (const one of all) {
    joined.set(one.sizes, at)
    at += one.sizes.length
  }
  const least = nthLargest(joined.slice(), most)
  let ties = most
  for (const size of joined) if (size > least) ties--
  for (const before of all.slice(0, own)) for (const size of before.sizes) if (size === least) ties--
  return places.filter((_, i) => (sizes[i] as number) > least || (sizes[i] === least && ties-- > 0))
}

/** The places of the elements that have an update. */
function placesOf({ data, touched }: Updates): Uint32Array {
  const places = new Uint32Array(data.length)
  let count = 0
  for (let place = 0; place < data.length; place++) {
    const has = touched === undefined ? Number(data[place]) !== 0 : touched[place] !== 0
    if (has) places[count++] = place
  }
  return places.subarray(0, count)
}

/** The n-th largest value; rearranges the values (C. A. R. Hoare, "Algorithm 65: Find", 1961). */
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

/** A copy with the updates of these places, and none elsewhere. */
function only({ data, touched }: Updates, places: Uint32Array): Updates {
  const found = emptied({ data: data.slice() as TypedArray, ...(touched === undefined ? {} : { touched: new Uint8Array(touched.length) }) })
  for (const place of places) {
    found.data[place] = data[place] as never // of one class
    if (found.touched !== undefined) found.touched[place] = 1
  }
  return found
}
