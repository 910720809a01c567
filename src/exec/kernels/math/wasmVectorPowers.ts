/**
 * sin, cos and powers of four f32 lanes, for `precision: 'fast'` and `'relaxed'`, computed in doubles, two lanes at a time: what argument
 * reduction loses to rounding is far below the precision of an f32, and no f32 is denormal as a double. Polynomials are Chebyshev's fits.
 *
 *     sin x  = (-1)^n sin(x - n π)            |x - n π| ≤ π/2, π in two parts (Cody and Waite)
 *     cos x  = (-1)^n sin(x - (n - 1/2) π)
 *     |x|^y  = 2^(y log2 |x|),  log2 |x| = k + log2 m,  log2 m = s P(s²), s = (m - 1) / (m + 1), √½ ≤ m < √2
 */
import { type Code, I, OP, SIMD } from '../../kir/instructions.ts'
import { kept, type LaneMath, polynomial } from './wasmLaneMath.ts'

const add = [SIMD.f64Add]
const sub = [SIMD.f64Sub]
const mul = [SIMD.f64Mul]
const addBits = [SIMD.i64Add]

/** Added to a double below 2^51, it rounds it to the nearest integer and leaves that in the lowest bits. */
const SHIFT = 1.5 * 2 ** 52
const LOWER = [0, 1, 2, 3, 4, 5, 6, 7]
const UPPER = LOWER.map((byte) => byte + 8)

/** Computes four f32 in two halves: `half` gets the lower lanes of all vectors as two doubles each, and then the upper ones. */
function inHalves(m: LaneMath, vectors: readonly Code[], half: (...doubles: Code[]) => Code): Code {
  const lower = vectors.map((x) => kept(m, [x, SIMD.promoteF32]))
  const upper = vectors.map((x) => kept(m, [x, x, I.shuffle([...UPPER, ...LOWER]), SIMD.promoteF32]))
  const halves = [lower, upper].map((doubles) => [...[doubles.map(([set]) => set), half(...doubles.map(([, get]) => get)), SIMD.demoteF64]])
  return [halves, I.shuffle([...LOWER, ...LOWER.map((byte) => byte + 16)])]
}

// ------------------------------------------------------------------ sin and cos

/** π in two parts: 33 bits, whose products with 20 bits are exact, and the remainder. */
const PI_HIGH = 3.1415926534682512
const PI_LOW = 1.2154201013012384e-10
/** From here on a multiple of π may be inexact, and JavaScript's function is called. */
const LARGE = 2 ** 20
/** The polynomial of sin r / r in r², up to π/2: relative error 2^-35. */
const SINE = [
  -2.3889104032675583e-8, 2.752526349541792e-6, -1.9840861058037127e-4, 8.333330973271878e-3, -0.16666666616790812, 0.9999999999829089,
]

/** Leaves the sine or cosine of four f32; lanes that are too large are computed one by one by JavaScript's function. */
export function wave(m: LaneMath, name: 'Math.cos' | 'Math.sin', argument: Code): Code {
  const [setX, x] = kept(m, argument)
  const [setResult, result] = kept(
    m,
    inHalves(m, [x], (half = []) => sine(m, name, half)),
  )
  const [setLarge, large] = kept(m, [x, SIMD.f32Abs, m.number('f32', LARGE), SIMD.f32Ge])
  const lane = (vector: Code, i: number): Code => [vector, I.simdLane(SIMD.f32ExtractLane, i)]
  const itself = (i: number): Code => [m.itself(name, [lane(x, i), OP.f64PromoteF32]), OP.f32DemoteF64]
  const lanes = [0, 1, 2, 3].map((i): Code => {
    const isLarge = [large, I.simdLane(SIMD.i32ExtractLane, i)]
    return [isLarge, I.if('f32'), itself(i), OP.else, lane(result, i), OP.end, I.simdLane(SIMD.f32ReplaceLane, i)]
  })
  const chosen = [large, SIMD.anyTrue, I.if('v128'), result, lanes, OP.else, result, OP.end]
  return [setX, setResult, setLarge, chosen]
}

/** The sine or cosine of two doubles. The lowest bit of n, shifted to the top, is the sign of (-1)^n. */
function sine(m: LaneMath, name: 'Math.cos' | 'Math.sin', x: Code): Code {
  const quarter = (...sign: Code): Code => (name === 'Math.sin' ? [] : [m.number('f64', 0.5), sign])
  const [setShifted, shifted] = kept(m, [x, m.number('f64', 1 / Math.PI), mul, quarter(add), m.number('f64', SHIFT), add])
  const [setN, n] = kept(m, [shifted, m.number('f64', SHIFT), sub, quarter(sub)])
  const [setR, r] = kept(m, [x, n, m.number('f64', PI_HIGH), mul, sub, n, m.number('f64', PI_LOW), mul, sub])
  const [setSquare, square] = kept(m, [r, r, mul])
  const sign = [shifted, I.i32Const(63), SIMD.i64Shl]
  return [setShifted, setN, setR, setSquare, polynomial(m, 'f64', square, SINE), r, mul, sign, SIMD.xor]
}

// ------------------------------------------------------------------ powers

