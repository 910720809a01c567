/**
 * Detection of relaxed SIMD: instructions whose result the CPU decides within bounds, always in the same
 * way. An engine without them refuses a module that has one.
 */
import { once } from '../../core/once.ts'
import { I, OP, SIMD } from '../kir/instructions.ts'
import { moduleBytes } from './wasmEncoder.ts'

export const hasRelaxedSimd: () => boolean = once(() => {
  const vector = I.localGet(0)
  const body = [vector, vector, vector, SIMD.f32RelaxedMadd, OP.drop]
  return WebAssembly.validate(moduleBytes({ imports: [], parameters: [], locals: ['v128'], body }))
})
