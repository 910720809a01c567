/** Runs code of functions of one double by itself, to compare its results with the bits of the engine's own function. */
import { type Code, I, OP, type ValueType } from '../../kir/instructions.ts'
import { moduleBytes } from '../../wasm/wasmEncoder.ts'

/** Writes code that leaves the function of `argument`; `itself` writes a call of the engine's function, for arguments not handled. */
export type FunctionCode = (declare: (type: ValueType) => number, argument: Code, itself: (x: Code) => Code) => Code

/** Keeps a value in a local: returns code that sets it, and code that reads it. */
export function kept(declare: (type: ValueType) => number, type: ValueType, code: Code): readonly [Code, Code] {
  const slot = declare(type)
  return [[...code, ...I.localSet(slot)], I.localGet(slot)]
}

/** Computes the function for numbers, as many as fit 64 KiB; NaN where the code would call the engine's own function. */
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
