/**
 * Arrow data as columns, without copying where the layouts agree.
 *
 * Arrow keeps bools and validity as bits at any bit offset, and has several forms for one thing; columns have one form
 * for each type (see `core/data/column.ts`). Fixed-width values, strings, binaries and lists are taken over as views.
 */
import type { Data, RecordBatch, Table, Vector } from 'apache-arrow'
import type { Batch, Column } from '../../core/data/column.ts'
import { concatColumns } from '../../core/data/columnConcat.ts'
import { emptyColumn, sliceColumn, takeColumn } from '../../core/data/columnSlices.ts'
import type { ColumnType, ElementType } from '../../core/data/schema.ts'
import { fromIndices } from '../../core/data/textIndices.ts'
import { float64OfDecimals } from '../decimals.ts'
import { bytesBefore, checkColumn, ENDLESS, evenOffsets, LARGEST_OFFSET, narrowedOffsets, type Room, takeRoom } from './arrowChecks.ts'
import { DataType } from './arrowLibrary.ts'
import { columnError, columnTypeOfArrow, inside, nameOfField, type Place } from './arrowTypes.ts'

/** The column of one chunk. `type` is what `columnTypeOfArrow` says of its type. */
export function columnOfData(data: Data, place: Place): Column {
  return columnAs(data, columnTypeOfArrow(data.type, place), { place, room: ENDLESS })
}

/** A vector's chunks as one column. */
export function columnOfVector(vector: Vector, place: Place, room: Room = ENDLESS): Column {
  const type = columnTypeOfArrow(vector.type as DataType, place)
  const parts = vector.data.map((data) => columnAs(data, type, { place, room }))
  const [first] = parts
  return first === undefined ? emptyColumn(type) : parts.length === 1 ? first : concatColumns(parts, place.column)
}

/** The batch of an Arrow record batch, or of the columns of it that are asked for. */
export function batchOfRecordBatch(
  batch: RecordBatch,
  element: ElementType & { readonly kind: 'row' },
  source: string,
  { room, indices }: ReadingBatch = { room: ENDLESS },
): Batch {
  const byName = indices === undefined ? new Map(batch.schema.fields.map((field, i) => [nameOfField(field), i])) : undefined
  const columns = element.fields.map((field, i): Column => {
    const place = { source, column: field.name }
    const data = batch.data.children[indices?.[i] ?? byName?.get(field.name) ?? -1]
    if (data === undefined) throw columnError(place, 'the column is missing.')
    return columnAs(data, field.type, { place, room })
  })
  return { element, length: batch.numRows, columns }
}

export interface ReadingBatch {
  readonly room: Room
  /** The numbers of the batch's columns that the element's fields are; by name when absent. */
  readonly indices?: readonly number[]
}

/** A table's record batches as batches. */
export function batchesOfTable(table: Table, element: ElementType & { readonly kind: 'row' }, source: string): Batch[] {
  return table.batches.map((batch) => batchOfRecordBatch(batch, element, source))
}

/** The place of data, for messages, and the bytes that their values may take. */
interface Within {
  readonly place: Place
  readonly room: Room
}

