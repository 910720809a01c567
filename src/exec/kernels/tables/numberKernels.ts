/**
 * Converts 64-bit integers to doubles, two at a time, in the memory of another module or in the arena.
 *
 *     high * 2 ** 32 + low, divided by `divisor`
 *
 * Both halves and their sum are exact, as long as the sum is between ±2^53: a greater one is rounded to at least that, and
 * is found by the comparison with `limit`.
 */

import type { Integers, NumberKernels } from '../../../core/ports.ts'
import { type Code, get, I, OP, type Plain, SIMD, set } from '../../kir/instructions.ts'
import type { KernelModule } from '../../kir/kernelModule.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'
import { element } from './groupFrame.ts'
import { counting, numbered } from './sortKernels.ts'

/** Shuffles that move the low or the high halves of two integers into lanes 0 and 1; the other lanes are not read. */
const [LOW_HALVES, HIGH_HALVES] = [0, 4].map((half) => I.shuffle([0, 8].flatMap((at) => [0, 1, 2, 3].map((byte) => at + half + byte))))

/** run(address, out, from, to, limit, divisor): scales pairs of integers; traps where one is not between ±limit. */
export function scaledKernel({ signed, foreign }: { readonly signed: boolean; readonly foreign?: true }): KernelModule {
  const { address, out, from, to, limit, divisor, pair, far, most, by } = numbered(
    ...(['address', 'out', 'from', 'to', 'limit', 'divisor', 'pair', 'far', 'most', 'by'] as const),
  )
  const half = (bytes: Code | undefined, convert: Plain): Code => [...get(pair), ...get(pair), ...(bytes ?? []), convert]
  const high = half(HIGH_HALVES, signed ? SIMD.f64ConvertI32S : SIMD.f64ConvertI32U)
  const sum = [...[...high, ...I.f64Const(2 ** 32), SIMD.f64Splat, SIMD.f64Mul], ...[...half(LOW_HALVES, SIMD.f64ConvertI32U), SIMD.f64Add]]
  const each = [
    ...[...element(address, from, 4), ...I.memory(SIMD.load), ...set(pair), ...sum, ...set(pair)],
    ...[...get(far), ...get(pair), SIMD.f64Abs, ...get(most), SIMD.f64Ge, SIMD.or, ...set(far)],
    ...[...element(out, from, 4), ...get(pair), ...get(by), SIMD.f64Div, ...I.memory(SIMD.store)],
  ]
  const body = [
    ...[...get(limit), SIMD.f64Splat, ...set(most), ...get(divisor), SIMD.f64Splat, ...set(by)],
    ...counting(from, to, each),
    ...[...get(far), SIMD.anyTrue, ...I.if(), OP.unreachable, OP.end],
  ]
  return {
    imports: [],
    parameters: ['address', 'address', 'i32', 'i32', 'f64', 'f64'],
    locals: ['v128', 'v128', 'v128', 'v128'],
    body,
    ...(foreign && { foreign }),
  }
}

type Run = (address: number, out: number, from: number, to: number, limit: number, divisor: number) => void

const modules = new Map<boolean, WebAssembly.Module>()
/** The instantiated kernels of a memory, by signedness: a decoder's memory serves many columns. */
const instances = new WeakMap<WebAssembly.Memory, Map<boolean, Run>>()

export const numberKernels: NumberKernels = {
  scaled: (memory, integers) => scaledBy(instanceOver(memory, integers.signed), memory, integers, integers.address),
}

/** Writes the numbers from address `out` on, which may be that of the integers; returns false where one is not between ±limit. */
export function scaledBy(run: Run, memory: WebAssembly.Memory, { address, count, signed, limit, divisor }: Integers, out: number): boolean {
  try {
    run(address, out, 0, count >> 1, limit, divisor)
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false
    throw error
  }
  if (count % 2 === 0) return true
  // the last of an odd number of integers
  const last = 8 * (count - 1)
  const view = new DataView(memory.buffer, address + last, 8)
  const sum = (signed ? view.getInt32(4, true) : view.getUint32(4, true)) * 2 ** 32 + view.getUint32(0, true)
  new DataView(memory.buffer, out + last, 8).setFloat64(0, sum / divisor, true)
  return Math.abs(sum) < limit
}

function instanceOver(memory: WebAssembly.Memory, signed: boolean): Run {
  const known = instances.get(memory) ?? new Map<boolean, Run>()
  instances.set(memory, known)
  let run = known.get(signed)
  if (run === undefined) {
    const module = modules.get(signed) ?? new WebAssembly.Module(moduleBytes(scaledKernel({ signed, foreign: true })))
    modules.set(signed, module)
    run = new WebAssembly.Instance(module, { k: { memory } }).exports.run as Run // its one export
    known.set(signed, run)
  }
  return run
}
