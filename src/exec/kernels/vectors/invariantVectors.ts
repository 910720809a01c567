/**
 * Loop-invariant vectors: each is made once, before the loop.
 */
import { type Code, codeId, type GrowingCode, I, OP, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { asBool, asF64, F64, type Value } from '../expressions/types.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import type { LaneKind } from './wasmLanes.ts'

export class LaneConstants {
  readonly #w: KernelWriter
  readonly #before: GrowingCode
  readonly #slots = new Map<string, number>()

  /** `before` collects code that runs before all vectors. */
  constructor(w: KernelWriter, before: GrowingCode) {
    this.#w = w
    this.#before = before
  }

  /** A vector with the value in every lane, kept in a local. */
  splat(kind: LaneKind, value: Value): Code {
    return this.#once(`${kind} ${codeId(value.code)}`, () => this.lanes(kind, value))
  }

  /** A vector with this f32 in every lane, kept in a local. */
  single(single: Code): Code {
    return this.#once(`single ${codeId(single)}`, () => [single, SIMD.f32Splat])
  }

  /** A vector with the value in every lane, made where it is used. */
  lanes(kind: LaneKind, value: Value): Code {
    switch (kind) {
      case 'f64':
        return [asF64(value), SIMD.f64Splat]
      case 'f32':
        return [asF64(value), OP.f32DemoteF64, SIMD.f32Splat]
      case 'i32':
        return [...this.#w.emitter.int32(value), SIMD.i32Splat]
      case 'mask':
        return [I.i32Const(0), asBool(value), OP.i32Sub, SIMD.i32Splat]
    }
  }

  number(kind: 'f64' | 'f32' | 'i32', value: number): Code {
    const isInteger = kind === 'i32' || (value === (value | 0) && !Object.is(value, -0))
    if (!isInteger) return this.splat(kind, { type: F64, code: I.f64Const(value) })
    return this.splat(kind, { type: { kind: 'i32', low: value, high: value }, code: I.i32Const(value), literal: value })
  }

  /** The vector first, first + 1, first + 2, first + 3. */
  steps(first: number): Code {
    return this.#once(`steps ${first}`, () => lanesConst([first, first + 1, first + 2, first + 3]))
  }

  #once(key: string, lanes: () => Code): Code {
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = this.#w.declare('v128')
      this.#slots.set(key, slot)
      this.#before.push(lanes(), I.localSet(slot))
    }
    return I.localGet(slot)
  }
}
