/**
 * `Math.cbrt` by the operations of FreeBSD's s_cbrt.c (Sun, 1993; improved by Evans) in their order, as V8 has it, and the remainder of
 * doubles, which is exact and so has one result.
 *
 *     cbrt: a third of the exponent and a polynomial give 23 bits, of which the square is exact; one step of Newton's method gives the rest
 *     a % b = a - q b, q = trunc(a / b), at most one too large; b in two parts, whose products with q are exact
 */
import { type Code, I, OP } from '../../../kir/instructions.ts'
import {
  abs,
  add,
  type DoubleCode,
  div,
  either,
  equal,
  less,
  mul,
  ofUpper,
  polynomial,
  sub,
  trunc,
  upper,
  withSignOf,
} from './doubleCode.ts'

/** A third of the exponents' offset, less what the approximation is too large by. */
const OFFSET = 715094163
const LOWER_SERIES = [1.87595182427177, -1.8849797954337717, 1.6214297201053545]
const UPPER_SERIES = [-0.758397934778766, 0.14599619288661245]

export function cbrt(c: DoubleCode, [x]: readonly [Code]): Code {
  const half = c.kept('i32', upper(x))
  const size = c.kept('i32', [half, I.i32Const(0x7fffffff), OP.i32And])
  const ordinary = (): Code => {
    const third = [size, I.i32Const(3), OP.i32DivU, I.i32Const(OFFSET), OP.i32Add]
    const t = c.kept('f64', withSignOf(ofUpper(third), x))
    const r = c.kept('f64', mul(mul(t, t), div(t, x)))
    const series = add(polynomial(r, LOWER_SERIES), mul(mul(mul(r, r), r), polynomial(r, UPPER_SERIES)))
    const bits = [mul(t, series), OP.i64ReinterpretF64, I.i64Const(0x80000000), OP.i64Add, I.i64Const(-(2 ** 30)), OP.i64And]
    const rounded = c.kept('f64', [bits, OP.f64ReinterpretI64])
    const s = c.kept('f64', div(x, mul(rounded, rounded)))
    return add(rounded, mul(rounded, div(sub(s, rounded), add(add(rounded, rounded), s))))
  }
  const other = (): Code =>
    c.chosen(
      equal(x, 0),
      () => x,
      () => c.called('Math.cbrt', x),
    )
  return c.chosen([size, I.i32Const(0x00100000), OP.i32Sub, I.i32Const(0x7fe00000), OP.i32LtU], ordinary, other)
}

/** The greatest quotient whose products with both halves of a divisor are exact. */
const MOST = 2 ** 26

/**
 * The remainder. Rounding takes the quotient up to the next integer at most, never below one. The divisor is cut into 26 and 27 digits, so
 * that both products with q are exact, and so are both differences: a is at most twice and at least half of the first product, or q is at
 * most 1 and the difference has no more digits than a or b; the second difference is the remainder, or that less b.
 */
export function remainder(c: DoubleCode, [x, y]: readonly [Code, Code]): Code {
  const [a, b] = [c.kept('f64', abs(x)), c.kept('f64', abs(y))]
  const q = c.kept('f64', trunc(div(a, b)))
  // Not by f64.max, which V8 makes a branch of.
  const isOrdinary = [less(q, MOST), less(a, 2 ** 1023), OP.i32And, less(b, 2 ** 1023), OP.i32And]
  const ordinary = (): Code => {
    const high = c.kept('f64', [b, OP.i64ReinterpretF64, I.i64Const(-(2 ** 27)), OP.i64And, OP.f64ReinterpretI64])
    const rest = c.kept('f64', sub(sub(a, mul(q, high)), mul(q, sub(b, high))))
    return withSignOf(either(less(rest, 0), add(rest, b), rest), x)
  }
  return c.chosen(isOrdinary, ordinary, () => c.called('%', x, y))
}
