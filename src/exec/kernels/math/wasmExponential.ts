/**
 * `Math.exp` of a double without a call, by the engine's own operations and so with the same bits: fdlibm's e_exp.c (Sun, 1993;
 * "Remez algorithm" in its comments), without the branches that processors mispredict where arguments vary.
 *
 *     x = k ln 2 + r, |r| < 0.5 ln 2, ln 2 in two parts;  e^r by a rational approximation;  e^x = 2^k e^r
 *
 * Arguments for which the original takes another path, by the upper half of their bits, go to `Math.exp` itself: below 2^-28, from
 * 700 on, NaN, around 0.5 ln 2, where its choice of k differs from the formula's, and around 1, where it corrects the result.
 *
 * The language leaves the last digits of `Math.exp` to the engine. Whether this engine has that algorithm, without fused operations, is
 * tested once: the code below must give the same bits for some thousand arguments, else kernels call the engine's function.
 */

import { type Code, I, OP, type ValueType } from '../../kir/instructions.ts'
import { computed, kept } from './computedValues.ts'

/** ln 2 in two parts: the upper bits, whose multiples are exact, and the remainder. */
const LN2_HIGH = 0.6931471803691238
const LN2_LOW = 1.9082149292705877e-10
const COEFFICIENTS = [
  4.1381367970572385e-8, -0.0000016533902205465252, 0.00006613756321437934, -0.0027777777777015593, 0.16666666666666602,
] as const
/** Added to an integer below 2^51, it leaves that integer in the lowest bits of the double. */
const SHIFT = 1.5 * 2 ** 52
/** The upper 32 bits, without the sign, of 2^-28, 700, 0.5 ln 2 and 1. */
const [LEAST, MOST, HALF_LN2, ONE] = [0x3e300000, 0x4085e000, 0x3fd62e42, 0x3ff00000]

/** Leaves e^x. `itself` leaves the result of `Math.exp`, for arguments that the code does not handle. */
export function exponential(declare: (type: ValueType) => number, argument: Code, itself: (x: Code) => Code): Code {
  const [setX, x] = kept(declare, 'f64', argument)
  const [setUpper, upper] = kept(declare, 'i32', [
    ...[...x, OP.i64ReinterpretF64, ...I.i64Const(32), OP.i64ShrU, OP.i32WrapI64, ...I.i32Const(0x7fffffff), OP.i32And],
  ])
  const isOrdinary = [
    ...[...upper, ...I.i32Const(LEAST), OP.i32Sub, ...I.i32Const(MOST - LEAST), OP.i32LtU],
    ...[...upper, ...I.i32Const(HALF_LN2), OP.i32Ne, OP.i32And, ...upper, ...I.i32Const(ONE), OP.i32Ne, OP.i32And],
  ]
  const [setK, k] = kept(declare, 'f64', [
    ...[...x, ...I.f64Const(Math.LOG2E), OP.f64Mul, ...I.f64Const(0.5), ...x, OP.f64Copysign, OP.f64Add, OP.f64Trunc],
  ])
  const [setHigh, high] = kept(declare, 'f64', [...x, ...k, ...I.f64Const(LN2_HIGH), OP.f64Mul, OP.f64Sub])
  const [setLow, low] = kept(declare, 'f64', [...k, ...I.f64Const(LN2_LOW), OP.f64Mul])
  const [setR, r] = kept(declare, 'f64', [...high, ...low, OP.f64Sub])
  const [setT, t] = kept(declare, 'f64', [...r, ...r, OP.f64Mul])
  const series = COEFFICIENTS.flatMap((c, i) => (i === 0 ? I.f64Const(c) : [...t, OP.f64Mul, ...I.f64Const(c), OP.f64Add]))
  const [setC, c] = kept(declare, 'f64', [...r, ...t, ...series, OP.f64Mul, OP.f64Sub])
  const quotient = [...r, ...c, OP.f64Mul, ...I.f64Const(2), ...c, OP.f64Sub, OP.f64Div]
  const ofR = [...I.f64Const(1), ...low, ...quotient, OP.f64Sub, ...high, OP.f64Sub, OP.f64Sub]
  const scaled = [
    ...[...ofR, OP.i64ReinterpretF64, ...k, ...I.f64Const(SHIFT), OP.f64Add, OP.i64ReinterpretF64],
    ...[...I.i64Const(52), OP.i64Shl, OP.i64Add, OP.f64ReinterpretI64],
  ]
  return [
    ...[...setX, ...setUpper, ...isOrdinary, ...I.if('f64'), ...setK, ...setHigh, ...setLow, ...setR, ...setT, ...setC],
    ...[...scaled, OP.else, ...itself(x), OP.end],
  ]
}

let isSame: boolean | undefined

/** Whether `exponential` has the bits of `Math.exp` in this engine. */
export function isEngineExponential(): boolean {
  isSame ??= hasBitsOf(Math.exp)
  return isSame
}

const COMPARED = 4096

/** Whether `exponential` gives the same bits as a function, for arguments near 0 and in the whole range of finite results. */
export function hasBitsOf(exp: (x: number) => number): boolean {
  const scale = [1, 2, 40, 1400]
  const golden = (i: number): number => (Math.imul(i, 0x9e3779b9) >>> 0) / 2 ** 32 - 0.5
  const given = Float64Array.from({ length: COMPARED }, (_, i) => golden(i) * (scale[i % scale.length] ?? 1))
  return exponentials(given).every((result, i) => Object.is(result, exp(given[i] as number))) // as many as given
}

/** Computes the exponentials of at most 8,192 numbers by the code of kernels. */
export function exponentials(given: Float64Array): Float64Array {
  const results = computed(exponential, given)
  return results.map((result, i) => (Number.isNaN(result) ? Math.exp(given[i] as number) : result)) // as many as given
}
