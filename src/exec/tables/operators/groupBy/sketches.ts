/**
 * Sketches: summaries of values that estimate how many different ones there are, or which value is at a place in their order,
 * without keeping the values.
 *
 *     DistinctSketch   the hashes themselves, up to 256; of more, HyperLogLog: 4,096 registers of a byte
 *     QuantileSketch   the numbers themselves, up to 128; of more, how many lie in each bucket, whose ends are 1/64 apart
 *
 * A sketch depends on the set, or the multiset, of the values added, not on their order or on how they were partitioned. No logarithm is
 * computed, since engines differ in their last bits: the bucket of a number is its highest bits.
 *
 * Flajolet, Fusy, Gandouet, Meunier: HyperLogLog (2007); Ertl: New cardinality estimation algorithms for HyperLogLog sketches (2017),
 * algorithm 6; Masson, Rim, Lee: DDSketch (2019).
 */

/** 2^12 registers: a standard error of 1.04 / 64, which is 1.6 %. */
const REGISTER_BITS = 12
const REGISTERS = 2 ** REGISTER_BITS
/** Bits of a hash behind those that choose the register. */
const RANKED_BITS = 53 - REGISTER_BITS
/** The most different hashes that are kept themselves. */
export const EXACT_HASHES = 256

/** Estimates how many different hashes were added. Hashes are whole numbers of 53 bits. */
export class DistinctSketch {
  private few: Set<number> | undefined = new Set()
  private registers: Uint8Array | undefined

  add(hash: number): void {
    if (this.registers !== undefined) {
      this.rank(this.registers, hash)
      return
    }
    const few = this.few as Set<number> // there is the one or the other
    few.add(hash)
    if (few.size <= EXACT_HASHES) return
    const registers = new Uint8Array(REGISTERS)
    for (const one of few) this.rank(registers, one)
    this.registers = registers
    this.few = undefined
  }

  get bytes(): number {
    return this.registers === undefined ? 64 + 32 * (this.few?.size ?? 0) : REGISTERS
  }

  estimate(): number {
    return this.registers === undefined ? (this.few?.size ?? 0) : Math.round(estimated(this.registers))
  }

  /** Updates the hash's register with the position of the first 1 among the remaining bits, if that is greater. */
  private rank(registers: Uint8Array, hash: number): void {
    const high = Math.floor(hash / 2 ** 32) // 21 bits
    const register = high >>> (21 - REGISTER_BITS)
    const above = high & (2 ** (21 - REGISTER_BITS) - 1)
    const rank = above === 0 ? 21 - REGISTER_BITS + Math.clz32(hash >>> 0) + 1 : Math.clz32(above) - (32 - (21 - REGISTER_BITS)) + 1
    if (rank > (registers[register] as number)) registers[register] = rank // 12 bits choose one of 4,096
  }
}

/** Ertl's estimator, which has no bias for few values or many. */
function estimated(registers: Uint8Array): number {
  const counts = new Float64Array(RANKED_BITS + 2)
  for (const rank of registers) counts[rank] = (counts[rank] as number) + 1 // a rank is at most one more than the bits
  let z = REGISTERS * tau(1 - (counts[RANKED_BITS + 1] as number) / REGISTERS)
  for (let rank = RANKED_BITS; rank >= 1; rank--) z = 0.5 * (z + (counts[rank] as number))
  z += REGISTERS * sigma((counts[0] as number) / REGISTERS)
  return ((REGISTERS / (2 * Math.LN2)) * REGISTERS) / z
}

function sigma(x: number): number {
  if (x === 1) return Number.POSITIVE_INFINITY
  let [power, y, z, before] = [x, 1, x, Number.NaN]
  while (z !== before) {
    power *= power
    before = z
    z += power * y
    y += y
  }
  return z
}

function tau(x: number): number {
  if (x === 0 || x === 1) return 0
  let [power, y, z, before] = [x, 1, 1 - x, Number.NaN]
  while (z !== before) {
    power = Math.sqrt(power)
    before = z
    y *= 0.5
    z -= (1 - power) * (1 - power) * y
  }
  return z / 3
}

