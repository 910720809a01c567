/** The interface between functions of lanes and the kernel that they are written into. */
import { type Code, I, SIMD } from '../../kir/instructions.ts'

/** The services of the surrounding kernel that code of functions uses. */
export interface LaneMath {
  /** A vector with this f64, f32 or 32-bit integer in every lane. */
  number(kind: 'f64' | 'f32' | 'i32', value: number): Code
  declare(type: 'v128'): number
  /** Whether relaxed SIMD may be used, whose last bit the CPU decides. */
  readonly isRelaxed: boolean
  /** Leaves the result of JavaScript's function for the f64 that `x` leaves. */
  itself(name: 'Math.cos' | 'Math.sin', x: Code): Code
}

/** Keeps a vector in a local: returns code that sets it, and code that reads it. */
export function kept(m: LaneMath, code: Code): readonly [Code, Code] {
  const slot = m.declare('v128')
  return [[code, I.localSet(slot)], I.localGet(slot)]
}

/** Evaluates c[0] x^n + … + c[n] by Horner's rule. */
export function polynomial(m: LaneMath, kind: 'f64' | 'f32', x: Code, coefficients: readonly number[]): Code {
  const [mul, add, madd] =
    kind === 'f64' ? [SIMD.f64Mul, SIMD.f64Add, SIMD.f64RelaxedMadd] : [SIMD.f32Mul, SIMD.f32Add, SIMD.f32RelaxedMadd]
  return coefficients.map((c, i) => {
    if (i === 0) return m.number(kind, c)
    return m.isRelaxed ? [x, m.number(kind, c), madd] : [x, mul, m.number(kind, c), add]
  })
}
