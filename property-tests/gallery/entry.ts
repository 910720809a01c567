/**
 * One entry of the gallery: a real loop, its data, and the dullest plain JavaScript that does the same.
 *
 *     entry({ name, what, data, loops, plain })
 *
 * `data` are plain typed arrays with a shape. `loops` gets them as DistArrays of the same names, `plain` as copies of the typed
 * arrays, row-major. Afterwards all of them must agree bit for bit.
 */
import type { DistArray, DType, KeyOf, Loop, Session, Shape } from '../../src/index.ts'

export type Numbers = Float64Array | Float32Array | Int32Array | Uint8Array
export interface Given<S extends Shape = Shape, A extends Numbers = Numbers> {
  readonly shape: S
  readonly data: A
}
type Data = Readonly<Record<string, Given>>
type Arrays<D extends Data> = { readonly [N in keyof D]: DistArray<number, KeyOf<D[N]['shape']>> }
type Plain<D extends Data> = { readonly [N in keyof D]: D[N]['data'] }

/** What an entry runs: its loops by name, one after another, in each of `rounds` rounds. */
export interface Loops {
  readonly loops: Readonly<Record<string, Loop>>
  /** Called before each round, from 0: where a captured number such as the step `k` gets its value. */
  readonly before?: (round: number) => void
  readonly rounds?: number
}

/** The keys of all iterations of each loop in `serialOrder()`, by the loop's name: what the plain form of an `any` loop follows. */
export type Orders = Readonly<Record<string, readonly (readonly number[])[]>>
export type Totals = Readonly<Record<string, number>>

export interface EntryOf<D extends Data> {
  readonly name: string
  /** One line. */
  readonly what: string
  readonly data: D
  readonly loops: (session: Session, arrays: Arrays<D>) => Loop | Loops
  /** Accumulators, by their name in `env`, are what it returns. */
  readonly plain: (arrays: Plain<D>, orders: Orders) => Totals | void
}
export type Entry = EntryOf<Data>

/** An entry whose `loops` and `plain` see the names and shapes of its data. */
export function entry<const D extends Data>(of: EntryOf<D>): Entry {
  // The runner hands over arrays made of this very `data`: the types of the names are known to the entry alone.
  return of as unknown as Entry
}

interface ArrayTypes {
  readonly f64: Float64Array
  readonly f32: Float32Array
  readonly i32: Int32Array
  readonly u8: Uint8Array
}
const ARRAYS: { readonly [T in keyof ArrayTypes]: new (size: number) => ArrayTypes[T] } = {
  f64: Float64Array,
  f32: Float32Array,
  i32: Int32Array,
  u8: Uint8Array,
}

export function zeros<const S extends Shape, T extends keyof ArrayTypes = 'f64'>(shape: S, dtype?: T): Given<S, ArrayTypes[T]> {
  const size = shape.reduce((product, extent) => product * extent, 1)
  return { shape, data: new ARRAYS[dtype ?? ('f64' as T)](size) } // 'f64' is T when no dtype is given
}

/** Each element from its position in row-major order. */
export function filled<const S extends Shape, T extends keyof ArrayTypes = 'f64'>(
  shape: S,
  value: (position: number) => number,
  dtype?: T,
): Given<S, ArrayTypes[T]> {
  const made = zeros(shape, dtype)
  for (let i = 0; i < made.data.length; i++) made.data[i] = value(i)
  return made
}

/** Numbers in [0, 1) with full mantissas, so that another order of additions shows. */
export function random<const S extends Shape, T extends keyof ArrayTypes = 'f64'>(
  shape: S,
  seed: number,
  dtype?: T,
): Given<S, ArrayTypes[T]> {
  const next = generator(seed)
  return filled(shape, next, dtype)
}

/** Whole numbers in [0, below). */
export function whole<const S extends Shape, T extends keyof ArrayTypes = 'i32'>(
  shape: S,
  below: number,
  seed: number,
  dtype?: T,
): Given<S, ArrayTypes[T]> {
  const next = generator(seed)
  return filled(shape, () => Math.floor(next() * below), dtype ?? ('i32' as T))
}

/** A permutation of 0 … n - 1. */
export function permutation(n: number, seed: number): Given<readonly [number], Int32Array> {
  const made = filled([n], (i) => i, 'i32')
  const next = generator(seed)
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1))
    const last = made.data[i]!
    made.data[i] = made.data[j]!
    made.data[j] = last
  }
  return made
}

/** mulberry32. */
function generator(seed: number): () => number {
  let state = seed | 0
  const bits = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return (t ^ (t >>> 14)) >>> 0
  }
  return () => (bits() * 2097152 + (bits() >>> 11)) / 2 ** 53
}

export const dtypeOf = (data: Numbers): DType =>
  data instanceof Float64Array ? 'f64' : data instanceof Float32Array ? 'f32' : data instanceof Int32Array ? 'i32' : 'u8'