function columnAs(data: Data, type: ColumnType, within: Within): Column {
  const { place } = within
  if (DataType.isDictionary(data.type)) return dictionaryColumn(data, type, within)
  const { length } = data
  if (length === 0) return emptyColumn(type) // Arrow's own of no values may have no buffers
  const base = { type, length, ...validityOf(data) }
  const arrow = data.type
  if (DataType.isNull(arrow)) return { type, length }
  if (DataType.isBool(arrow)) return { ...base, values: bytesOfBits(data.values as Uint8Array, data.offset, length) }
  if (DataType.isFloat(arrow) && arrow.precision === 0) return { ...base, values: float32OfHalves(data.values as Uint16Array, length) }
  if (DataType.isDecimal(arrow)) return { ...base, values: float64OfDecimals(data as Data<typeof arrow>, place) }
  if (DataType.isTime(arrow)) {
    const values = data.values as Int32Array | BigInt64Array
    return {
      ...base,
      values: values instanceof BigInt64Array ? values.subarray(0, length) : BigInt64Array.from(values.subarray(0, length), BigInt),
    }
  }
  if (DataType.isUtf8(arrow) || DataType.isBinary(arrow)) {
    const offsets = data.valueOffsets as Int32Array
    return { ...base, offsets: offsetsOf(offsets, length), values: data.values as Uint8Array }
  }
  if (DataType.isLargeUtf8(arrow) || DataType.isLargeBinary(arrow)) {
    const values = data.values as Uint8Array
    const { offsets, start, end } = narrowedOffsets(data.valueOffsets as unknown as BigInt64Array, { length, limit: values.length, place })
    return { ...base, offsets, values: values.subarray(start, end) }
  }
  if (DataType.isUtf8View(arrow) || DataType.isBinaryView(arrow)) return { ...base, ...bytesOfViews(data, within) }
  if (DataType.isFixedSizeBinary(arrow)) {
    const offsets = evenOffsets(length, arrow.byteWidth, place)
    return { ...base, offsets, values: (data.values as Uint8Array).subarray(0, length * arrow.byteWidth) }
  }
  if (type.kind === 'list') return listColumn(data, type, base, within)
  if (type.kind === 'struct') {
    const children = type.fields.map((field, i) => childColumn(data, i, field.type, below(within, `.${field.name}`)))
    return { ...base, children: children.map((child) => (child.length === length ? child : sliceColumn(child, 0, length))) }
  }
  // Date, timestamp, integers and floats: Arrow's array class is the column's.
  return { ...base, values: (data.values as NonNullable<Column['values']>).subarray(0, length) as NonNullable<Column['values']> }
}

function below({ place, room }: Within, step: string): Within {
  return { place: inside(place, step), room }
}

function childColumn(data: Data, index: number, type: ColumnType, within: Within): Column {
  const child = data.children[index]
  return child === undefined ? emptyColumn(type) : columnAs(child, type, within)
}

function listColumn(data: Data, type: ColumnType & { readonly kind: 'list' }, base: Omit<Column, 'offsets'>, within: Within): Column {
  const arrow = data.type
  const { place } = within
  if (DataType.isMap(arrow) && type.item.kind === 'struct') {
    // our names for key and value, whatever the map calls them
    const entries = data.children[0]
    const item = type.item
    const child: Column =
      entries === undefined
        ? emptyColumn(item)
        : {
            type: item,
            length: entries.length,
            ...validityOf(entries),
            children: item.fields.map((field, i) => childColumn(entries, i, field.type, below(within, `[].${field.name}`))),
          }
    return { ...base, offsets: offsetsOf(data.valueOffsets as Int32Array, data.length), children: [child] }
  }
  const child = childColumn(data, 0, type.item, below(within, '[]'))
  if (DataType.isFixedSizeList(arrow)) {
    return { ...base, offsets: evenOffsets(data.length, arrow.listSize, place), children: [child] }
  }
  if (DataType.isLargeList(arrow)) {
    const { offsets, start, end } = narrowedOffsets(data.valueOffsets as unknown as BigInt64Array, {
      length: data.length,
      limit: child.length,
      place,
    })
    return { ...base, offsets, children: [sliceColumn(child, start, end)] }
  }
  return { ...base, offsets: offsetsOf(data.valueOffsets as Int32Array, data.length), children: [child] }
}

/** An empty Arrow list may have no offsets at all; a column always has length + 1. */
function offsetsOf(offsets: Int32Array | undefined, length: number): Int32Array {
  return offsets === undefined || offsets.length === 0 ? new Int32Array(length + 1) : offsets.subarray(0, length + 1)
}

