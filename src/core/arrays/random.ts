/**
 * Random numbers by counter: the n-th number of a stream is computed from seed and n alone, so any thread may draw any
 * of them, in any order, and every schedule and every number of workers draws the same ones.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC '11,
 * section 3.3): a counter of 128 bits, a key of 64 bits made of the seed, and 128 random bits out, of which two
 * uniform numbers of 53 bits are made. How the counter is used:
 *
 *     word          0, 1                     2           3
 *     arrays        element position / 2     0           0
 *     loop bodies   key components 0 and 1   draw / 2    pass + 1
 */
import { PlanError } from '../errors.ts'

/** The constants of Philox4x32-10, for kernels that generate its code: the multipliers of counters, and the increments of keys in each round. */
export const PHILOX: Philox = { multipliers: [0xd2511f53 | 0, 0xcd9e8d57 | 0], increments: [0x9e3779b9 | 0, 0xbb67ae85 | 0], rounds: 10 }
interface Philox {
  readonly multipliers: readonly [number, number]
  readonly increments: readonly [number, number]
  readonly rounds: number
}

const [M0, M1] = PHILOX.multipliers
const [W0, W1] = PHILOX.increments
const ROUNDS = PHILOX.rounds

/** The four random words of the last block. */
const out = new Int32Array(4)

/** Philox4x32-10 of a counter and a key; the four words are in the array returned, which the next call overwrites. */
export function philox(c0: number, c1: number, c2: number, c3: number, k0: number, k1: number): Int32Array {
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = mulHigh(c0, M0 & 0xffff, M0 >>> 16)
    const high1 = mulHigh(c2, M1 & 0xffff, M1 >>> 16)
    const low0 = Math.imul(c0, M0)
    const low1 = Math.imul(c2, M1)
    c0 = high1 ^ c1 ^ k0
    c1 = low1
    c2 = high0 ^ c3 ^ k1
    c3 = low0
    k0 = (k0 + W0) | 0
    k1 = (k1 + W1) | 0
  }
  out[0] = c0
  out[1] = c1
  out[2] = c2
  out[3] = c3
  return out
}

/** The upper half of the 64-bit product of two unsigned words, the second given by its halves. */
function mulHigh(a: number, low: number, high: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  // each sum is below 2^32, so that wrapping to 32 bits loses nothing
  const middle = (Math.imul(aHigh, low) + (Math.imul(aLow, low) >>> 16)) | 0
  const other = (Math.imul(aLow, high) + (middle & 0xffff)) | 0
  return (Math.imul(aHigh, high) + (middle >>> 16) + (other >>> 16)) | 0
}

/** Makes a number in [0, 1) of two words: a multiple of 2^-53, all equally likely. */
function unit(high: number, low: number): number {
  return ((high >>> 5) * 67108864 + (low >>> 6)) / 9007199254740992
}

const bits = new Float64Array(1)
const words = new Int32Array(bits.buffer)

/** The key of a seed: the 64 bits of the number, so that different seeds have different keys. */
function keyOf(seed: number): readonly [number, number] {
  bits[0] = seed + 0 // -0 is 0
  return [words[0] as number, words[1] as number] // Int32Array of length 2
}

/** Throws a PlanError unless the seed is a finite number. */
export function checkSeed(seed: number): void {
  if (!Number.isFinite(seed)) throw new PlanError(`The seed is ${String(seed)}. Seeds are finite numbers.`)
}

/** Fills `data` with the elements at `first`, `first + 1`, … of a random array: uniform in [0, scale). */
export function fillUniform(data: Float64Array | Float32Array, first: number, seed: number, scale = 1): void {
  fillBlocks(data, first, seed, (a, b, lane) => (lane === 0 ? a : b) * scale)
  if (data instanceof Float32Array) keepBelow(data, scale)
}

/** Replaces numbers that rounding to f32 brought up to the scale itself (one in 2^25) by the number before it. */
function keepBelow(data: Float32Array, scale: number): void {
  const before = Float32Array.of(scale)
  const beforeBits = new Int32Array(before.buffer)
  // one step towards zero
  if (scale !== 0 && Math.abs(before[0] as number) >= Math.abs(scale)) beforeBits[0] = (beforeBits[0] as number) - 1
  const reached = Math.abs(scale)
  if (reached === 0) return
  for (let i = 0; i < data.length; i++) if (Math.abs(data[i] as number) >= reached) data[i] = before[0] as number // i < length
}

/** Fills `data` likewise from the normal distribution with mean 0 and standard deviation `scale`. */
export function fillNormal(data: Float64Array | Float32Array, first: number, seed: number, scale = 1): void {
  fillBlocks(data, first, seed, (a, b, lane) => boxMuller(a, b, lane) * scale)
}

