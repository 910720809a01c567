/**
 * `Math.log` of a double without a call, by the engine's own operations and so with the same bits: fdlibm's e_log.c (Sun, 1993).
 *
 *     x = 2^k (1 + f), 1 + f between the roots of 1/2 and 2;  s = f / (2 + f)
 *     log (1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)), or f - s (f - R) where f is near the ends;  log x = k ln 2 + log (1 + f)
 *
 * Arguments for which the original takes another path go to `Math.log` itself: those not above 0, subnormal, infinite or NaN, and those
 * with |f| below 2^-20. Whether this engine has that algorithm, without fused operations, is tested once.
 */

import { type Code, I, OP, type ValueType } from '../../kir/instructions.ts'
import { computed, kept } from './computedValues.ts'

/** ln 2 in two parts: the upper bits, whose multiples by exponents are exact, and the remainder. */
const LN2_HIGH = 0.6931471803691238
const LN2_LOW = 1.9082149292705877e-10
/** The coefficients of R(z): its odd and its even powers of z, the highest first. */
const ODD = [0.15313837699209373, 0.22222198432149784, 0.3999999999940942] as const
const EVEN = [0.14798198605116586, 0.1818357216161805, 0.2857142874366239, 0.6666666666666735] as const
/** Upper halves: the least normal number; the distance to infinity; the rounding of 1 + f to a power of 2; the ends of f's middle. */
const [LEAST, NORMAL, HALF, FROM, TO] = [0x00100000, 0x7fe00000, 0x95f64, 0x6147a, 0x6b851]

/** Leaves the natural logarithm. `itself` leaves the result of `Math.log`, for arguments that the code does not handle. */
export function logarithm(declare: (type: ValueType) => number, argument: Code, itself: (x: Code) => Code): Code {
  const [setX, x] = kept(declare, 'f64', argument)
  const [setUpper, upper] = kept(declare, 'i32', [x, OP.i64ReinterpretF64, I.i64Const(32), OP.i64ShrU, OP.i32WrapI64])
  const [setDigits, digits] = kept(declare, 'i32', [upper, I.i32Const(0xfffff), OP.i32And])
  const isOrdinary = [
    ...[upper, I.i32Const(LEAST), OP.i32Sub, I.i32Const(NORMAL), OP.i32LtU],
    ...[digits, I.i32Const(2), OP.i32Add, I.i32Const(0xfffff), OP.i32And, I.i32Const(3), OP.i32GeU, OP.i32And],
  ]
  const [setI, i] = kept(declare, 'i32', [digits, I.i32Const(HALF), OP.i32Add, I.i32Const(0x100000), OP.i32And])
  const [setK, k] = kept(declare, 'f64', [
    ...[upper, I.i32Const(20), OP.i32ShrS, I.i32Const(1023), OP.i32Sub],
    ...[i, I.i32Const(20), OP.i32ShrS, OP.i32Add, OP.f64ConvertI32S],
  ])
  const upperOfOne = [digits, i, I.i32Const(0x3ff00000), OP.i32Xor, OP.i32Or, OP.i64ExtendI32U, I.i64Const(32), OP.i64Shl]
  const lower = [x, OP.i64ReinterpretF64, I.i64Const(0xffffffff), OP.i64And]
  const [setF, f] = kept(declare, 'f64', [upperOfOne, lower, OP.i64Or, OP.f64ReinterpretI64, I.f64Const(1), OP.f64Sub])
  const [setS, s] = kept(declare, 'f64', [f, I.f64Const(2), f, OP.f64Add, OP.f64Div])
  const [setZ, z] = kept(declare, 'f64', [s, s, OP.f64Mul])
  const [setW, w] = kept(declare, 'f64', [z, z, OP.f64Mul])
  const series = (coefficients: readonly number[]): Code =>
    coefficients.flatMap((c, at) => (at === 0 ? [I.f64Const(c)] : [w, OP.f64Mul, I.f64Const(c), OP.f64Add]))
  const [setR, r] = kept(declare, 'f64', [series(EVEN), z, OP.f64Mul, series(ODD), w, OP.f64Mul, OP.f64Add])
  const [setHalf, half] = kept(declare, 'f64', [I.f64Const(0.5), f, OP.f64Mul, f, OP.f64Mul])
  const [setLow, low] = kept(declare, 'f64', [k, I.f64Const(LN2_LOW), OP.f64Mul])
  const inTheMiddle = [half, s, half, r, OP.f64Add, OP.f64Mul, low, OP.f64Add, OP.f64Sub]
  const atTheEnds = [s, f, r, OP.f64Sub, OP.f64Mul, low, OP.f64Sub]
  const isInTheMiddle = [digits, I.i32Const(FROM), OP.i32Sub, I.i32Const(TO), digits, OP.i32Sub, OP.i32Or, I.i32Const(0), OP.i32GtS]
  const result = [k, I.f64Const(LN2_HIGH), OP.f64Mul, inTheMiddle, atTheEnds, isInTheMiddle, OP.select, f, OP.f64Sub, OP.f64Sub]
  return [
    ...[setX, setUpper, setDigits, isOrdinary, I.if('f64'), setI, setK, setF, setS, setZ, setW, setR, setHalf, setLow],
    ...[result, OP.else, itself(x), OP.end],
  ]
}

let isSame: boolean | undefined

/** Whether `logarithm` has the bits of `Math.log` in this engine. */
export function isEngineLogarithm(): boolean {
  isSame ??= logarithmHasBitsOf(Math.log)
  return isSame
}

const COMPARED = 4096

/** Whether `logarithm` gives the same bits as a function, for arguments around 1 and of all magnitudes. */
export function logarithmHasBitsOf(log: (x: number) => number): boolean {
  const golden = (i: number): number => (Math.imul(i, 0x9e3779b9) >>> 0) / 2 ** 32
  const given = Float64Array.from({ length: COMPARED }, (_, i) => (i % 2 === 0 ? 0.5 + golden(i) : 2 ** (2000 * golden(i) - 1000)))
  return logarithms(given).every((result, i) => Object.is(result, log(given[i] as number))) // as many as given
}

/** Computes the logarithms of at most 8,192 numbers by the code of kernels. */
export function logarithms(given: Float64Array): Float64Array {
  const results = computed(logarithm, given)
  return results.map((result, i) => (Number.isNaN(result) ? Math.log(given[i] as number) : result)) // as many as given
}
