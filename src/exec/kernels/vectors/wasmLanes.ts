/**
 * Values in the lanes of a vector: their kinds, and conversions between these.
 *
 * A loop computes in one of three modes. In exact precision doubles are two to a vector, and integers that 32 bits hold
 * lie in the lower half; where all of a loop's values are such integers there are four to a vector. In fast and relaxed
 * precision loops over f32 compute in f32, four to a vector. A truth value is a mask of ones and zeros as wide as the lane.
 */
import type { DType } from '../../../core/data/schema.ts'
import { type Code, I, type Plain, SIMD } from '../../kir/instructions.ts'
import { HIGHEST, LOWEST, type Value } from '../expressions/types.ts'
import { LOG2_BYTES } from '../loops/wasmCode.ts'

export type Mode = 'f64' | 'i32' | 'f32'
export const LANES: { readonly [M in Mode]: number } = { f64: 2, i32: 4, f32: 4 }

export type Vector =
  /** `low` and `high` are given where all lanes are integers. */
  | { readonly kind: 'f64'; readonly code: Code; readonly low?: number; readonly high?: number }
  | { readonly kind: 'f32'; readonly code: Code }
  | { readonly kind: 'i32'; readonly code: Code; readonly low: number; readonly high: number }
  /** `isNumber`: it stands for the numbers 1 and 0. */
  | { readonly kind: 'mask'; readonly code: Code; readonly bits: 32 | 64; readonly isNumber?: true }
  /** A value that all lanes and iterations share; `isInside`: it may vary between iterations of inner loops. */
  | SteadyVector

/** `single` computes it as an f32, so that f32 lanes need not narrow the double. */
export type SteadyVector = { readonly kind: 'steady'; readonly value: Value; readonly isInside?: boolean; readonly single?: Code }
/** The kind of lanes to which a value is converted. */
export type LaneKind = 'f64' | 'f32' | 'i32' | 'mask'