/** The most values that are kept themselves. */
export const EXACT_VALUES = 128
/** Fraction bits of a number that are in its bucket: ends of buckets are at most 1/64 apart, and their middles at most 1/128 off. */
const FRACTION_BITS = 6
/** Bits of a number's high word that are not in its bucket. */
const DROPPED_BITS = 20 - FRACTION_BITS
/** The greatest relative error of an estimate. */
export const QUANTILE_ERROR: number = 2 ** -(FRACTION_BITS + 1)

/** Estimates quantiles of the values added, ordered as for the aggregate `quantile`: -0 before 0, NaN behind all other numbers. */
export class QuantileSketch {
  private few: number[] | undefined = []
  private readonly buckets = new Map<number, number>()
  private count = 0
  private nans = 0
  private least = Number.POSITIVE_INFINITY
  private most = Number.NEGATIVE_INFINITY

  add(value: number): void {
    this.count++
    if (this.few !== undefined) {
      this.few.push(value)
      if (this.few.length <= EXACT_VALUES) return
      for (const one of this.few) this.addToBucket(one)
      this.few = undefined
      return
    }
    this.addToBucket(value)
  }

  get bytes(): number {
    return 96 + 8 * (this.few?.length ?? 0) + 40 * this.buckets.size
  }

  /** The estimated quantile `q`, 0 to 1; null for no values. */
  quantile(q: number): number | null {
    const { count } = this
    if (count === 0) return null
    const at = this.few === undefined ? this.valueAt() : exactly(this.few)
    const position = q * (count - 1)
    const place = Math.floor(position)
    const below = at(place)
    const above = Math.ceil(position) === place ? below : at(place + 1)
    return below === above ? below : below + (above - below) * (position - place)
  }

  private addToBucket(value: number): void {
    if (Number.isNaN(value)) {
      this.nans++
      return
    }
    if (value < this.least || (value === 0 && Object.is(value, -0) && this.least === 0)) this.least = value
    if (value > this.most || (value === 0 && Object.is(this.most, -0))) this.most = value
    const bucket = bucketOf(value)
    this.buckets.set(bucket, (this.buckets.get(bucket) ?? 0) + 1)
  }

  /** A function from a place, to be called with ascending places, to its value: exact for the first and the last, else the middle of a bucket. */
  private valueAt(): (place: number) => number {
    const buckets = [...this.buckets].sort(([a], [b]) => a - b)
    const numbers = this.count - this.nans
    let [next, before] = [0, 0]
    return (place) => {
      if (place >= numbers) return Number.NaN
      if (place === 0) return this.least
      if (place === numbers - 1) return this.most
      while (next < buckets.length - 1 && before + (buckets[next]?.[1] ?? 0) <= place) before += buckets[next++]?.[1] ?? 0
      const middle = middleOf(buckets[next]?.[0] ?? 0)
      return Math.min(Math.max(middle, this.least), this.most)
    }
  }
}

function exactly(values: readonly number[]): (place: number) => number {
  const sorted = Float64Array.from(values).sort()
  return (place) => sorted[place] as number // a place of theirs
}

const NUMBER = new Float64Array(1)
const WORDS = new Int32Array(NUMBER.buffer)

/** The bucket of a number: its highest bits, inverted for negative ones, so that buckets are in the order of the numbers. */
function bucketOf(value: number): number {
  NUMBER[0] = value
  const bits = (WORDS[1] as number) >> DROPPED_BITS // the highest word, on all engines that there are
  return bits >= 0 ? bits : ~(bits & (0x7fffffff >> DROPPED_BITS))
}

/** The value that stands for a bucket: its middle, but for a bucket that begins at 0 or infinity that value itself. */
function middleOf(bucket: number): number {
  const bits = bucket >= 0 ? bucket : ~bucket
  WORDS[1] = bits << DROPPED_BITS
  WORDS[0] = 0
  const from = NUMBER[0] as number
  WORDS[1] = (bits + 1) << DROPPED_BITS
  const to = NUMBER[0] as number
  const isAlone = from === 0 || from === Number.POSITIVE_INFINITY
  const middle = isAlone ? from : to === Number.POSITIVE_INFINITY ? from + 2 ** (1022 - FRACTION_BITS) : from / 2 + to / 2
  return bucket >= 0 ? middle : -middle
}

/** The sketch of some numbers. */
export function quantileSketchOf(values: Float64Array): QuantileSketch {
  const sketch = new QuantileSketch()
  for (const value of values) sketch.add(value)
  return sketch
}
