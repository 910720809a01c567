/**
 * Tensors of Arrow: what is saved as one is what the decoder of Arrow's own library sees, and is loaded with the same bits; what its encoder
 * writes is loaded, row by row or column by column; and of a file that was damaged comes a SourceError, or an array of all that is in it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Buffer as BufferRange } from 'apache-arrow/fb/buffer'
import { FloatingPoint } from 'apache-arrow/fb/floating-point'
import { Int } from 'apache-arrow/fb/int'
import { Message } from 'apache-arrow/fb/message'
import { MessageHeader } from 'apache-arrow/fb/message-header'
import { MetadataVersion } from 'apache-arrow/fb/metadata-version'
import { Tensor } from 'apache-arrow/fb/tensor'
import { TensorDim } from 'apache-arrow/fb/tensor-dim'
import { Type } from 'apache-arrow/fb/type'
import fc from 'fast-check'
import { Builder, ByteBuffer } from 'flatbuffers'
import { afterAll, expect, test } from 'vitest'
import { keyAt, positionOf, sizeOfShape } from '../src/core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../src/core/arrays/storage.ts'
import { type DistArray, type Key, Session, SourceError } from '../src/index.ts'
import { bytesOf, type GivenArray, givenArrays, NUMBER_DTYPES, type NumberDType } from './arbitraries/givenArrays.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('tensors.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-tensors-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const path = join(folder, 'a.tensor')
const load = async (): Promise<DistArray<number | bigint, Key>> => await session.load<never, Key>(path)
const bitsOf = (dtype: NumberDType): number => Number(dtype.slice(1))

function stridesOf(shape: readonly number[], width: number, fortran: boolean): number[] {
  const steps = new Array<number>(shape.length).fill(width)
  if (fortran) for (let axis = 1; axis < shape.length; axis++) steps[axis] = (steps[axis - 1] as number) * (shape[axis - 1] as number)
  else for (let axis = shape.length - 2; axis >= 0; axis--) steps[axis] = (steps[axis + 1] as number) * (shape[axis + 1] as number)
  return steps
}

test('what is saved as a tensor is what the library of Arrow reads, and is loaded with its bits', async () => {
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES), async ({ shape, dtype, values }) => {
      const array = session.fromTypedArray(values, shape) as unknown as DistArray<number, Key>
      await array.save(path, { as: 'tensor' })
      const bytes = readFileSync(path)
      expect(bytes.readUInt32LE(0)).toBe(0xffff_ffff)
      const start = 8 + bytes.readUInt32LE(4)
      expect(start % 64).toBe(0)
      const message = Message.getRootAsMessage(new ByteBuffer(Uint8Array.from(bytes.subarray(8, start))))
      expect([message.version(), message.headerType()]).toEqual([MetadataVersion.V5, MessageHeader.Tensor])
      const tensor = message.header(new Tensor()) as Tensor
      const width = bitsOf(dtype) / 8
      expect(Number(message.bodyLength())).toBe(values.byteLength)
      expect([Number(tensor.data()?.offset()), Number(tensor.data()?.length())]).toEqual([0, values.byteLength])
      expect(shape.map((_, axis) => Number(tensor.shape(axis)?.size()))).toEqual(shape)
      expect(tensor.shapeLength()).toBe(shape.length)
      expect(shape.map((_, axis) => Number(tensor.strides(axis)))).toEqual(stridesOf(shape, width, false))
      if (dtype.startsWith('f')) {
        expect(tensor.typeType()).toBe(Type.FloatingPoint)
        expect(16 << (tensor.type(new FloatingPoint()) as FloatingPoint).precision()).toBe(bitsOf(dtype))
      } else {
        expect(tensor.typeType()).toBe(Type.Int)
        const int = tensor.type(new Int()) as Int
        expect([int.bitWidth(), int.isSigned()]).toEqual([bitsOf(dtype), dtype.startsWith('i')])
      }
      expect(new Uint8Array(bytes.subarray(start))).toEqual(bytesOf(values))
      const again = await load()
      expect(await again.shape()).toEqual(shape)
      expect(again.explain()).toContain(dtype)
      expect(bytesOf(await again.toTypedArray())).toEqual(bytesOf(values))
      await Promise.all([again.release(), array.release()])
    }),
    RUN,
  )
})

interface Form {
  readonly fortran: boolean
  readonly strides: boolean
  readonly names: boolean
  readonly align: 8 | 64
}
const forms: fc.Arbitrary<Form> = fc.record({
  fortran: fc.boolean(),
  strides: fc.boolean(),
  names: fc.boolean(),
  align: fc.constantFrom(8, 64),
})

/** As the library of Arrow writes it, whose tables lie in another order. */
function tensorBytes({ shape, dtype, values }: GivenArray<NumberDType>, form: Form): Buffer {
  const builder = new Builder()
  const fortran = form.fortran && form.strides
  const width = bitsOf(dtype) / 8
  const dims = shape.map((extent, axis) =>
    TensorDim.createTensorDim(builder, BigInt(extent), form.names ? builder.createString(`axis ${axis}`) : 0),
  )
  const shapes = Tensor.createShapeVector(builder, dims)
  const strides = form.strides ? Tensor.createStridesVector(builder, stridesOf(shape, width, fortran).map(BigInt)) : 0
  const isFloat = dtype.startsWith('f')
  const type = isFloat
    ? FloatingPoint.createFloatingPoint(builder, Math.log2(bitsOf(dtype) / 16))
    : Int.createInt(builder, bitsOf(dtype), dtype.startsWith('i'))
  Tensor.startTensor(builder)
  Tensor.addTypeType(builder, isFloat ? Type.FloatingPoint : Type.Int)
  Tensor.addType(builder, type)
  Tensor.addShape(builder, shapes)
  if (form.strides) Tensor.addStrides(builder, strides)
  Tensor.addData(builder, BufferRange.createBuffer(builder, 0n, BigInt(values.byteLength)))
  const tensor = Tensor.endTensor(builder)
  builder.finish(Message.createMessage(builder, MetadataVersion.V5, MessageHeader.Tensor, tensor, BigInt(values.byteLength), 0))
  const header = Buffer.from(builder.asUint8Array())
  const length = Math.ceil((8 + header.length) / form.align) * form.align - 8
  const prefix = Buffer.alloc(8)
  prefix.writeUInt32LE(0xffff_ffff, 0)
  prefix.writeUInt32LE(length, 4)
  let elements = values
  if (fortran) {
    elements = new ARRAY_OF_DTYPE[dtype](values.length)
    const turned = [...shape].reverse()
    const [from, to] = [new Uint8Array(values.buffer), new Uint8Array(elements.buffer)]
    for (let i = 0; i < sizeOfShape(shape); i++) {
      const at = positionOf([...keyAt(i, shape)].reverse(), turned)
      to.set(from.subarray(i * width, (i + 1) * width), at * width)
    }
  }
  return Buffer.concat([prefix, header, Buffer.alloc(length - header.length), bytesOf(elements)])
}

