/** Code of functions of one double, tried by itself: what kernels compute must have the bits of the engine's own function. */
import { type Code, I, OP, type ValueType } from '../../kir/instructions.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'

/** Leaves the function of `argument`; `itself` what the engine's own gives, for arguments that the code leaves to it. */
export type FunctionCode = (declare: (type: ValueType) => number, argument: Code, itself: (x: Code) => Code) => Code

/** The value in a local: code that sets it, and code that reads it. */
export function kept(declare: (type: ValueType) => number, type: ValueType, code: Code): readonly [Code, Code] {
  const slot = declare(type)
  return [[...code, ...I.localSet(slot)], I.localGet(slot)]
}

/** What such code gives for numbers, as many as 64 KiB hold; NaN where it calls the engine's own function. */
export function computed(write: FunctionCode, given: Float64Array): Float64Array {
  const locals: ValueType[] = []
  const declare = (type: ValueType): number => 2 + locals.push(type) - 1
  const value = write(declare, [...I.localGet(0), ...I.memory(OP.f64Load)], () => I.f64Const(Number.NaN))
  const body = [
    ...[...I.loop, ...I.localGet(0), ...value, ...I.memory(OP.f64Store), ...I.localGet(0), ...I.i32Const(8), OP.i32Add],
    ...[...I.localTee(0), ...I.localGet(1), OP.i32LtU, ...I.brIf(0), OP.end],
  ]
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true })
  const bytes = moduleBytes({ imports: [], parameters: ['i32', 'i32'], locals, body })
  const { run } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { k: { memory } }).exports as {
    run: (at: number, end: number) => void
  } // what moduleBytes exports
  const values = new Float64Array(memory.buffer, 0, given.length)
  values.set(given)
  run(0, values.byteLength)
  return values.slice()
}
