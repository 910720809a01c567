/** Storage on its way to another process: its shape as structured values, its buffers as parts of a message. */

import type { Storage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import { Bug } from '../../core/errors.ts'
import { partedStorage } from '../arrays/parted.ts'
import { ownBlocks } from '../arrays/storageBlocks.ts'
import type { Arena } from '../memory/arena.ts'
import { copyInto } from '../memory/shareColumns.ts'
import { MOST_PARTS } from './links/messages.ts'
import { bytesOf } from './movement/changes.ts'

type Buffer = TypedArray | BigUint64Array

/** The placeholder of a buffer in a shape: its number among the parts, its class and its elements. */
interface BufferPlace {
  readonly buffer: number
  readonly of: string
  readonly length: number
}

const CLASSES: Readonly<Record<string, new (buffer: ArrayBufferLike, offset: number, length: number) => Buffer>> = {
  Float64Array,
  Float32Array,
  BigInt64Array,
  BigUint64Array,
  Int32Array,
  Uint32Array,
  Int16Array,
  Uint16Array,
  Int8Array,
  Uint8Array,
}

/** The reason why storage cannot be sent; undefined if it can. */
export function whyNotSent(storage: Storage): string | undefined {
  if (storage.kind === 'dense') return storage.objects === undefined ? undefined : 'holds objects'
  const hasObjects = (columns: readonly { readonly objects?: unknown; readonly children?: readonly never[] }[]): boolean =>
    columns.some(({ objects, children = [] }) => objects !== undefined || hasObjects(children))
  if (hasObjects(storage.columns as never)) return 'holds objects'
  return buffersOf(storage).length > MOST_PARTS ? 'has too many columns' : undefined
}

/** All buffers, in an order that follows from the storage. */
export function buffersOf(storage: Storage): readonly Buffer[] {
  const found: Buffer[] = []
  replaced(storage, (buffer) => {
    found.push(buffer)
    return buffer
  })
  return found
}

/** The storage with placeholders instead of its buffers. */
export function shapeOfStorage(storage: Storage): object {
  let buffer = 0
  if (storage.kind === 'dense' && storage.parts !== undefined) {
    const { kind, shape, dtype, strides, parts } = storage
    return { kind, shape, dtype, strides, data: { buffer, of: parts.lying.data.constructor.name, length: parts.length } }
  }
  return replaced(storage, (array): BufferPlace => ({ buffer: buffer++, of: array.constructor.name, length: array.length })) as object
}

export function bytesOfStorage(storage: Storage): number {
  if (storage.kind === 'dense' && storage.parts !== undefined) return storage.parts.length * storage.parts.lying.data.BYTES_PER_ELEMENT
  return buffersOf(storage).reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Makes storage of a shape from another process. Buffers are zeros unless `parts` has them; a dense array without any lies nowhere yet. */
export function storageFrom(shape: object, parts: readonly Uint8Array[], arena: Arena): Storage {
  const told = shape as Storage // as shapeOfStorage made it, with places for buffers
  if (told.kind === 'dense' && told.dtype !== 'object' && parts.length === 0)
    return partedStorage({ name: 'arrays of a gang', shape: told.shape, dtype: told.dtype, init: { kind: 'zeros' } }, arena)
  const copied: number[] = []
  const made = (place: BufferPlace): Buffer => {
    const Class = CLASSES[place.of]
    if (Class === undefined) throw new Bug(`A buffer of the class ${place.of} came from another process.`)
    const bytes = parts[place.buffer] ?? new Uint8Array(place.length * widthOf(Class))
    const copy = copyInto(arena, new Class(bytes.buffer, bytes.byteOffset, place.length), 'arrays of a gang')
    copied.push(copy.byteOffset)
    return copy
  }
  try {
    return ownBlocks(replaced(shape, (place) => made(place as unknown as BufferPlace), isPlace) as Storage, arena) // as shapeOfStorage made it
  } catch (error) {
    for (const offset of copied) arena.free(offset)
    throw error
  }
}

/** Puts other values into storage of the same shape. */
export function refill(storage: Storage, parts: readonly Uint8Array[]): void {
  for (const [i, buffer] of buffersOf(storage).entries()) bytesOf(buffer).set(parts[i] as Uint8Array) // a part a buffer
}

function widthOf(Class: (typeof CLASSES)[string]): number {
  return (Class as unknown as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT // as all typed arrays
}

function isPlace(value: object): boolean {
  return 'buffer' in value && 'of' in value
}

function replaced(
  value: unknown,
  change: (buffer: Buffer) => unknown,
  isLeaf: (value: object) => boolean = (one) => ArrayBuffer.isView(one),
): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isLeaf(value)) return change(value as Buffer)
  if (Array.isArray(value)) return value.map((item) => replaced(item, change, isLeaf))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaced(item, change, isLeaf)]))
}
