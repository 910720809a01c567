/**
 * `Math.log1p`, `log2`, `log10` and the inverses of hyperbolic functions, by the operations of fdlibm (Sun, 1993: s_log1p.c, e_log10.c,
 * s_asinh.c, e_acosh.c, e_atanh.c) and of FreeBSD's e_log2.c in their order, as V8 has them.
 *
 *     1 + x = 2^k (1 + f), 1 + f between the roots of 1/2 and 2;  log1p x = k ln 2 + log (1 + f), corrected for the rounding of 1 + x
 *     log2 x = k + log (1 + f) / ln 2, in two parts;  asinh x = log1p(|x| + x^2 / (1 + sqrt(1 + x^2))) with the sign of x
 */
import { type Code, I, OP } from '../../../kir/instructions.ts'
import { logarithm } from '../wasmLogarithm.ts'
import {
  abs,
  add,
  below,
  type DoubleCode,
  div,
  either,
  equal,
  less,
  mul,
  polynomial,
  sqrt,
  sub,
  upper,
  upperOfAbs,
  withoutLower,
  withSignOf,
  withUpper,
} from './doubleCode.ts'

const [LN2_HIGH, LN2_LOW] = [0.6931471803691238, 1.9082149292705877e-10]
const SERIES = [
  ...[0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805],
  ...[0.15313837699209373, 0.14798198605116586],
]
/** The coefficients of even and of odd powers of z². */
const EVEN = [0, 2, 4, 6].map((k) => SERIES[k] as number) // there are seven
const ODD = [1, 3, 5].map((k) => SERIES[k] as number) // as above
/** Upper halves: 2^-29, 2^-28, a half, one, two, 2^28, infinity. */
const [TINY, SMALL, HALF, ONE, TWO, LARGE, INFINITE] = [0x3e200000, 0x3e300000, 0x3fe00000, 0x3ff00000, 0x40000000, 0x41b00000, 0x7ff00000]

const asDouble = (k: Code): Code => [k, OP.f64ConvertI32S]
/** Whether the upper half of a number lies in a range, its end excluded. */
const within = (half: Code, from: number, to: number): Code => [half, I.i32Const(from), OP.i32Sub, I.i32Const(to - from), OP.i32LtU]

export function log1p(c: DoubleCode, [x]: readonly [Code]): Code {
  const [half, size] = [c.kept('i32', upper(x)), c.kept('i32', upperOfAbs(x))]
  // From -1 on, up to 2^53; and what is its own logarithm, as 0 is.
  const isOrdinary = [less(-1, x), below(half, 0x43400000), OP.i32And, below(size, TINY), OP.i32Eqz, OP.i32And]
  const other = (): Code =>
    c.chosen(
      equal(x, 0),
      () => x,
      () => c.called('Math.log1p', x),
    )
  return c.chosen(isOrdinary, () => ofSum(c, x, half), other)
}

/** log (1 + x), of x above -1 and below 2^53, not closer to 0 than 2^-29. */
function ofSum(c: DoubleCode, x: Code, half: Code): Code {
  // Between the roots less 1, f is x: the range of negative numbers is one of larger upper halves.
  const isNear0 = c.kept('i32', [
    ...[below(half, 0x3fda827a), half, I.i32Const(0), OP.i32GtS, half, I.i32Const(0xbfd2bec4), OP.i32LeS, OP.i32Or, OP.i32And],
  ])
  const near0 = (): Code => {
    const { f, square, s, R } = parts(c, x)
    return sub(f, sub(square, mul(s, add(square, R))))
  }
  const far = (): Code => {
    const u = c.kept('f64', add(1, x))
    const ofU = c.kept('i32', upper(u))
    const digits = c.kept('i32', [ofU, I.i32Const(0xfffff), OP.i32And])
    const isLow = c.kept('i32', below(digits, 0x6a09e))
    const exponent = [ofU, I.i32Const(20), OP.i32ShrS, I.i32Const(1023), OP.i32Sub]
    const correction = either([exponent, I.i32Const(0), OP.i32GtS], sub(1, sub(u, x)), sub(x, sub(u, 1)))
    const rest = c.kept('f64', div(correction, u))
    const k = c.kept('f64', asDouble([exponent, isLow, OP.i32Eqz, OP.i32Add]))
    const f = c.kept('f64', sub(withUpper([digits, I.i32Const(ONE), I.i32Const(HALF), isLow, OP.select, OP.i32Or], u), 1))
    const low = c.kept('f64', add(mul(k, LN2_LOW), rest))
    const ordinary = (): Code => {
      const { square, s, R } = parts(c, f)
      return sub(mul(k, LN2_HIGH), sub(sub(square, add(mul(s, add(square, R)), low)), f))
    }
    const nearPower = (): Code => {
      const R = mul(mul(mul(0.5, f), f), sub(1, mul(2 / 3, f)))
      return either(equal(f, 0), add(mul(k, LN2_HIGH), add(rest, mul(k, LN2_LOW))), sub(mul(k, LN2_HIGH), sub(sub(R, low), f)))
    }
    // The original has zero here for the digits of a power of 2, and for those just below the next one, of which it takes a quarter.
    const quarter = [I.i32Const(0x100000), digits, OP.i32Sub, I.i32Const(2), OP.i32ShrS]
    return c.chosen([digits, quarter, isLow, OP.select, OP.i32Eqz], nearPower, ordinary)
  }
  return c.chosen(isNear0, near0, far)
}