/** Element `index` of a uniform array with this seed, in [0, 1). */
export function uniformAt(seed: number, index: number): number {
  const one = new Float64Array(1)
  fillUniform(one, index, seed)
  return one[0] as number // of length 1
}

/** Element `index` of a standard normal array with this seed. */
export function normalAt(seed: number, index: number): number {
  const one = new Float64Array(1)
  fillNormal(one, index, seed)
  return one[0] as number // of length 1
}

/** An integer from 0 to below - 1; the bias is at most below / 2^53. */
export function intAt(seed: number, index: number, below: number): number {
  return Math.floor(uniformAt(seed, index) * below)
}

/** Calls `value` for each element with the two uniform numbers of its block; two elements share a block, and `lane` is 0 or 1 for the element's place in it. */
function fillBlocks(
  data: Float64Array | Float32Array,
  first: number,
  seed: number,
  value: (a: number, b: number, lane: number) => number,
): void {
  const [k0, k1] = keyOf(seed)
  for (let i = 0; i < data.length; ) {
    const block = Math.floor((first + i) / 2)
    philox(block | 0, Math.floor(block / 4294967296) | 0, 0, 0, k0, k1)
    const a = unit(out[0] as number, out[1] as number) // out has four words
    const b = unit(out[2] as number, out[3] as number)
    for (let lane = (first + i) % 2; lane < 2 && i < data.length; lane++, i++) data[i] = value(a, b, lane)
  }
}

/** Makes one of two normal numbers of two uniform ones (Box and Muller, 1958). */
function boxMuller(a: number, b: number, lane: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - a))
  const angle = 2 * Math.PI * b
  return radius * (lane === 0 ? Math.cos(angle) : Math.sin(angle))
}

/**
 * The generator of one `rng` in loop bodies. `begin` names the iteration; then the n-th draw of that iteration depends
 * on seed, pass and key alone. A uniform number or an integer is one draw, a normal number two.
 */
export class IterationRng {
  private readonly k0: number
  private readonly k1: number
  private pass = 1
  private c0 = 0
  private c1 = 0
  /** The generator's key for this iteration; key components from the third on change it. */
  private x0 = 0
  private x1 = 0
  private draw = 0
  /** The second number of the last block, for the next draw. */
  private spare = 0

  constructor(seed: number) {
    const [k0, k1] = keyOf(seed)
    this.k0 = k0
    this.k1 = k1
    this.x0 = k0
    this.x1 = k1
  }

  /** Begins a pass; passes count from 0. */
  startPass(pass: number): void {
    this.pass = (pass + 1) | 0
  }

  /** A word for kernels that draw by themselves: 0 and 1 are those of the key, 2 is that of the pass. */
  word(which: number): number {
    return which === 0 ? this.k0 : which === 1 ? this.k1 : this.pass
  }

  begin(k0 = 0, k1 = 0, ...more: number[]): void {
    this.c0 = k0 | 0
    this.c1 = k1 | 0
    this.draw = 0
    this.x0 = this.k0
    this.x1 = this.k1
    for (let i = 0; i < more.length; i++) {
      // draws never use a counter whose word 2 is -1
      philox((more[i] as number) | 0, i, -1, 0, this.x0, this.x1) // i < length
      this.x0 = out[0] as number // out has four words
      this.x1 = out[1] as number
    }
  }

  /** Draws a number in [0, 1), a multiple of 2^-53. */
  uniform(): number {
    const { draw } = this
    this.draw = draw + 1
    if ((draw & 1) === 1) return this.spare
    philox(this.c0, this.c1, draw >>> 1, this.pass, this.x0, this.x1)
    this.spare = unit(out[2] as number, out[3] as number) // out has four words
    return unit(out[0] as number, out[1] as number)
  }

  /** Draws a normal number of mean 0 and standard deviation 1. */
  normal(): number {
    const a = this.uniform()
    return boxMuller(a, this.uniform(), 0)
  }

  /** Draws an integer from 0 to below - 1; the bias is at most below / 2^53. */
  int(below: number): number {
    return Math.floor(this.uniform() * below)
  }
}

/** Draw number `draw` of the iteration with this key, in [0, 1). */
export function loopUniform(seed: number, pass: number, key: readonly number[], draw: number): number {
  const rng = new IterationRng(seed)
  rng.startPass(pass)
  rng.begin(...key)
  for (let i = 0; i < draw; i++) rng.uniform()
  return rng.uniform()
}
