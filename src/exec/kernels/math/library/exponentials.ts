/**
 * `Math.expm1`, `sinh`, `cosh` and `tanh`, by the operations of fdlibm (Sun, 1993: s_expm1.c, e_sinh.c, e_cosh.c, s_tanh.c) in their
 * order, as V8 has them.
 *
 *     x = k ln 2 + r, |r| < 0.5 ln 2;  e^r - 1 = r + r^2/2 + …, by a rational approximation;  e^x - 1 = 2^k (e^r - 1) + (2^k - 1)
 *     tanh x = 1 - 2 / (expm1(2x) + 2),  sinh x = (t + t / (t + 1)) / 2, t = expm1(x),  cosh x = (e^x + e^-x) / 2
 */
import { type Code, I, OP } from '../../../kir/instructions.ts'
import { exponential } from '../wasmExponential.ts'
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
  powerOf2,
  sub,
  trunc,
  upperOfAbs,
  withSignOf,
} from './doubleCode.ts'

const [LN2_HIGH, LN2_LOW, INVERSE_LN2] = [0.6931471803691238, 1.9082149292705877e-10, Math.LOG2E]
const SERIES = [
  ...[1, -0.03333333333333313, 0.0015873015872548146, -0.0000793650757867488],
  ...[0.000004008217827329362, -2.0109921818362437e-7],
]
/** Upper halves: 2^-54, 2^-28, half of ln 2, one, 22, 56 ln 2. */
const [LEAST, SMALL, HALF_LN2, ONE, LARGE, MOST] = [0x3c900000, 0x3e300000, 0x3fd62e42, 0x3ff00000, 0x40360000, 0x4043687a]

export function expm1(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const ordinary = (): Code =>
    c.chosen(
      below(size, LEAST),
      () => x,
      () => lessOne(c, x, size),
    )
  return c.chosen(below(size, MOST), ordinary, () => c.called('Math.expm1', x))
}

/** e^x - 1, of x from 2^-54 to 56 ln 2. */
function lessOne(c: DoubleCode, x: Code, size: Code): Code {
  const nearest = trunc(add(mul(INVERSE_LN2, x), withSignOf(0.5, x)))
  // Between a half and one and a half of ln 2, the quotient is not asked.
  const multiple = either(below(size, 0x3ff0a2b2), withSignOf(1, x), nearest)
  const n = c.kept('f64', either(below(size, HALF_LN2 + 1), 0, multiple))
  const [high, low] = [c.kept('f64', sub(x, mul(n, LN2_HIGH))), c.kept('f64', mul(n, LN2_LOW))]
  const r = c.kept('f64', sub(high, low))
  const rest = c.kept('f64', sub(sub(high, r), low))
  const half = c.kept('f64', mul(0.5, r))
  const square = c.kept('f64', mul(r, half))
  const series = c.kept('f64', polynomial(square, SERIES))
  const t = c.kept('f64', sub(3, mul(series, half)))
  const quotient = mul(square, div(sub(series, t), sub(6, mul(r, t))))
  const e = c.kept('f64', sub(sub(mul(r, sub(quotient, rest)), rest), square))
  const k = c.kept('i32', [n, OP.i32TruncF64S])
  const is = (value: number): Code => [k, I.i32Const(value), OP.i32Eq]
  const power = powerOf2(k)
  const ofOne = (): Code => either(less(r, -0.25), mul(-2, sub(e, add(r, 0.5))), add(1, mul(2, sub(r, e))))
  const below20 = (): Code => mul(sub(sub(1, powerOf2([I.i32Const(0), k, OP.i32Sub])), sub(e, r)), power)
  const above20 = (): Code => mul(add(sub(r, add(e, powerOf2([I.i32Const(0), k, OP.i32Sub]))), 1), power)
  const positive = (): Code => c.chosen(is(1), ofOne, () => c.chosen(below(k, 20), below20, above20))
  const negative = (): Code =>
    c.chosen(
      is(-1),
      () => sub(mul(0.5, sub(r, e)), 0.5),
      () => sub(mul(sub(1, sub(e, r)), power), 1),
    )
  return c.chosen(
    [k, OP.i32Eqz],
    () => sub(r, e),
    () => c.chosen(below(k, 0), negative, positive),
  )
}

export function tanh(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const isBelowOne = below(size, ONE)
  const ordinary = (): Code => {
    const twice = c.kept('f64', mul(either(isBelowOne, -2, 2), abs(x)))
    const t = c.kept('f64', lessOne(c, twice, c.kept('i32', upperOfAbs(twice))))
    const quotient = c.kept('f64', div(either(isBelowOne, t, 2), add(t, 2)))
    return withSignOf(either(isBelowOne, [quotient, OP.f64Neg], sub(1, quotient)), x)
  }
  const large = (): Code =>
    c.chosen(
      equal(x, x),
      () => withSignOf(1, x),
      () => c.called('Math.tanh', x),
    )
  return c.chosen(below(size, LARGE), () => c.chosen(below(size, SMALL), () => x, ordinary), large)
}

export function sinh(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const ordinary = (): Code => {
    const t = c.kept('f64', lessOne(c, c.kept('f64', abs(x)), size))
    const quotient = c.kept('f64', div(t, add(t, 1)))
    const square = div(mul(t, t), add(t, 1))
    return mul(withSignOf(0.5, x), either(below(size, ONE), sub(mul(2, t), square), add(t, quotient)))
  }
  const middle = (): Code => c.chosen(below(size, SMALL), () => x, ordinary)
  return c.chosen(below(size, LARGE), middle, () => c.called('Math.sinh', x))
}

export function cosh(c: DoubleCode, [x]: readonly [Code]): Code {
  const size = c.kept('i32', upperOfAbs(x))
  const near0 = (): Code => {
    const t = c.kept('f64', expm1(c, [c.kept('f64', abs(x))]))
    const w = c.kept('f64', add(1, t))
    return either(below(size, 0x3c800000), w, add(1, div(mul(t, t), add(w, w))))
  }
  const ordinary = (): Code => {
    const power = c.kept(
      'f64',
      exponential(c.declare, abs(x), (y) => c.called('Math.exp', y)),
    )
    return add(mul(0.5, power), div(0.5, power))
  }
  const middle = (): Code => c.chosen(below(size, HALF_LN2 + 1), near0, ordinary)
  return c.chosen(below(size, LARGE), middle, () => c.called('Math.cosh', x))
}
