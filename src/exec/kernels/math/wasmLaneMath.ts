/** What functions of lanes are written with. */
import { type Code, I, SIMD } from '../../kir/instructions.ts'

/** What the functions need of the kernel around them. */
export interface LaneMath {
  /** A vector of equal f64, f32 or 32-bit integers. */
  number(kind: 'f64' | 'f32' | 'i32', value: number): Code
  declare(type: 'v128'): number
  /** Whether instructions may be used of which the CPU decides the last bit. */
  readonly isRelaxed: boolean
  /** Leaves what JavaScript's function gives for the f64 that `x` leaves. */
  itself(name: 'Math.cos' | 'Math.sin', x: Code): Code
}

/** The value in a local: code that sets it, and code that reads it. */
export function kept(m: LaneMath, code: Code): readonly [Code, Code] {
  const slot = m.declare('v128')
  return [[code, I.localSet(slot)], I.localGet(slot)]
}

/** c[0] x^n + … + c[n], by Horner's rule. */
export function polynomial(m: LaneMath, kind: 'f64' | 'f32', x: Code, coefficients: readonly number[]): Code {
  const [mul, add, madd] =
    kind === 'f64' ? [SIMD.f64Mul, SIMD.f64Add, SIMD.f64RelaxedMadd] : [SIMD.f32Mul, SIMD.f32Add, SIMD.f32RelaxedMadd]
  return coefficients.map((c, i) => {
    if (i === 0) return m.number(kind, c)
    return m.isRelaxed ? [x, m.number(kind, c), madd] : [x, mul, m.number(kind, c), add]
  })
}
