/**
 * Dense tensors of Arrow: one message, as pyarrow.ipc.write_tensor writes it.
 *
 *     FFFFFFFF, length of the header, a FlatBuffer (Message → Tensor: type, shape, strides, where its buffer is), zeros, elements
 *
 * The elements begin at a multiple of 64 bytes. Source: Tensor.fbs of the Arrow format.
 */

import { checkShape, type Shape } from '../../core/arrays/indexSpace.ts'
import type { DType } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import { Fault, type FlatBuffer, faultOf } from '../arrow/flatBuffer.ts'
import { nameOfPath, openBytes } from '../bytes/byteSource.ts'
import type { ByteSource } from '../bytes/source.ts'
import { type NpyFile, piecesOf } from './npy.ts'
import type { NpyElements, NpyHeader } from './npyHeader.ts'
import type { LoadedFile } from './savedArray.ts'

/** Most bytes of a header: those of tensors have some hundred. */
const LONGEST_HEADER_BYTES = 65_536
const MESSAGE_STARTS = 0xffff_ffff
const TENSOR = 4
/** The version of the format that writers write. */
const V5 = 4
const INT = 2
const FLOAT = 3

/** Opens a tensor for as long as `use` takes; undefined where the file is something else. */
export async function withTensor<T>({ path, access }: LoadedFile, use: (file: NpyFile) => Promise<T>): Promise<T | undefined> {
  const bytes = await openBytes(path, access)
  try {
    const header = await tensorIn(bytes, path)
    if (header === undefined) return undefined
    const dtype = header.dtype === 'u64' ? 'i64' : header.dtype
    const { shape, fortran } = header
    return await use({ name: nameOfPath(path), shape, dtype, fortran, pieces: () => piecesOf(bytes, path, header, dtype) })
  } finally {
    await bytes.close()
  }
}

async function tensorIn(bytes: ByteSource, path: string): Promise<NpyHeader | undefined> {
  if (bytes.size < 8) return undefined
  const head = await bytes.read(0, 8)
  const view = new DataView(head.buffer, head.byteOffset, 8)
  const length = view.getUint32(4, true)
  if (view.getUint32(0, true) !== MESSAGE_STARTS || length > LONGEST_HEADER_BYTES || 8 + length > bytes.size) return undefined
  const start = 8 + length
  const message = (await bytes.read(8, start)).slice()
  let found: NpyHeader | undefined
  const fault = faultOf(message, (buffer) => {
    const root = buffer.root()
    if (buffer.byte(root, 1) === TENSOR) found = headerOf(buffer, buffer.table(root, 2), { start, path, there: bytes.size - start })
  })
  if (fault !== undefined) throw new SourceError(`${path} is damaged: ${fault}.`, path)
  return found
}

interface Around {
  readonly start: number
  readonly path: string
  /** The number of bytes behind the header. */
  readonly there: number
}

function headerOf(buffer: FlatBuffer, tensor: number | undefined, { start, path, there }: Around): NpyHeader {
  if (tensor === undefined) throw new Fault('a message has no header')
  const elements = elementsOf(buffer, tensor, path)
  const { width } = elements
  const axes = buffer.vector(tensor, 2, 4)
  const shape = Array.from({ length: axes?.count ?? 0 }, (_, axis) => buffer.long(buffer.follow((axes?.start ?? 0) + 4 * axis), 0))
  if (shape.length === 0)
    throw new SourceError(
      `${path} has a single number and no axis, and arrays have at least one. Save it with one, as of a.reshape(1).`,
      path,
    )
  if (!isShape(shape)) throw new Fault(`its shape is [${shape.join(', ')}]`)
  const given = buffer.vector(tensor, 3, 8)
  const strides = given === undefined ? undefined : Array.from({ length: given.count }, (_, axis) => buffer.longAt(given.start + 8 * axis))
  const size = shape.reduce((product, extent) => product * extent, 1)
  const isOrdered = (wanted: readonly number[]): boolean =>
    strides === undefined ||
    (strides.length === shape.length && shape.every((extent, axis) => extent <= 1 || strides[axis] === wanted[axis]))
  const fortran = size > 0 && !isOrdered(stridesOf(shape, width))
  if (fortran && !isOrdered([...stridesOf([...shape].reverse(), width)].reverse()))
    throw new SourceError(
      `${path} is a tensor whose elements lie neither row by row nor column by column. Save a copy that does, as of numpy.ascontiguousarray(a).`,
      path,
    )
  if (buffer.long(tensor, 4) !== 0 || buffer.long(tensor, 4, 8) < size * width || there !== size * width)
    throw new Fault(`it has ${there} bytes of elements, and [${shape.join(', ')}] of ${width} bytes each needs ${size * width}`)
  return { ...elements, shape, fortran, start }
}

