import type { Primitive } from '../../../core/ir/functionIr.ts'

/** Returns integers or doubles where all are numbers, bytes where all are truth values, as kernels read them; other values unchanged. */
export function numbersOf(values: readonly Primitive[]): ArrayLike<Primitive> {
  if (values.length > 0 && values.every((value) => typeof value === 'boolean')) return Uint8Array.from(values, Number)
  if (!values.every((value) => typeof value === 'number')) return values
  return values.every((value) => Object.is(value | 0, value)) ? Int32Array.from(values) : Float64Array.from(values)
}
