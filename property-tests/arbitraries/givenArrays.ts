/** Typed arrays with shapes, of any bits: NaN of every kind, -0, the ends of integers; extents of 0 and 1 among them. */
import fc from 'fast-check'
import { sizeOfShape } from '../../src/core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../src/core/arrays/storage.ts'
import type { TypedArray } from '../../src/core/data/column.ts'
import type { DType } from '../../src/core/data/schema.ts'

export type NumberDType = Exclude<DType, 'bool'>

export interface GivenArray<D extends DType = DType> {
  readonly shape: readonly number[]
  readonly dtype: D
  readonly values: TypedArray
}

export const NUMBER_DTYPES: readonly NumberDType[] = ['f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8']

/** One axis to four; the rows of some are padded in storage, and those of others are not. */
export const shapes: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.tuple(fc.nat(40)),
  fc.tuple(fc.nat(6), fc.nat(9)),
  fc.array(fc.nat(4), { minLength: 3, maxLength: 4 }),
)

export function givenArrays<D extends DType>(...dtypes: readonly D[]): fc.Arbitrary<GivenArray<D>> {
  return fc.tuple(shapes, fc.constantFrom(...dtypes), fc.nat()).map(([shape, dtype, seed]) => ({
    shape,
    dtype,
    values: bitsOf(dtype, sizeOfShape(shape), seed),
  }))
}

/** Values of random bits, a third of them such as programs have; the same for the same seed. */
export function bitsOf(dtype: DType, length: number, seed: number): TypedArray {
  const values = new ARRAY_OF_DTYPE[dtype](length)
  const bytes = new Uint8Array(values.buffer)
  let state = (seed ^ 0x9e3779b9) >>> 0
  const next = (): number => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return (state ^ (state >>> 13)) >>> 0
  }
  for (let i = 0; i < bytes.length; i++) bytes[i] = dtype === 'bool' ? next() & 1 : next() & 255
  if (dtype !== 'bool')
    for (let i = 0; i < length; i++) if (next() % 3 === 0) values[i] = (dtype === 'i64' ? BigInt(next() % 9) : next() % 9) as never
  return values
}

/** The bytes of values, to be compared: NaN has many. */
export function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice()
}