/** What the series of log (1 + f) is made of. */
function parts(c: DoubleCode, f: Code): { readonly f: Code; readonly square: Code; readonly s: Code; readonly R: Code } {
  const square = c.kept('f64', mul(mul(0.5, f), f))
  const s = c.kept('f64', div(f, add(2, f)))
  const z = c.kept('f64', mul(s, s))
  return { f, square, s, R: c.kept('f64', mul(z, polynomial(z, SERIES))) }
}

export function log2(c: DoubleCode, [x]: readonly [Code]): Code {
  const half = c.kept('i32', upper(x))
  const ordinary = (): Code => {
    const digits = c.kept('i32', [half, I.i32Const(0xfffff), OP.i32And])
    const i = c.kept('i32', [digits, I.i32Const(0x95f64), OP.i32Add, I.i32Const(0x100000), OP.i32And])
    const exponent = [half, I.i32Const(20), OP.i32ShrS, I.i32Const(1023), OP.i32Sub, i, I.i32Const(20), OP.i32ShrS, OP.i32Add]
    const k = c.kept('f64', asDouble(exponent))
    const f = c.kept('f64', sub(withUpper([digits, i, I.i32Const(ONE), OP.i32Xor, OP.i32Or], x), 1))
    const square = c.kept('f64', mul(mul(0.5, f), f))
    const s = c.kept('f64', div(f, add(2, f)))
    const z = c.kept('f64', mul(s, s))
    const w = c.kept('f64', mul(z, z))
    const R = add(mul(z, polynomial(w, EVEN)), mul(w, polynomial(w, ODD)))
    const r = mul(s, add(square, R))
    const high = c.kept('f64', withoutLower(sub(f, square)))
    const low = c.kept('f64', add(sub(sub(f, high), square), r))
    const upperPart = c.kept('f64', mul(high, 1.4426950407214463))
    const lowerPart = add(mul(add(low, high), 1.6751713164886512e-10), mul(low, 1.4426950407214463))
    const sum = c.kept('f64', add(k, upperPart))
    return add(add(lowerPart, add(sub(k, sum), upperPart)), sum)
  }
  const powers = (): Code => c.chosen(equal(x, 1), () => I.f64Const(0), ordinary)
  return c.chosen(within(half, 0x00100000, INFINITE), powers, () => c.called('Math.log2', x))
}

export function log10(c: DoubleCode, [x]: readonly [Code]): Code {
  const half = c.kept('i32', upper(x))
  const ordinary = (): Code => {
    const k = c.kept('i32', [half, I.i32Const(20), OP.i32ShrS, I.i32Const(1023), OP.i32Sub])
    const isBelow1 = c.kept('i32', [k, I.i32Const(31), OP.i32ShrU])
    const digits = [half, I.i32Const(0xfffff), OP.i32And]
    const y = c.kept('f64', asDouble([k, isBelow1, OP.i32Add]))
    const part = withUpper([digits, I.i32Const(1023), isBelow1, OP.i32Sub, I.i32Const(20), OP.i32Shl, OP.i32Or], x)
    const z = add(mul(y, 3.694239077158931e-13), mul(Math.LOG10E, natural(c, part)))
    return add(z, mul(y, 0.30102999566361177))
  }
  const powers = (): Code => c.chosen(equal(x, 1), () => I.f64Const(0), ordinary)
  return c.chosen(within(half, 0x00100000, INFINITE), powers, () => c.called('Math.log10', x))
}

export function asinh(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const [t, square] = [c.kept('f64', abs(x)), c.kept('f64', mul(x, x))]
  const ofLog = (): Code => natural(c, add(mul(2, t), div(1, add(sqrt(add(mul(x, x), 1)), t))))
  const ofLog1p = (): Code => log1p(c, [c.kept('f64', add(t, div(square, add(1, sqrt(add(1, square))))))])
  const ordinary = (): Code => withSignOf(c.chosen(below(size, TWO + 1), ofLog1p, ofLog), x)
  const middle = (): Code => c.chosen(below(size, SMALL), () => x, ordinary)
  return c.chosen(below(size, LARGE), middle, () => c.called('Math.asinh', x))
}

export function acosh(c: DoubleCode, [x]: readonly [Code]): Code {
  const half = c.kept('i32', upper(x))
  const ofLog = (): Code => natural(c, sub(mul(2, x), div(1, add(x, sqrt(sub(mul(x, x), 1))))))
  const ofLog1p = (): Code => {
    const t = c.kept('f64', sub(x, 1))
    return log1p(c, [c.kept('f64', add(t, sqrt(add(mul(2, t), mul(t, t)))))])
  }
  const ordinary = (): Code => c.chosen(below(half, TWO + 1), ofLog1p, ofLog)
  return c.chosen(within(half, ONE, LARGE), ordinary, () => c.called('Math.acosh', x))
}

export function atanh(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const ordinary = (): Code => {
    const t = c.kept('f64', abs(x))
    const twice = c.kept('f64', add(t, t))
    const large = div(twice, sub(1, t))
    const argument = c.kept('f64', either(below(size, HALF), add(twice, div(mul(twice, t), sub(1, t))), large))
    return withSignOf(mul(0.5, log1p(c, [argument])), x)
  }
  const middle = (): Code => c.chosen(below(size, SMALL), () => x, ordinary)
  return c.chosen(below(size, ONE), middle, () => c.called('Math.atanh', x))
}

function natural(c: DoubleCode, x: Code): Code {
  return logarithm(c.declare, x, (y) => c.called('Math.log', y))
}