/** Writes out views of 16 bytes a value: length, then the bytes themselves up to 12, or a prefix, a buffer number and an offset. */
function bytesOfViews(data: Data, { place, room }: Within): Pick<Column, 'offsets' | 'values'> {
  const { length } = data
  const views = data.values as Uint8Array
  const view = new DataView(views.buffer, views.byteOffset, views.byteLength)
  const valid = validityOf(data).validity
  const offsets = new Int32Array(length + 1)
  let total = 0
  for (let i = 0; i < length; i++) {
    if (valid === undefined || ((valid[i >> 3] ?? 0) >> (i & 7)) & 1) {
      const size = view.getInt32(i * 16, true)
      if (size < 0) throw columnError(place, `a view has ${size} bytes: the file is damaged.`)
      total += size
    }
    if (total > LARGEST_OFFSET) throw columnError(place, 'one record batch holds more than 2 GiB of it. Write smaller batches.')
    offsets[i + 1] = total
  }
  takeRoom(room, total, place)
  const values = new Uint8Array(total)
  for (let i = 0; i < length; i++) {
    const from = offsets[i] ?? 0
    const size = (offsets[i + 1] ?? 0) - from
    if (size === 0) continue
    if (size <= 12) values.set(views.subarray(i * 16 + 4, i * 16 + 4 + size), from)
    else {
      const start = view.getInt32(i * 16 + 12, true)
      const buffer = data.variadicBuffers[view.getInt32(i * 16 + 8, true)]
      if (buffer === undefined || start < 0 || start + size > buffer.length) throw columnError(place, 'a view points outside its buffers.')
      values.set(buffer.subarray(start, start + size), from)
    }
  }
  return { offsets, values }
}

function dictionaryColumn(data: Data, type: ColumnType, { place, room }: Within): Column {
  const { length } = data
  const validity = validityOf(data)
  const dictionary = data.dictionary === undefined ? emptyColumn(type) : columnOfVector(data.dictionary, place, room)
  // before values are taken from it: what is taken has sound offsets in any case
  checkColumn(dictionary, dictionary.length, place)
  const before = bytesBefore(dictionary)
  let bytes = 0
  const indices = new Int32Array(length)
  const raw = data.values as ArrayLike<number | bigint>
  const bits = validity.validity
  for (let i = 0; i < length; i++) {
    if (bits !== undefined && (((bits[i >> 3] ?? 0) >> (i & 7)) & 1) === 0) {
      indices[i] = -1
      continue
    }
    const index = Number(raw[i])
    if (!(index >= 0 && index < dictionary.length))
      throw columnError(place, `row ${i} has the dictionary index ${index}, and the dictionary has ${dictionary.length} values.`)
    indices[i] = index
    bytes += (before[index + 1] ?? 0) - (before[index] ?? 0)
  }
  takeRoom(room, bytes, place)
  return fromIndices({ ...takeColumn(dictionary, indices), type }, { indices, entries: dictionary })
}

/** The bitmap from bit 0; absent when nothing is null. */
function validityOf(data: Data): { readonly validity?: Uint8Array } {
  const bits = data.nullBitmap as Uint8Array | undefined | null
  if (bits === undefined || bits === null || bits.length === 0 || data.nullCount === 0) return {}
  return { validity: bitsFrom(bits, data.offset, data.length) }
}

/** `length` bits of a bitmap from bit `offset` on: a view when that is the start of a byte. */
export function bitsFrom(bits: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = (length + 7) >> 3
  const first = offset >> 3
  if ((offset & 7) === 0) return bits.subarray(first, first + bytes)
  const shift = offset & 7
  const result = new Uint8Array(bytes)
  for (let i = 0; i < bytes; i++) result[i] = ((bits[first + i] ?? 0) >> shift) | ((bits[first + i + 1] ?? 0) << (8 - shift))
  return result
}

function bytesOfBits(bits: Uint8Array, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let i = 0, bit = offset; i < length; i++, bit++) bytes[i] = ((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1
  return bytes
}

function float32OfHalves(halves: Uint16Array, length: number): Float32Array {
  const values = new Float32Array(length)
  const bits = new Uint32Array(values.buffer)
  for (let i = 0; i < length; i++) {
    const half = halves[i] ?? 0
    const sign = (half & 0x8000) << 16
    const exponent = (half >> 10) & 31
    const fraction = half & 1023
    if (exponent === 0) values[i] = (sign === 0 ? 1 : -1) * fraction * 2 ** -24
    else bits[i] = sign | (exponent === 31 ? 0x7f800000 : (exponent + 112) << 23) | (fraction << 13)
  }
  return values
}
