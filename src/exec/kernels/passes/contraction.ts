/**
 * Contraction, in relaxed precision: a product and the sum that it is part of are one instruction, which rounds once where
 * the CPU has one, and twice where it has none.
 *
 *     a * b + c    madd(a, b, c)          c - a * b    nmadd(a, b, c)          a * b - c    madd(a, b, -c)
 *
 * A product that a local of the body keeps is rounded when it is kept. An iteration must get its bits wherever blocks and
 * slices are cut: so it is done only in loops whose turns all run in lanes, those that are left one lane at a time, and in
 * loops inside an iteration, whose turns nothing cuts.
 */
import { type Code, SIMD } from '../../kir/instructions.ts'

export class Contraction {
  /** The factors of products, by the code that multiplies: what is kept in a local has other code. */
  readonly #products = new WeakMap<Code, readonly [a: Code, b: Code]>()
  /** Whether there was anything to contract. */
  isUsed = false

  /** Says that the code computes a product, and leaves it as it is. */
  noteProduct(code: Code, a: Code, b: Code): void {
    this.#products.set(code, [a, b])
  }

  /** `left + right` or `left - right`; undefined where neither is a product. */
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
