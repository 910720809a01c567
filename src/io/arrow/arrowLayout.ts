/**
 * Checks that the bytes of an Arrow message can hold what its header says, before anything is decoded.
 *
 * A header lists lengths of columns and places of buffers, in the order of the schema. A decoder takes them as they
 * are: lengths without bytes become arrays of any size, and a missing buffer another column's values. Here the schema is
 * walked with both lists, and every buffer is compared with what the length of its column needs.
 */
import type { Field, Schema } from 'apache-arrow'
import { Field as ArrowField, DataType } from './arrowLibrary.ts'

/** The decoded header of a record batch, or of the values of a dictionary. */
export interface BatchHeader {
  readonly length: number
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[]
  readonly buffers: readonly { readonly offset: number; readonly length: number }[]
  readonly variadicBufferCounts?: readonly (number | bigint)[] | null
  /** The compression of the buffers; absent where they have none. */
  readonly compression?: { readonly type: number; readonly method: number } | null
}

export type Layout =
  | { readonly kind: 'fault'; readonly what: string }
  | {
      readonly kind: 'sound'
      /** Elements of columns of no bytes beyond the rows, as in a list of nulls. */
      readonly unbacked: number
      /** The number of buffers that belong to each field and to those before it. */
      readonly bufferEnds: readonly number[]
      /** The fields that have nulls. */
      readonly mayBeNull: ReadonlySet<string>
    }

const LARGEST_LENGTH = 2 ** 31 - 1
/** Bytes of the number before a compressed buffer: the length of what it unpacks to. */
export const PREFIX_BYTES = 8

class Fault extends Error {}

/** The layout of a message whose body has `bodyBytes` and whose columns are `fields`. What compressed buffers unpack to is not known yet. */
export function layoutOf(header: BatchHeader, fields: readonly Field[], bodyBytes: number): Layout {
  try {
    const walk = new Walk(header, bodyBytes)
    const mayBeNull = new Set<string>()
    const bufferEnds = fields.map((field) => {
      if (walk.column(field.type, header.length, field.name) > 0) mayBeNull.add(field.name)
      return walk.buffers
    })
    walk.end()
    return { kind: 'sound', unbacked: walk.unbacked, bufferEnds, mayBeNull }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'fault', what: error.message }
    throw error
  }
}

/** The one column of a dictionary's messages; undefined where no column of the schema has it. */
export function dictionaryField(schema: Schema, id: number): Field | undefined {
  const values = schema.dictionaries.get(id)
  return values && new ArrowField('dictionary', values, true)
}

/** The ids of the dictionaries that the columns at `indices` refer to, and of those inside of these. */
export function dictionariesOf(schema: Schema, indices: readonly number[]): ReadonlySet<number> {
  const ids = new Set<number>()
  const visit = (type: DataType): void => {
    if (DataType.isDictionary(type)) {
      ids.add(type.id)
      visit(type.dictionary)
      return
    }
    for (const child of (type.children ?? []) as readonly Field[]) visit(child.type)
  }
  for (const index of indices) {
    const field = schema.fields[index]
    if (field !== undefined) visit(field.type)
  }
  return ids
}

class Walk {
  unbacked = 0
  #node = 0
  #buffer = 0
  #variadic = 0
  readonly #header: BatchHeader
  readonly #bodyBytes: number
  constructor(header: BatchHeader, bodyBytes: number) {
    this.#header = header
    this.#bodyBytes = bodyBytes
  }

  /** The number of buffers that were walked. */
  get buffers(): number {
    return this.#buffer
  }

