/**
 * Parts of columns: a gather of elements by index, or a slice.
 *
 * `takeColumn` copies, into ordinary ArrayBuffers by default; the buffers of `sliceColumn` are views of its input's.
 */

import { PlanError } from '../errors.ts'
import type { Batch, Column, TypedArray } from './column.ts'
import { columnFromValues } from './columnBuilder.ts'
import { LARGEST_OFFSET } from './leafBuilders.ts'
import type { ColumnType } from './schema.ts'

type ArrayClass<A extends TypedArray | BigUint64Array> = new (length: number) => A
/** Makes an array of one of the classes that columns have; its initial values do not matter. */
export type NewArray = <A extends TypedArray | BigUint64Array>(of: ArrayClass<A>, length: number) => A

export const ordinary: NewArray = (of, length) => new of(length)

/** Gathers the elements at `indices`, in their order; -1 gives null. `newArray` makes the arrays for the copies. */
export function takeColumn(column: Column, indices: Int32Array, newArray: NewArray = ordinary): Column {
  const length = indices.length
  const validity = takenValidity(column, indices)
  const { type } = column
  const base = { type, length, ...(validity === undefined ? {} : { validity }) }
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return { type, length }
    case 'object': {
      const objects = Array.from(indices, (index) => (index < 0 ? null : column.objects?.[index]))
      return { type, length, objects }
    }
    case 'struct':
      return { ...base, children: (column.children ?? []).map((child) => takeColumn(child, indices, newArray)) }
    case 'list': {
      const { offsets, sources } = takenRanges(column, indices)
      const child = column.children?.[0] ?? emptyColumn(type.item)
      return { ...base, offsets, children: [takeColumn(child, sources, newArray)] }
    }
    case 'utf8':
    case 'binary':
      return { ...base, ...takenBytes(column, indices, newArray) }
    default:
      return { ...base, values: takenValues(column.values ?? new Float64Array(0), indices, newArray) }
  }
}

/** Gathers fixed-width values by width, in four loops: one loop over arrays of many classes is nine times as slow. */
function takenValues(values: TypedArray | BigUint64Array, indices: Int32Array, newArray: NewArray): TypedArray | BigUint64Array {
  const out = newArray(values.constructor as new (length: number) => typeof values, indices.length) // a typed array's own class
  const { buffer, byteOffset, length } = values
  switch (values.BYTES_PER_ELEMENT) {
    case 8:
      takeLongs(new Int32Array(buffer, byteOffset, 2 * length), indices, new Int32Array(out.buffer, out.byteOffset, 2 * indices.length))
      break
    case 4:
      takeWords(new Int32Array(buffer, byteOffset, length), indices, new Int32Array(out.buffer, out.byteOffset, indices.length))
      break
    case 2:
      takeShorts(new Uint16Array(buffer, byteOffset, length), indices, new Uint16Array(out.buffer, out.byteOffset, indices.length))
      break
    case 1:
      takeBytes(new Uint8Array(buffer, byteOffset, length), indices, new Uint8Array(out.buffer, out.byteOffset, indices.length))
  }
  return out
}

function takeLongs(words: Int32Array, indices: Int32Array, out: Int32Array): void {
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    out[2 * i] = index < 0 ? 0 : (words[2 * index] as number) // indices lie inside the column
    out[2 * i + 1] = index < 0 ? 0 : (words[2 * index + 1] as number)
  }
}

function takeWords(words: Int32Array, indices: Int32Array, out: Int32Array): void {
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    out[i] = index < 0 ? 0 : (words[index] as number) // indices lie inside the column
  }
}

function takeShorts(shorts: Uint16Array, indices: Int32Array, out: Uint16Array): void {
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    out[i] = index < 0 ? 0 : (shorts[index] as number) // indices lie inside the column
  }
}

function takeBytes(bytes: Uint8Array, indices: Int32Array, out: Uint8Array): void {
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    out[i] = index < 0 ? 0 : (bytes[index] as number) // indices lie inside the column
  }
}

