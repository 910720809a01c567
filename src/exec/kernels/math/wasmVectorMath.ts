/**
 * Functions of four f32 lanes, for `precision: 'fast'` and `'relaxed'`. In this file exp, log and tanh: polynomials on a reduced argument,
 * after Cephes (Moshier, "Methods and Programs for Mathematical Functions") and its vector forms. The largest errors, over all of f32,
 * are stated in docs/performance.md and held by `wasmVectorMath.test.ts`; results 0, infinity and NaN are as in JavaScript.
 */
import { type Code, I, SIMD } from '../../kir/instructions.ts'
import { kept, type LaneMath, polynomial } from './wasmLaneMath.ts'
import { power, wave } from './wasmVectorPowers.ts'

export type LaneFunction = 'Math.cos' | 'Math.exp' | 'Math.log' | 'Math.pow' | 'Math.sin' | 'Math.tanh'

/** Leaves four f32 results. `y` is the second argument of `Math.pow`. */
export function laneFunction(m: LaneMath, name: LaneFunction, x: Code, y: Code = []): Code {
  switch (name) {
    case 'Math.cos':
    case 'Math.sin':
      return wave(m, name, x)
    case 'Math.pow':
      return power(m, x, y)
    case 'Math.exp':
      return exponential(m, x)
    case 'Math.log':
      return logarithm(m, x)
    case 'Math.tanh':
      return hyperbolicTangent(m, x)
  }
}

const add = [SIMD.f32Add]
const sub = [SIMD.f32Sub]
const mul = [SIMD.f32Mul]
const div = [SIMD.f32Div]

/** e^x = 2^n e^r, with |r| at most half of ln 2. 2^n is applied as two factors, so that subnormal results round once. */
function exponential(m: LaneMath, argument: Code): Code {
  const clamped = [...argument, m.number('f32', -105), SIMD.f32Max, m.number('f32', 89), SIMD.f32Min]
  const [setX, x] = kept(m, clamped)
  const [setN, n] = kept(m, [x, m.number('f32', Math.LOG2E), mul, SIMD.f32Nearest])
  // ln 2 in two parts: n times the first is exact.
  const high = [x, ...n, m.number('f32', 0.693359375), mul, ...sub]
  const [setR, r] = kept(m, [...high, ...n, m.number('f32', -2.1219444e-4), mul, ...sub])
  const series = polynomial(m, 'f32', r, [1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5])
  const [setP, p] = kept(m, [...series, ...r, mul, ...r, mul, ...r, add, m.number('f32', 1), add])
  // NaN may become any integer: the product with NaN is NaN. All other values are integers of small size.
  const [setWhole, whole] = kept(m, [...n, m.isRelaxed ? SIMD.i32RelaxedTruncF32S : SIMD.i32TruncF32S])
  const [setHalf, half] = kept(m, [...whole, I.i32Const(1), SIMD.i32ShrS])
  const twoTo = (of: Code): Code => [...of, m.number('i32', 127), SIMD.i32Add, I.i32Const(23), SIMD.i32Shl]
  const rest = [...whole, ...half, SIMD.i32Sub]
  return [...setX, ...setN, ...setR, ...setP, ...setWhole, ...setHalf, ...p, ...twoTo(half), mul, ...twoTo(rest), mul]
}

const SMALLEST_NORMAL = 2 ** -126
const MANTISSA = 0x007fffff

/** ln x = e ln 2 + ln m, with m between the square roots of a half and of two. */
function logarithm(m: LaneMath, argument: Code): Code {
  const [setGiven, given] = kept(m, argument)
  const [setTiny, tiny] = kept(m, [...given, m.number('f32', SMALLEST_NORMAL), SIMD.f32Lt])
  const scaled = [...given, m.number('f32', 2 ** 23), mul, ...given, ...tiny, SIMD.bitSelect]
  const [setX, x] = kept(m, scaled)
  const exponent = [x, I.i32Const(23), SIMD.i32ShrU, m.number('i32', 126), SIMD.i32Sub]
  const lowered = [...exponent, m.number('i32', 23), ...tiny, SIMD.and, SIMD.i32Sub]
  const [setE, e] = kept(m, [...lowered, SIMD.f32ConvertI32S])
  const bits = [x, m.number('i32', MANTISSA), SIMD.and, m.number('i32', 0x3f000000), SIMD.or]
  const [setM, mantissa] = kept(m, bits)
  const [setLow, isLow] = kept(m, [...mantissa, m.number('f32', Math.SQRT1_2), SIMD.f32Lt])
  const fraction = [...mantissa, m.number('f32', 1), ...sub, ...mantissa, ...isLow, SIMD.and, add]
  const [setF, f] = kept(m, fraction)
  const [setK, k] = kept(m, [...e, m.number('f32', 1), ...isLow, SIMD.and, ...sub])
  const [setSquare, square] = kept(m, [...f, ...f, mul])
  const series = polynomial(
    m,
    'f32',
    f,
    [
      7.0376836292e-2, -1.151461031e-1, 1.167699874e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
      -2.4999993993e-1, 3.3333331174e-1,
    ],
  )
  const tail = [...series, ...f, mul, ...square, mul, ...k, m.number('f32', -2.1219444e-4), mul, add]
  const small = [...tail, ...square, m.number('f32', 0.5), mul, ...sub]
  const [setResult, result] = kept(m, [...f, ...small, add, ...k, m.number('f32', 0.693359375), mul, add])
  // infinity, zero, and arguments without a logarithm
  const isInfinite = [...given, m.number('f32', Number.POSITIVE_INFINITY), SIMD.f32Eq]
  const isZero = [...given, m.number('f32', 0), SIMD.f32Eq]
  const isReal = [...given, m.number('f32', 0), SIMD.f32Ge]
  const [setFinite, finite] = kept(m, [...given, ...result, ...isInfinite, SIMD.bitSelect])
  const [setPositive, positive] = kept(m, [m.number('f32', Number.NEGATIVE_INFINITY), ...finite, ...isZero, SIMD.bitSelect])
  return [
    ...[...setGiven, ...setTiny, ...setX, ...setE, ...setM, ...setLow, ...setF, ...setK, ...setSquare, ...setResult],
    ...[...setFinite, ...setPositive, ...positive, m.number('f32', Number.NaN), ...isReal, SIMD.bitSelect],
  ]
}

/** tanh is odd; above 0 it is 1 - 2 / (e^2x + 1), or a polynomial near 0, where it is close to x. */
function hyperbolicTangent(m: LaneMath, argument: Code): Code {
  const [setX, x] = kept(m, argument)
  const [setSize, size] = kept(m, [x, SIMD.f32Abs])
  const grown = exponential(m, [...size, ...size, add])
  const [setFar, far] = kept(m, [m.number('f32', 1), m.number('f32', 2), ...grown, m.number('f32', 1), add, ...div, ...sub])
  const [setSquare, square] = kept(m, [size, size, mul])
  const coefficients = [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1]
  const near = [...polynomial(m, 'f32', square, coefficients), ...square, mul, size, mul, size, add]
  const isNear = [...size, m.number('f32', 0.625), SIMD.f32Lt]
  const sign = [x, m.number('i32', HIGHEST_BIT), SIMD.and]
  return [...setX, ...setSize, ...setFar, ...setSquare, ...near, ...far, ...isNear, SIMD.bitSelect, ...sign, SIMD.or]
}

/** The sign bit of an f32. */
const HIGHEST_BIT = -(2 ** 31)