  end(): void {
    const { nodes, buffers } = this.#header
    if (this.#node !== nodes.length || this.#buffer !== buffers.length)
      throw new Fault('a header lists more columns or buffers than the schema has')
  }

  /** Walks a column of at least `least` elements, or of exactly as many on the top level; returns how many are null. */
  column(type: DataType, least: number, name: string, nested = false): number {
    const node = this.#header.nodes[this.#node++]
    if (node === undefined) throw new Fault(`a header says nothing of column "${name}"`)
    const { length, nullCount } = node
    if (!Number.isSafeInteger(length) || length < 0) throw new Fault(`column "${name}" declares ${length} values`)
    if (nested ? length < least : length !== least) throw new Fault(`column "${name}" declares ${length} values instead of ${least}`)
    if (length > LARGEST_LENGTH)
      throw new Fault(`column "${name}" declares ${length} values, and at most ${LARGEST_LENGTH} are read at once`)
    if (!Number.isSafeInteger(nullCount) || nullCount < 0 || nullCount > length)
      throw new Fault(`column "${name}" declares ${nullCount} nulls of ${length} values`)
    if (DataType.isNull(type)) {
      this.unbacked += Math.max(0, length - this.#header.length)
      return length
    }
    this.#bytes(nullCount > 0 ? Math.ceil(length / 8) : 0, name)
    this.#contents(type, length, name)
    return nullCount
  }

  #contents(type: DataType, length: number, name: string): void {
    if (DataType.isDictionary(type)) this.#values(length, type.indices.bitWidth, name)
    else if (DataType.isBool(type)) this.#values(length, 1, name)
    else if (DataType.isUtf8(type) || DataType.isBinary(type)) this.#offsets(length, 32, name).#bytes(0, name)
    else if (DataType.isLargeUtf8(type) || DataType.isLargeBinary(type)) this.#offsets(length, 64, name).#bytes(0, name)
    else if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) this.#views(length, name)
    else if (DataType.isList(type) || DataType.isMap(type)) this.#offsets(length, 32, name).#child(type.children[0], 0, `${name}[]`)
    else if (DataType.isLargeList(type)) this.#offsets(length, 64, name).#child(type.children[0], 0, `${name}[]`)
    else if (DataType.isFixedSizeList(type)) {
      this.#unbackedIf(type.listSize === 0, length)
      this.#child(type.children[0], length * type.listSize, `${name}[]`)
    } else if (DataType.isStruct(type)) {
      this.#unbackedIf(type.children.length === 0, length)
      for (const child of type.children as Field[]) this.#child(child, length, `${name}.${child.name ?? ''}`)
    } else {
      this.#unbackedIf(DataType.isFixedSizeBinary(type) && type.byteWidth === 0, length)
      this.#values(length, bitsOf(type), name)
    }
  }

  #views(length: number, name: string): void {
    this.#values(length, 128, name)
    const count = Number(this.#header.variadicBufferCounts?.[this.#variadic++] ?? 0)
    if (!(count >= 0 && count <= this.#header.buffers.length)) throw new Fault(`column "${name}" declares ${count} buffers`)
    for (let i = 0; i < count; i++) this.#bytes(0, name)
  }

  /** Walks a buffer of offsets, one more than elements; an empty column may have none. */
  #offsets(length: number, bits: number, name: string): this {
    this.#values(length === 0 ? 0 : length + 1, bits, name)
    return this
  }

  #child(field: Field | undefined, least: number, name: string): void {
    if (field !== undefined) this.column(field.type, least, name, true)
  }

  #unbackedIf(holds: boolean, length: number): void {
    if (holds) this.unbacked += Math.max(0, length - this.#header.length)
  }

  #values(count: number, bits: number, name: string): void {
    this.#bytes(Math.ceil((count * bits) / 8), name)
  }

  /** The next buffer, which must have at least so many bytes. */
  #bytes(least: number, name: string): void {
    const buffer = this.#header.buffers[this.#buffer++]
    if (buffer === undefined) throw new Fault(`a header lists too few buffers for column "${name}"`)
    const { offset, length } = buffer
    if (!(offset >= 0 && length >= 0 && offset + length <= this.#bodyBytes))
      throw new Fault(`a buffer of column "${name}" lies outside its message`)
    const isPacked = (this.#header.compression ?? undefined) !== undefined
    const needed = isPacked ? Math.min(Math.max(least, length), 1) * PREFIX_BYTES : least
    if (length < needed) throw new Fault(`a buffer of column "${name}" has ${length} bytes, and its values take ${needed}`)
  }
}

/** Bits of a value of a type of fixed width; schemas with other types are refused before. */
function bitsOf(type: DataType): number {
  if (DataType.isInt(type) || DataType.isDecimal(type) || DataType.isTime(type)) return type.bitWidth
  if (DataType.isFloat(type)) return [16, 32, 64][type.precision] ?? 64
  if (DataType.isDate(type)) return type.unit === 0 ? 32 : 64
  if (DataType.isFixedSizeBinary(type)) return 8 * type.byteWidth
  return 64 // timestamps
}