/** The validity bitmap of the elements at `indices`; undefined where none is null. */
export function takenValidity(column: Column, indices: Int32Array): Uint8Array | undefined {
  const old = column.validity
  if (old === undefined && !indices.includes(-1)) return undefined
  const validity = new Uint8Array((indices.length + 7) >> 3)
  let nulls = 0
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    if (index >= 0 && (old === undefined || ((old[index >> 3] as number) & (1 << (index & 7))) !== 0)) {
      validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7))
    } else nulls++
  }
  return nulls === 0 ? undefined : validity
}

function takenRanges(column: Column, indices: Int32Array): { offsets: Int32Array; sources: Int32Array } {
  const old = column.offsets ?? new Int32Array(1)
  const offsets = new Int32Array(indices.length + 1)
  writeOffsets(column, indices, offsets)
  const sources = new Int32Array(offsets[indices.length] ?? 0)
  let at = 0
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    const length = (offsets[i + 1] as number) - (offsets[i] as number)
    for (let k = 0; k < length; k++) sources[at++] = (old[index] as number) + k
  }
  return { offsets, sources }
}

interface Texts {
  readonly offsets?: Int32Array | undefined
  readonly validity?: Uint8Array | undefined
}

/** The offsets of the texts at `indices`, once gathered. */
export function takenOffsets(column: Texts, indices: Int32Array, newArray: NewArray): Int32Array {
  const offsets = newArray(Int32Array, indices.length + 1)
  offsets[0] = 0
  writeOffsets(column, indices, offsets)
  return offsets
}

/** Writes the end offsets of the texts or lists at `indices`; `offsets[0]`, where the first begins, is given. */
export function writeOffsets({ offsets: old = new Int32Array(1), validity }: Texts, indices: Int32Array, offsets: Int32Array): void {
  let at = offsets[0] as number // one more than indices
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    const present = index >= 0 && (validity === undefined || ((validity[index >> 3] as number) & (1 << (index & 7))) !== 0)
    if (present) at += (old[index + 1] as number) - (old[index] as number)
    if (at > LARGEST_OFFSET)
      throw new PlanError('A column would hold more than 2 GiB of text in one piece. Cut the array with repartition({ partitions }).')
    offsets[i + 1] = at
  }
}

function takenBytes(column: Column, indices: Int32Array, newArray: NewArray): { values: Uint8Array; offsets: Int32Array } {
  const old = column.offsets ?? new Int32Array(1)
  const bytes = bytesOf(column)
  const offsets = takenOffsets(column, indices, newArray)
  const values = newArray(Uint8Array, offsets[indices.length] ?? 0)
  const [source, target] = [viewOf(bytes), viewOf(values)]
  for (let i = 0; i < indices.length; i++) {
    let at = offsets[i] as number
    const end = offsets[i + 1] as number
    if (at === end) continue
    let from = old[indices[i] as number] as number // some bytes: the index is not -1
    if (end - at > LONG) {
      values.set(bytes.subarray(from, from + end - at), at)
      continue
    }
    for (; at + 4 <= end; at += 4, from += 4) target.setInt32(at, source.getInt32(from, true), true)
    for (; at < end; at++, from++) values[at] = bytes[from] as number
  }
  return { values, offsets }
}

/** The longest text in bytes that is copied by a loop; longer ones by `set`. */
const LONG = 48

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** The bytes of a column of texts or binary values; empty where it has none. */
export function bytesOf(column: Column): Uint8Array {
  return column.values instanceof Uint8Array ? column.values : new Uint8Array(0)
}