/** Returns the double with these bits. */
function double(bits: bigint): number {
  return new Float64Array(BigInt64Array.of(bits).buffer)[0] as number // of one
}

const ONE = 0x3ff00000_00000000n
/** The upper half of the bits of √½. */
const ROOT = 0x3fe6a09e_00000000n
const FRACTION = 0x000fffff_ffffffffn
/** The polynomial of log2((1 + s) / (1 - s)) / s in s²: relative error 2^-43. */
const LOG2 = [0.2829066165906811, 0.3199053739227617, 0.412209256786155, 0.5770779423594591, 0.9617966941132127, 2.88539008177785]
/** The polynomial of 2^x, for |x| up to a half: relative error 2^-34. */
const EXP2 = [
  ...[1.5303700711365693e-5, 1.5469729214118296e-4, 1.3333478473685416e-3, 9.618025613318034e-3, 5.5504109063258665e-2],
  ...[0.24022651213498092, 0.6931471805568324, 0.9999999999595618],
]
/** The greatest exponent that matters: 2 to a greater one is infinite as an f32, and 2 to less than its negative is 0. */
const MOST = 200
/** The sign bit of an f32. */
const SIGN = -(2 ** 31)

/**
 * Leaves four f32 to the power of four others. As doubles, log2 0 = -∞ and log2 ∞ = ∞, so that products with y yield
 * the right infinities, zeros and NaN; special cases are x^0 = 1, the sign of odd powers, and roots of negative numbers.
 */
export function power(m: LaneMath, base: Code, exponent: Code): Code {
  const [[setX, x], [setY, y]] = [kept(m, base), kept(m, exponent)]
  const number = (value: number): Code => m.number('f32', value)
  const [setSize, size] = kept(m, [x, SIMD.f32Abs])
  // Added to the logarithm: -∞ for 0, ∞ and NaN for themselves, 0 for all others.
  const ofZero = [size, number(0), SIMD.f32Eq, number(Number.NEGATIVE_INFINITY), SIMD.and]
  const isBounded = [size, number(Number.POSITIVE_INFINITY), SIMD.f32Lt]
  const [setMore, more] = kept(m, [ofZero, size, isBounded, SIMD.andNot, SIMD.or])
  const [setResult, result] = kept(
    m,
    inHalves(m, [size, y, more], (a = [], b = [], c = []) => exp2(m, [b, log2(m, a), c, add, mul])),
  )
  const [setWhole, whole] = kept(m, [y, SIMD.f32Trunc, y, SIMD.f32Eq])
  const [setHalf, half] = kept(m, [y, number(0.5), SIMD.f32Mul])
  const isOdd = [half, SIMD.f32Trunc, half, SIMD.f32Ne, whole, SIMD.and]
  const signed = [result, x, isOdd, SIMD.and, m.number('i32', SIGN), SIMD.and, SIMD.xor]
  const isNegative = [x, number(0), SIMD.f32Lt, x, number(Number.NEGATIVE_INFINITY), SIMD.f32Gt, SIMD.and]
  const isRoot = [isNegative, whole, SIMD.andNot]
  const real = [number(Number.NaN), signed, isRoot, SIMD.bitSelect]
  const isNone = [y, number(0), SIMD.f32Eq]
  const sets = [setX, setY, setSize, setMore, setResult, setWhole, setHalf]
  return [sets, number(1), real, isNone, SIMD.bitSelect]
}

/** log2 of two doubles, finite and above 0. Adding 1 - √½ to the upper half of the bits carries into k where m is above √2. */
function log2(m: LaneMath, x: Code): Code {
  const [setUp, up] = kept(m, [x, m.number('f64', double(ONE - ROOT)), addBits])
  const wholes = [up, I.i32Const(52), SIMD.i64ShrU, m.number('f64', 2 ** 52), SIMD.or]
  const k = [wholes, m.number('f64', 2 ** 52 + 1023), sub]
  const fraction = [up, m.number('f64', double(FRACTION)), SIMD.and, m.number('f64', double(ROOT)), addBits]
  const [setM, mantissa] = kept(m, fraction)
  const quotient = [mantissa, m.number('f64', 1), sub, mantissa, m.number('f64', 1), add, SIMD.f64Div]
  const [setS, s] = kept(m, quotient)
  const [setSquare, square] = kept(m, [s, s, mul])
  return [setUp, setM, setS, setSquare, polynomial(m, 'f64', square, LOG2), s, mul, k, add]
}

/** 2^x of two doubles; x is clamped to ±`MOST`. */
function exp2(m: LaneMath, x: Code): Code {
  const below = [x, m.number('f64', MOST), SIMD.f64LesserOrFirst]
  const [setZ, z] = kept(m, [below, m.number('f64', -MOST), SIMD.f64GreaterOrFirst])
  const [setShifted, shifted] = kept(m, [z, m.number('f64', SHIFT), add])
  const [setRest, rest] = kept(m, [z, shifted, m.number('f64', SHIFT), sub, sub])
  const scale = [shifted, I.i32Const(52), SIMD.i64Shl, m.number('f64', double(ONE)), addBits]
  return [setZ, setShifted, setRest, polynomial(m, 'f64', rest, EXP2), scale, mul]
}
