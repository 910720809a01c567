/** NumPy files as others may write them, made element by element: all versions, orders of bytes and of axes, and spellings of the header. */
import fc from 'fast-check'
import { keyAt, positionOf, sizeOfShape } from '../src/core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../src/core/arrays/storage.ts'
import type { TypedArray } from '../src/core/data/column.ts'
import type { DType } from '../src/core/data/schema.ts'
import type { GivenArray } from './arbitraries/givenArrays.ts'

export const CODES: Readonly<Record<DType, string>> = {
  f64: 'f8',
  f32: 'f4',
  i64: 'i8',
  i32: 'i4',
  u32: 'u4',
  i16: 'i2',
  u16: 'u2',
  i8: 'i1',
  u8: 'u1',
  bool: 'b1',
}

export interface NpyForm {
  readonly version: 1 | 2 | 3
  readonly bigEndian: boolean
  readonly fortran: boolean
  /** How the header is spelled. */
  readonly names: readonly ('descr' | 'fortran_order' | 'shape')[]
  readonly quote: "'" | '"'
  readonly space: '' | ' ' | '  '
  readonly lastComma: boolean
  readonly long: '' | 'L'
  readonly align: 1 | 16 | 64
}

export const forms: fc.Arbitrary<NpyForm> = fc.record({
  version: fc.constantFrom(1, 2, 3),
  bigEndian: fc.boolean(),
  fortran: fc.boolean(),
  names: fc.shuffledSubarray(['descr', 'fortran_order', 'shape'] as const, { minLength: 3 }),
  quote: fc.constantFrom("'", '"'),
  space: fc.constantFrom('', ' ', '  '),
  lastComma: fc.boolean(),
  long: fc.constantFrom('', 'L'),
  align: fc.constantFrom(1, 16, 64),
})

export function npyBytes({ shape, dtype, values }: GivenArray, form: NpyForm): Uint8Array {
  const width = ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
  const { quote, space, long } = form
  const text = (value: string): string => `${quote}${value}${quote}`
  const extents = shape.map((extent) => `${extent}${long}`).join(`,${space}`)
  const said = {
    descr: text(`${width === 1 ? '|' : form.bigEndian ? '>' : '<'}${CODES[dtype]}`),
    fortran_order: form.fortran ? 'True' : 'False',
    shape: `(${extents}${shape.length === 1 || form.lastComma ? ',' : ''})`,
  }
  const entries = form.names.map((name) => `${text(name)}:${space}${said[name]}`).join(`,${space}`)
  const header = `{${space}${entries}${form.lastComma ? `,${space}` : ''}}`
  return fileOf(header, elementBytes(values, shape, form, width), form)
}

/** A file with such a text for its header. */
export function fileOf(header: string, elements: Uint8Array, { version, align }: Pick<NpyForm, 'version' | 'align'>): Uint8Array {
  const before = version === 1 ? 10 : 12
  const length = Math.ceil((before + header.length + 1) / align) * align - before
  const head = Buffer.alloc(before)
  head.write('\x93NUMPY', 'latin1')
  head[6] = version
  if (version === 1) head.writeUInt16LE(length, 8)
  else head.writeUInt32LE(length, 8)
  return Buffer.concat([head, Buffer.from(`${header.padEnd(length - 1)}\n`, 'latin1'), elements])
}

/** One element after another, each under the position that its key has in the file. */
function elementBytes(values: TypedArray, shape: readonly number[], form: NpyForm, width: number): Uint8Array {
  const source = Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  const bytes = new Uint8Array(source.length)
  const backwards = [...shape].reverse()
  for (let i = 0; i < sizeOfShape(shape); i++) {
    const at = form.fortran ? positionOf(keyAt(i, shape).reverse(), backwards) : i
    for (let b = 0; b < width; b++) bytes[at * width + (form.bigEndian ? width - 1 - b : b)] = source[i * width + b] as number
  }
  return bytes
}
