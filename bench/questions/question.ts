/** What the questions of kernels.bench.ts are made of, and the data they share with bench/native. */
import type { DistArray, KeyOf, Loop, LoopOptions, Session } from 'distarray'

type Precision = NonNullable<LoopOptions['precision']>

export interface KernelQuestion {
  readonly name: string
  /** What is counted, in the singular. */
  readonly unit: string
  readonly units: number
  /**
   * Passes that every contender is measured over, one after another; default 1. What is to be found in the cache has to be
   * there: the contenders take turns, and each first pass finds the cache full of the others' data. Of one loop only.
   */
  readonly passes?: number
  /** Arguments of bench/native/kernels.cpp. */
  readonly native: readonly (string | number)[]
  /** Whether the iterations of the C++ program can run in parallel. */
  readonly isNativeParallel: boolean
  /** With 'any' the result is that of another order than the plain program's, and is verified instead. */
  readonly order: 'serial' | 'any'
  readonly program: (session: Session, precision: Precision) => Promise<Program>
  /** As one would write it without the library: a new one, with its arrays as they are at the start. */
  readonly plain: () => PlainProgram
}

export interface Program {
  /** A pass runs them in turn. */
  readonly loops: readonly Loop[]
  /** What is computed. */
  readonly results: readonly DistArray<number, readonly number[]>[]
  /** Everything that the program has made, to be released. */
  readonly arrays: readonly DistArray<number, readonly number[]>[]
}

export interface PlainProgram {
  readonly pass: () => void
  readonly results: readonly Numbers[]
}

export type Numbers = Float64Array | Float32Array | Int32Array | Uint8Array
type NumberType = 'f64' | 'f32' | 'i32' | 'u8'

/** A dense array of the session with these elements. */
export async function dense<const S extends readonly number[]>(
  session: Session,
  shape: S,
  dtype: NumberType,
  data: Numbers,
): Promise<DistArray<number, KeyOf<S>>> {
  const array = session.zeros(shape, { dtype })
  await array.assign(
    shape.map(() => null),
    data,
  )
  return array
}

/** 0, 0.01, 0.02 … up to the modulus, and again. */
export function filled(length: number, modulus: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => 0.01 * (i % modulus))
}

/** Whole numbers below a limit, without order. */
export function scattered(i: number, limit: number): number {
  let x = Math.imul(i + 1, 0x9e3779b1)
  x ^= x >>> 15
  x = Math.imul(x, 0x85ebca77)
  x ^= x >>> 13
  return (x >>> 0) % limit
}

export function wholes(length: number, limit: number, from = 0): Int32Array {
  return Int32Array.from({ length }, (_, i) => scattered(i + from, limit))
}