/** The elements `from` to `to` (exclusive); shares all buffers except the validity bitmap. */
export function sliceColumn(column: Column, from: number, to: number): Column {
  if (from === 0 && to === column.length) return column
  const length = to - from
  const validity = column.validity === undefined ? undefined : sliceBits(column.validity, from, length)
  const base = { type: column.type, length, ...(validity === undefined ? {} : { validity }) }
  const { dictionary } = column
  if (dictionary !== undefined) return { ...base, values: column.values?.subarray(from, to) ?? new Uint8Array(0), dictionary }
  switch (column.type.kind) {
    case 'null':
    case 'unknown':
      return { type: column.type, length }
    case 'object':
      return { type: column.type, length, objects: column.objects?.slice(from, to) ?? [] }
    case 'struct':
      return { ...base, children: (column.children ?? []).map((child) => sliceColumn(child, from, to)) }
    case 'list':
      return { ...base, offsets: column.offsets?.subarray(from, to + 1) ?? new Int32Array(1), children: column.children ?? [] }
    case 'utf8':
    case 'binary':
      return { ...base, offsets: column.offsets?.subarray(from, to + 1) ?? new Int32Array(1), values: bytesOf(column) }
    default:
      return { ...base, values: column.values?.subarray(from, to) ?? new Float64Array(0) }
  }
}

/** A copy of the batch in ordinary buffers that hold nothing else. */
export function ownBatch(batch: Batch): Batch {
  return {
    ...batch,
    columns: batch.columns.map(ownColumn),
    ...(batch.keys === undefined ? {} : { keys: batch.keys.map((axis) => axis.slice()) }),
  }
}

/** A copy of the column in ordinary buffers that hold nothing else, so that no more than it is sent to another thread. */
export function ownColumn(column: Column): Column {
  const { type, length, validity, values, offsets, children, dictionary } = column
  const base = { type, length, ...(validity === undefined ? {} : { validity: validity.slice(0, (length + 7) >> 3) }) }
  if (offsets !== undefined) {
    const [from, to] = [offsets[0] ?? 0, offsets[length] ?? 0]
    const own = { ...base, offsets: offsets.slice(0, length + 1).map((offset) => offset - from) }
    if (type.kind === 'list') return { ...own, children: (children ?? []).map((child) => ownColumn(sliceColumn(child, from, to))) }
    return { ...own, values: bytesOf(column).slice(from, to) }
  }
  if (children !== undefined) return { ...base, children: children.map((child) => ownColumn(sliceColumn(child, 0, length))) }
  if (column.objects !== undefined) return column
  const coded = dictionary === undefined ? {} : { dictionary: ownColumn(dictionary) }
  return values === undefined ? base : { ...base, values: values.slice(0, length), ...coded }
}

/** `length` bits from bit `from` on, or undefined when all are set. */
function sliceBits(bits: Uint8Array, from: number, length: number): Uint8Array | undefined {
  if ((from & 7) === 0) return wholeBytes(bits, from >> 3, length)
  const out = new Uint8Array((length + 7) >> 3)
  let nulls = 0
  for (let i = 0; i < length; i++) {
    if (((bits[(from + i) >> 3] as number) & (1 << ((from + i) & 7))) !== 0) out[i >> 3] = (out[i >> 3] as number) | (1 << (i & 7))
    else nulls++
  }
  return nulls === 0 ? undefined : out
}

/** `length` bits from the first bit of byte `first` on, or undefined when all are set. */
function wholeBytes(bits: Uint8Array, first: number, length: number): Uint8Array | undefined {
  const out = new Uint8Array((length + 7) >> 3)
  out.set(bits.subarray(first, first + out.length))
  if ((length & 7) !== 0) out[out.length - 1] = (out.at(-1) as number) & ((1 << (length & 7)) - 1) // there is a last byte
  const whole = length >> 3
  let all = 0xff
  for (let i = 0; i < whole; i++) all &= out[i] as number // i < length
  return all === 0xff && ((length & 7) === 0 || out[whole] === (1 << (length & 7)) - 1) ? undefined : out
}

/** A column without elements. */
export function emptyColumn(type: ColumnType): Column {
  return columnFromValues([], type)
}

/** A column of `length` nulls. */
export function nullColumn(type: ColumnType, length: number): Column {
  return takeColumn(emptyColumn(type), new Int32Array(length).fill(-1))
}
