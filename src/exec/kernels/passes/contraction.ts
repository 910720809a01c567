/**
 * Contraction, in relaxed precision: a product and a sum of it become one multiply-add, which rounds once where
 * the CPU has that instruction, and twice where it has none.
 *
 *     a * b + c    madd(a, b, c)          c - a * b    nmadd(a, b, c)          a * b - c    madd(a, b, -c)
 *
 * A product that a local of the body holds is rounded. An iteration must give the same bits however blocks and
 * slices are cut: so contraction is done only in loops whose iterations all run in lanes, the remainder one lane at a time, and in
 * loops inside an iteration, which are never cut.
 */
import { type Code, SIMD } from '../../kir/instructions.ts'

export class Contraction {
  /** The factors of products, by the code that multiplies; a product read from a local has other code. */
  readonly #products = new WeakMap<Code, readonly [a: Code, b: Code]>()
  /** Whether a product was contracted. */
  isUsed = false

  /** Records that the code computes the product of `a` and `b`; the code itself stays. */
  noteProduct(code: Code, a: Code, b: Code): void {
    this.#products.set(code, [a, b])
  }

  /** Returns contracted code for `left + right` or `left - right`; undefined where neither is a product. */
  sum(kind: 'f64' | 'f32', operator: '+' | '-', left: Code, right: Code): Code | undefined {
    const [madd, nmadd, negative] =
      kind === 'f64' ? [SIMD.f64RelaxedMadd, SIMD.f64RelaxedNmadd, SIMD.f64Neg] : [SIMD.f32RelaxedMadd, SIMD.f32RelaxedNmadd, SIMD.f32Neg]
    const [of, last] = [this.#products.get(left), this.#products.get(right)]
    if (of === undefined && last === undefined) return undefined
    this.isUsed = true
    if (last !== undefined) return [last, left, operator === '+' ? madd : nmadd]
    return [of ?? [], right, operator === '+' ? [] : [negative], madd]
  }
}