function stridesOf(shape: Shape, width: number): readonly number[] {
  const strides: number[] = []
  for (let axis = shape.length - 1, bytes = width; axis >= 0; bytes *= shape[axis] as number, axis--) strides[axis] = bytes // axis is one of the shape
  return strides
}

function isShape(shape: Shape): boolean {
  try {
    checkShape('a tensor', shape)
    return true
  } catch {
    return false
  }
}

function elementsOf(buffer: FlatBuffer, tensor: number, path: string): NpyElements {
  const [kind, type] = [buffer.byte(tensor, 0), buffer.table(tensor, 1) ?? 0]
  const bits = kind === INT ? buffer.short(type, 0) : kind === FLOAT ? 16 << buffer.short(type, 0) : 0
  const name = `${kind === FLOAT ? 'f' : buffer.byte(type, 1) === 0 ? 'u' : 'i'}${bits}`
  const dtype = (kind === INT || kind === FLOAT) && DTYPES.find((known) => known === name)
  if (dtype) return { dtype, width: (bits / 8) as NpyElements['width'], bigEndian: false }
  throw new SourceError(
    `${path} is a tensor of ${name === 'f16' ? 'float16' : `the Arrow type number ${kind}`}, and arrays hold float64, float32, and integers of 8 to 64 bits. Save it as one of them, as of a.astype('float32').`,
    path,
  )
}

const DTYPES = ['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'] as const

/** The header of a tensor whose elements follow in row-major order; booleans are bytes. */
export function tensorHeader(shape: Shape, dtype: DType): Uint8Array {
  const kind = dtype === 'bool' ? 'u8' : dtype
  const bits = Number(kind.slice(1))
  const isFloat = kind.startsWith('f')
  const axes = shape.length
  // where tables lie, each behind the list of where its fields are; integers of 64 bits at multiples of 8
  const [message, tensor, type, dims] = [24, 64, 112, 128]
  const dim = Math.ceil((dims + 4 + 4 * axes) / 8) * 8 + 8
  const strides = dim + 16 * axes + 4
  const end = strides + 4 + 8 * axes
  const length = Math.ceil((8 + end) / 64) * 64 - 8
  const view = new DataView(new ArrayBuffer(8 + length), 8)
  const table = (at: number, list: number, size: number, slots: readonly number[]): void => {
    view.setInt32(at, at - list, true)
    for (const [i, value] of [4 + 2 * slots.length, size, ...slots].entries()) view.setUint16(list + 2 * i, value, true)
  }
  const pointer = (at: number, to: number): void => view.setUint32(at, to - at, true)
  const long = (at: number, value: number): void => view.setBigInt64(at, BigInt(value), true)
  const bytes = (shape.reduce((product, extent) => product * extent, 1) * bits) / 8
  pointer(0, message)
  table(message, 8, 20, [16, 18, 4, 8]) // version, what the header is, the header, bytes of the body
  view.setInt16(message + 16, V5, true)
  view.setUint8(message + 18, TENSOR)
  pointer(message + 4, tensor)
  long(message + 8, bytes)
  table(tensor, 48, 36, [32, 4, 24, 28, 8]) // what the type is, the type, shape, strides, where the elements are
  view.setUint8(tensor + 32, isFloat ? FLOAT : INT)
  pointer(tensor + 4, type)
  pointer(tensor + 24, dims)
  pointer(tensor + 28, strides)
  long(tensor + 16, bytes)
  table(type, 104, 12, isFloat ? [4] : [4, 8]) // precision, or bits and a sign
  if (isFloat) view.setInt16(type + 4, bits / 32, true)
  else {
    view.setInt32(type + 4, bits, true)
    view.setUint8(type + 8, kind.startsWith('i') ? 1 : 0)
  }
  view.setUint32(dims, axes, true)
  view.setUint32(strides, axes, true)
  const steps = stridesOf(shape, bits / 8)
  for (const [axis, extent] of shape.entries()) {
    const at = dim + 16 * axis
    pointer(dims + 4 + 4 * axis, at)
    table(at, dim - 8, 16, [8])
    long(at + 8, extent)
    long(strides + 4 + 8 * axis, steps[axis] as number) // as many
  }
  const header = new Uint8Array(view.buffer)
  const prefix = new DataView(view.buffer)
  prefix.setUint32(0, MESSAGE_STARTS, true)
  prefix.setUint32(4, length, true)
  return header
}