test('what the library of Arrow writes is loaded', async () => {
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES), forms, async (given, form) => {
      writeFileSync(path, tensorBytes(given, form))
      const array = await load()
      expect(await array.shape()).toEqual(given.shape)
      expect(bytesOf(await array.toTypedArray())).toEqual(bytesOf(given.values))
      await array.release()
    }),
    RUN,
  )
})

test('of a damaged tensor comes a SourceError, or an array of all that is in it', async () => {
  let [refused, allowed] = [0, 0]
  const damage = fc.record({
    kind: fc.constantFrom('cut', 'flip', 'flip', 'flip', 'add'),
    at: fc.nat(500),
    byte: fc.integer({ min: 1, max: 255 }),
  })
  await fc.assert(
    fc.asyncProperty(givenArrays(...NUMBER_DTYPES), forms, damage, async (given, form, { kind, at, byte }) => {
      let bytes = tensorBytes(given, form)
      const place = at % bytes.length
      if (kind === 'cut') bytes = bytes.subarray(0, place)
      else if (kind === 'add') bytes = Buffer.concat([bytes, Buffer.from([byte])])
      else bytes[place] = (bytes[place] as number) ^ byte
      writeFileSync(path, bytes)
      try {
        const array = await load()
        const [shape, values] = [await array.shape(), await array.toTypedArray()]
        expect(values.length).toBe(sizeOfShape(shape))
        expect(8 + bytes.readUInt32LE(4) + values.byteLength).toBe(bytes.length)
        await array.release()
        allowed++
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        expect(error.message.startsWith(path)).toBe(true)
        refused++
      }
    }),
    RUN,
  )
  expect(Math.min(refused, allowed), `${refused} refused, ${allowed} allowed`).toBeGreaterThan((refused + allowed) / 20)
})