/** Thrown where a loop cannot be vectorized, with the reason. It has no stack, which would take longer to note than the loop has taken. */
export class Scalar {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** Provides loop-invariant vectors, which are made before the loop. */
export interface Constants {
  readonly mode: Mode
  /** A vector with the value in every lane. */
  splat(kind: LaneKind, vector: SteadyVector): Code
  number(kind: 'f64' | 'f32' | 'i32', value: number): Code
}

export function asFloat(c: Constants, vector: Vector): Code {
  const kind = c.mode
  if (kind === 'i32') throw new Scalar('it mixes integers and fractions')
  switch (vector.kind) {
    case 'steady':
      return c.splat(kind, vector)
    case 'i32':
      return [vector.code, kind === 'f64' ? SIMD.f64ConvertI32S : SIMD.f32ConvertI32S]
    case 'mask':
      return [masked(c, vector, kind === 'f64' ? 64 : 32), c.number(kind, 1), SIMD.and]
    case 'f64':
    case 'f32':
      return vector.code
  }
}

/** The magnitude up to which a double has its integer in the lowest bits after 1.5 * 2 ** 52 is added. */
const SHIFTED_INTEGERS = 2 ** 51
const SHIFT = 1.5 * 2 ** 52
/** The bytes of the lower 32 bits of two 64-bit lanes, twice. */
const LOWER_HALVES = [0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11]

/** ToInt32, as 32-bit lanes. */
export function asIntegers(c: Constants, vector: Vector): Code {
  switch (vector.kind) {
    case 'steady':
      return c.splat('i32', vector)
    case 'i32':
      return vector.code
    case 'mask':
      return [masked(c, vector, 32), c.number('i32', 1), SIMD.and]
    case 'f64': {
      const { low, high, code } = vector
      if (low === undefined || high === undefined || low < -SHIFTED_INTEGERS || high > SHIFTED_INTEGERS) break
      const shifted = [code, c.number('f64', SHIFT), SIMD.f64Add]
      return twice(shifted, LOWER_HALVES)
    }
    case 'f32':
  }
  throw new Scalar('a fraction becomes an integer')
}

/** Shuffles the one vector that `code` leaves. Indices are below 16, so that the second operand may be anything. */
function twice(code: Code, bytes: readonly number[]): Code {
  return [code, I.i32Const(0), SIMD.i32Splat, I.shuffle(bytes)]
}

/** The truth of each lane, as a mask of this width. */
export function masked(c: Constants, vector: Vector, bits: 32 | 64): Code {
  switch (vector.kind) {
    case 'steady':
      return c.splat('mask', vector)
    case 'mask':
      if (vector.bits === bits) return vector.code
      return bits === 64 ? [vector.code, SIMD.i64ExtendI32S] : twice(vector.code, LOWER_HALVES)
    case 'i32':
      return masked(c, { kind: 'mask', bits: 32, code: [vector.code, c.number('i32', 0), SIMD.i32Ne] }, bits)
    case 'f64':
    case 'f32': {
      const [abs, gt] = vector.kind === 'f64' ? [SIMD.f64Abs, SIMD.f64Gt] : [SIMD.f32Abs, SIMD.f32Gt]
      const code = [vector.code, abs, c.number(vector.kind, 0), gt]
      return masked(c, { kind: 'mask', bits: vector.kind === 'f64' ? 64 : 32, code }, bits)
    }
  }
}

/** The integer bounds of all lanes; undefined where a lane may be no integer. */
export function boundsOf(vector: Vector): { readonly low: number; readonly high: number } | undefined {
  if (vector.kind === 'steady') {
    const { type } = vector.value
    return type.kind === 'i32' || type.kind === 'i64' ? type : type.kind === 'bool' ? { low: 0, high: 1 } : undefined
  }
  if (vector.kind === 'mask') return { low: 0, high: 1 }
  if (vector.kind === 'f32' || vector.low === undefined || vector.high === undefined) return undefined
  return { low: vector.low, high: vector.high }
}

export function isTruth(vector: Vector): boolean {
  return (vector.kind === 'mask' && vector.isNumber !== true) || (vector.kind === 'steady' && vector.value.type.kind === 'bool')
}

/** Integers within bounds: by `narrow` in 32-bit lanes where these hold them, else by `wide` in floating point. */
export function integers(c: Constants, low: number, high: number, narrow: () => Code, wide: () => Code): Vector {
  if (low >= LOWEST && high <= HIGHEST) return { kind: 'i32', low, high, code: narrow() }
  if (c.mode === 'i32') throw new Scalar('32 bits do not hold its integers')
  return c.mode === 'f64' ? { kind: 'f64', low, high, code: wide() } : { kind: 'f32', code: wide() }
}

/** Selects `yes` in the lanes of the mask, `no` in the others. */
export function chosen(c: Constants, mask: Vector, yes: Vector, no: Vector): Vector {
  const selected = (a: Code, b: Code, bits: 32 | 64): Code => [a, b, masked(c, mask, bits), SIMD.bitSelect]
  const bits = c.mode === 'f64' ? 64 : 32
  if (isTruth(yes) && isTruth(no)) return { kind: 'mask', bits, code: selected(masked(c, yes, bits), masked(c, no, bits), bits) }
  if (isTruth(yes) || isTruth(no)) throw new Scalar('a value is a number or a truth value')
  const [a, b] = [boundsOf(yes), boundsOf(no)]
  const floats = (): Code => selected(asFloat(c, yes), asFloat(c, no), bits)
  if (a === undefined || b === undefined) return { kind: c.mode === 'f32' ? 'f32' : 'f64', code: floats() }
  const narrow = (): Code => selected(asIntegers(c, yes), asIntegers(c, no), 32)
  return integers(c, Math.min(a.low, b.low), Math.max(a.high, b.high), narrow, floats)
}

// ------------------------------------------------------------------ memory

const LOADS: Readonly<Record<number, Plain>> = {
  1: SIMD.load8Splat,
  2: SIMD.load16Splat,
  4: SIMD.load32Splat,
  // not v128.load64_zero: V8 11 folds that load into a conversion after it, and so moves it past stores in between
  8: SIMD.load64Splat,
  16: SIMD.load,
}
const STORES: Readonly<Record<number, Plain>> = { 1: SIMD.store8Lane, 2: SIMD.store16Lane, 4: SIMD.store32Lane, 8: SIMD.store64Lane }

/** Loads `count` elements as they are in memory, into the lowest bytes. */
export function rawLoad(dtype: DType, count: number, address: Code, offset: number): Code {
  return [address, I.memory(LOADS[count << LOG2_BYTES[dtype]] ?? SIMD.load, offset)]
}

/** Stores `count` elements from the lowest bytes. */
export function rawStore(dtype: DType, count: number, address: Code, value: Code, offset: number): Code {
  const opcode = STORES[count << LOG2_BYTES[dtype]]
  return [address, value, opcode === undefined ? I.memory(SIMD.store, offset) : I.simdMemoryLane(opcode, 0, offset)]
}

/** Converts loaded elements to lanes. */
export function loadedLanes(c: Constants, dtype: DType, raw: Code): Vector {
  const integer = (low: number, high: number, ...widened: readonly Plain[]): Vector => {
    return { kind: 'i32', low, high, code: [raw, ...widened] }
  }
  switch (dtype) {
    case 'f64':
      if (c.mode === 'f64') return { kind: 'f64', code: raw }
      break
    case 'f32':
      if (c.mode === 'f32') return { kind: 'f32', code: raw }
      if (c.mode === 'f64') return { kind: 'f64', code: [raw, SIMD.promoteF32] }
      break
    case 'u32':
      if (c.mode === 'f64') return { kind: 'f64', low: 0, high: 2 ** 32 - 1, code: [raw, SIMD.f64ConvertI32U] }
      break
    case 'i32':
      return integer(LOWEST, HIGHEST)
    case 'i16':
      return integer(-(2 ** 15), 2 ** 15 - 1, SIMD.i32ExtendI16S)
    case 'u16':
      return integer(0, 2 ** 16 - 1, SIMD.i32ExtendI16U)
    case 'i8':
      return integer(-128, 127, SIMD.i16ExtendI8S, SIMD.i32ExtendI16S)
    case 'u8':
    case 'bool':
      return integer(0, 255, SIMD.i16ExtendI8U, SIMD.i32ExtendI16U)
    case 'i64':
  }
  throw new Scalar(`its elements are ${dtype}`)
}

/** Converts lanes to elements as in memory, in the lowest bytes. `mask`: the lanes to store; others keep what `old` leaves. */
export function storedLanes(c: Constants, dtype: DType, value: Vector, old: Code, mask: Vector | undefined): Code {
  const selected = (raw: Code, before: Code, bits: 32 | 64): Code =>
    mask === undefined ? raw : [raw, before, masked(c, mask, bits), SIMD.bitSelect]
  switch (dtype) {
    case 'f64':
      if (c.mode !== 'f64') break
      return selected(asFloat(c, value), old, 64)
    case 'f32':
      return selected(c.mode === 'f32' ? asFloat(c, value) : [asFloat(c, value), SIMD.demoteF64], old, 32)
    case 'i32':
    case 'u32':
      return selected(asIntegers(c, value), old, 32)
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8': {
      const before = asIntegers(c, loadedLanes(c, dtype, old))
      return narrowed(dtype, selected(asIntegers(c, value), before, 32))
    }
    case 'bool': {
      const truth: Vector = { kind: 'mask', bits: 32, code: masked(c, value, 32) }
      return narrowed(dtype, selected(asIntegers(c, truth), asIntegers(c, loadedLanes(c, dtype, old)), 32))
    }
    case 'i64':
  }
  throw new Scalar(`its elements are ${dtype}`)
}

/** Packs the low bytes of 32-bit lanes. */
function narrowed(dtype: DType, lanes: Code): Code {
  return twice(lanes, LOG2_BYTES[dtype] === 1 ? [0, 1, 4, 5, 8, 9, 12, 13] : [0, 4, 8, 12])
}

/** Returns the value; throws `Scalar` for a bigint. */
export function noBigint(value: Value): Value {
  if (value.type.kind === 'bigint') throw new Scalar('it computes with bigints')
  return value
}
