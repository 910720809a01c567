/**
 * The load of a schedule's blocks for sparse data, and the length of the critical path through them.
 *
 *     user 7 has half of all ratings      1d on users: one block has half      1d on movies: even blocks
 *     ratings along a diagonal            wavefront: one block after another   2d: the whole diagonal together
 *
 * Blocks are cut here as the runtime cuts them, by the histogram of each axis, and the elements in each are counted. Of much data
 * a sample is counted, always the same one: what it says of a block is right within a few hundredths of the whole.
 */
import { cutByHistogram, cutEqual, rangeAlong, type Subscripted } from '../loop/partitioning.ts'
import type { Form } from '../loop/schedules.ts'
import { CUT_ORDERS, cutFormsOf } from '../loop/schedules.ts'
import { type Grid, longestWay } from './longestWay.ts'

/** The keys of sparse elements: all of them, or a sample. */
export interface KeySample {
  /** The components of the keys, a column for each axis, in key order. */
  readonly keys: readonly Int32Array[]
  readonly length: number
  readonly isWhole: boolean
}

/** The most elements of a sample: a hundred for each of 256 blocks. */
const MOST_SAMPLED = 2 ** 15

/** The samples by first key column. Key columns are never overwritten: adding keys makes new ones. */
const samples = new WeakMap<Int32Array, KeySample>()

/** The sample of a sparse array's keys, cached by its key columns. */
export function sampleOf(keys: readonly Int32Array[], most: number = MOST_SAMPLED): KeySample {
  const [first] = keys
  const length = first?.length ?? 0
  if (first === undefined) return { keys, length, isWhole: true }
  const known = samples.get(first)
  if (known?.length === Math.min(length, most)) return known
  const sample = length <= most ? { keys, length, isWhole: true } : sampled(keys, placesIn(length, most))
  samples.set(first, sample)
  return sample
}

function sampled(keys: readonly Int32Array[], places: Int32Array): KeySample {
  const taken = keys.map((column) => {
    const some = new Int32Array(places.length)
    for (let i = 0; i < places.length; i++) some[i] = column[places[i]!]!
    return some
  })
  return { keys: taken, length: places.length, isWhole: false }
}

/** Stratified positions, one at a hashed place in each stretch of equal length: a fixed step would meet the same column in every row. */
function placesIn(length: number, most: number): Int32Array {
  const stretch = length / most
  const places = new Int32Array(most)
  for (let i = 0; i < most; i++) {
    const within = (Math.imul(i + 1, 0x9e3779b1) >>> 0) / 2 ** 32
    places[i] = Math.floor((i + within) * stretch)
  }
  return places
}

/** The sample to count, and the rule by which its axes are cut. */
export interface Loads {
  readonly sample: KeySample
  readonly extents: readonly number[]
  readonly balance: 'histogram' | 'equal'
}

/** The least sampled elements per block that tell its load. */
const LEAST_IN_BLOCK = 8

/** A cut of sparse data: the first `outer` axes run in order, and `counts` has the steps along each of them, then the blocks along each cut inside a step. */
export interface Cut {
  readonly inner: Subscripted
  readonly outer: number
  readonly counts: readonly number[]
}

/** The shares found for a sample: a body that captures another number for each pass is analysed again for each, but its elements are counted once. */
const shares = new WeakMap<KeySample, Map<string, number | undefined>>()

/** The fraction of all elements on the critical path through the blocks; undefined where the sample is too small to tell. */
export function loadShare(cut: Cut, loads: Loads, workers: number): number | undefined {
  const known = shares.get(loads.sample) ?? new Map<string, number | undefined>()
  shares.set(loads.sample, known)
  const id = JSON.stringify([cut, loads.extents, loads.balance, workers])
  if (!known.has(id)) known.set(id, countedShare(cut, loads, workers))
  return known.get(id)
}

function countedShare({ inner, outer, counts }: Cut, loads: Loads, workers: number): number | undefined {
  const { sample, extents } = loads
  const steps = productOf(counts.slice(0, outer))
  const [rows = 1, columns = 1] = counts.slice(outer)
  const inStep = rows * columns
  if (sample.length === 0 || (!sample.isWhole && sample.length < steps * inStep * LEAST_IN_BLOCK)) return undefined
  const cuts = cutFormsOf(inner, extents.length).map((form, i) => cutAlong(form, counts[outer + i] ?? 1, loads))
  const sizes = new Float64Array(steps * inStep)
  for (let at = 0; at < sample.length; at++) {
    let block = 0
    for (let axis = 0; axis < outer; axis++) block = block * (extents[axis] as number) + sample.keys[axis]![at]!
    for (const [i, { partOf, values, low, width }] of cuts.entries())
      block = block * (i === 0 ? rows : columns) + partOf[Math.floor((values[at]! - low) / width)]!
    sizes[block]!++
  }
  const grid: Omit<Grid, 'sizes'> = { order: CUT_ORDERS[inner.kind], rows, columns }
  let longest = 0
  for (let step = 0; step < steps; step++)
    longest += longestWay({ ...grid, sizes: sizes.subarray(step * inStep, (step + 1) * inStep) }, workers)
  return longest / sample.length
}

/** The most counters of an axis: on longer ones, neighbouring values are counted together. */
const MOST_COUNTED = 2 ** 17

interface AxisCut {
  /** The value of the form at each element. */
  readonly values: Int32Array
  readonly low: number
  /** The number of neighbouring values that share a counter. */
  readonly width: number
  readonly partOf: Int32Array
}

function cutAlong(form: Form, parts: number, { sample, extents, balance }: Loads): AxisCut {
  const [low, high] = rangeAlong(form, extents)
  const width = Math.max(1, Math.ceil((high - low) / MOST_COUNTED))
  const counted = Math.ceil((high - low) / width)
  const values = valuesOf(form, sample)
  const counts = new Uint32Array(counted)
  if (balance === 'histogram') for (let at = 0; at < values.length; at++) counts[Math.floor((values[at]! - low) / width)]!++
  const bounds = balance === 'histogram' ? cutByHistogram(counts, parts) : cutEqual(counted, parts)
  const partOf = new Int32Array(counted)
  for (let part = 0; part < parts; part++) partOf.fill(part, bounds[part], bounds[part + 1])
  return { values, low, width, partOf }
}

function valuesOf(form: Form, { keys, length }: KeySample): Int32Array {
  const axes = form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [axis]))
  const [axis = 0] = axes
  if (axes.length === 1 && form[axis] === 1) return keys[axis] as Int32Array
  const values = new Int32Array(length)
  for (const axis of axes) for (let at = 0; at < length; at++) values[at]! += (form[axis] as number) * keys[axis]![at]!
  return values
}

function productOf(numbers: readonly number[]): number {
  return numbers.reduce((product, number) => product * number, 1)
}
