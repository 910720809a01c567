/**
 * Vector constants and shuffles, and how SIMD128 holds the values of columns, which kernels compute four rows at a time.
 *
 *     f64    two vectors: rows 0 1, rows 2 3        i32, truth    one vector, a lane a row (truth: all ones or zeros)
 */
import { type Code, I } from './instructions.ts'

export function vectorConst(bytes: ArrayLike<number>): Code {
  return [{ kind: 'vector', bytes: Array.from(bytes) }]
}

/** A constant of four 32-bit integers. */
export function lanesConst(lanes: readonly number[]): Code {
  return vectorConst(new Uint8Array(Int32Array.from(lanes).buffer))
}

/** Shuffles 32-bit lanes: indices 0 to 3 are of the first vector, 4 to 7 of the second. */
export function shuffle32(lanes: readonly number[]): Code {
  return I.shuffle(lanes.flatMap((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3]))
}

/** The lowest 64 bits of a bigint as a constant. */
export function i64Const(value: bigint): Code {
  return I.i64Const(BigInt.asIntN(64, value))
}
