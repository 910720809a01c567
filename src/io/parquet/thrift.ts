/**
 * Thrift's compact protocol, in which Parquet footers and page headers are written, as generic values.
 *
 * Structs keep every field with its wire type, so that a footer can be taken apart, changed and written again without
 * knowing all its fields; a shape says which ones are wanted where that is known. Bounds are checked before anything is
 * allocated, and the memory of all values is limited, as a byte can become an object: hostile bytes give a ThriftError.
 */
export class ThriftError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ThriftError'
  }
}

export const TRUE = 1
export const FALSE = 2
export const I32 = 5
export const I64 = 6
export const BINARY = 8
export const LIST = 9
export const STRUCT = 12
const I8 = 3
const I16 = 4
const DOUBLE = 7
const SET = 10

export interface ThriftList {
  readonly elementType: number
  readonly items: ThriftValue[]
}
export type ThriftStruct = Map<number, ThriftField>
export interface ThriftField {
  readonly type: number
  readonly value: ThriftValue
}
/** i64 is bigint, the smaller integers are numbers. */
export type ThriftValue = boolean | number | bigint | Uint8Array | ThriftList | ThriftStruct

/** Structs nest six deep in a Parquet footer; deeper ones are hostile. */
const DEEPEST = 32

/** The wanted fields of a struct, or of each struct of a list, with the shape of the values below them; `'all'` wants every field. */
export type ThriftShape = ReadonlyMap<number, ThriftShape> | 'all'

/** The most fields of a struct that are read; Parquet's structs have up to 17. */
const MOST_FIELDS = 256

/** Estimates of the memory that values take as the engine's Maps, objects and views. */
const STRUCT_BYTES = 200
const FIELD_BYTES = 72
const ITEM_BYTES = 24
const BINARY_BYTES = 120
const BIGINT_BYTES = 32
/** Memory that the values of a page header may take, which is a struct or two. */
const STANDARD_BYTES = 2 ** 20

export class ThriftReader {
  readonly bytes: Uint8Array
  offset: number
  #left: number
  /** `mostBytes` is what all values together may take in memory. */
  constructor(bytes: Uint8Array, offset = 0, mostBytes: number = STANDARD_BYTES) {
    this.bytes = bytes
    this.offset = offset
    this.#left = mostBytes
  }

  /** Reads the wanted fields of the struct that begins at `offset`, with the memory limit of a new reader. */
  structAt(offset: number, shape: ThriftShape): ThriftStruct {
    this.offset = offset
    this.#left = STANDARD_BYTES
    return this.struct(shape)
  }

  struct(shape: ThriftShape = 'all', depth = 0): ThriftStruct {
    if (depth > DEEPEST) throw new ThriftError('structs are nested too deeply')
    this.#take(STRUCT_BYTES)
    const struct: ThriftStruct = new Map()
    let id = 0
    for (;;) {
      const header = this.byte()
      const type = header & 15
      if (type === 0) return struct
      const delta = header >> 4
      id = delta === 0 ? this.zigzag() : id + delta
      const wanted = shape === 'all' ? shape : shape.get(id)
      if (wanted === undefined) this.skip(type, depth)
      else {
        this.#take(FIELD_BYTES)
        if (struct.size === MOST_FIELDS) throw new ThriftError('a struct has too many fields')
        struct.set(id, { type, value: type === TRUE ? true : type === FALSE ? false : this.value(type, wanted, depth) })
      }
    }
  }

  #take(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new ThriftError('it holds more values than are read')
  }

  /** Passes over the value of a field. */
  private skip(type: number, depth: number): void {
    if (depth > DEEPEST) throw new ThriftError('structs are nested too deeply')
    switch (type) {
      case TRUE:
      case FALSE:
        return
      case I8:
      case I16:
      case I32:
      case I64:
        while (this.byte() > 127);
        return
      case DOUBLE:
        this.pass(8)
        return
      case BINARY:
        this.pass(this.varint())
        return
      case LIST:
      case SET: {
        const { elementType, length } = this.listHeader()
        if (elementType === TRUE || elementType === FALSE) this.pass(length)
        else for (let i = 0; i < length; i++) this.skip(elementType, depth + 1)
        return
      }
      case STRUCT:
        for (;;) {
          const header = this.byte()
          if ((header & 15) === 0) return
          if (header >> 4 === 0) this.zigzag()
          this.skip(header & 15, depth + 1)
        }
    }
    throw new ThriftError(`there is no type ${type}`)
  }

  private pass(length: number): void {
    this.need(length)
    this.offset += length
  }

  private value(type: number, shape: ThriftShape, depth: number): ThriftValue {
    switch (type) {
      case I8:
        return (this.byte() << 24) >> 24
      case I16:
      case I32:
        return this.zigzag()
      case I64:
        this.#take(BIGINT_BYTES)
        return this.zigzagBig()
      case DOUBLE: {
        this.pass(8)
        return new DataView(this.bytes.buffer, this.bytes.byteOffset + this.offset - 8, 8).getFloat64(0, true)
      }
      case BINARY: {
        const length = this.varint()
        this.#take(BINARY_BYTES)
        this.pass(length)
        return this.bytes.subarray(this.offset - length, this.offset)
      }
      case LIST:
      case SET:
        return this.list(shape, depth)
      case STRUCT:
        return this.struct(shape, depth + 1)
    }
    throw new ThriftError(`there is no type ${type}`)
  }

  private list(shape: ThriftShape, depth: number): ThriftList {
    if (depth > DEEPEST) throw new ThriftError('lists are nested too deeply')
    const { elementType, length } = this.listHeader()
    this.#take(ITEM_BYTES * (length + 4))
    const items: ThriftValue[] = []
    const bool = elementType === TRUE || elementType === FALSE
    for (let i = 0; i < length; i++) items.push(bool ? this.byte() === TRUE : this.value(elementType, shape, depth + 1))
    return { elementType, items }
  }

  private listHeader(): { readonly elementType: number; readonly length: number } {
    const header = this.byte()
    const length = header >> 4 === 15 ? this.varint() : header >> 4
    this.need(length) // every element takes a byte at least
    return { elementType: header & 15, length }
  }

  private need(length: number): void {
    if (length > this.bytes.length - this.offset) throw new ThriftError('the bytes end in the middle of a value')
  }

  private byte(): number {
    const byte = this.bytes[this.offset++]
    if (byte === undefined) throw new ThriftError('the bytes end in the middle of a value')
    return byte
  }

  private varint(): number {
    let result = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      result |= (byte & 127) << shift
      if (byte < 128) return result >>> 0
    }
    throw new ThriftError('an integer is longer than 32 bits')
  }

  private zigzag(): number {
    const n = this.varint()
    return (n >>> 1) ^ -(n & 1)
  }

  private zigzagBig(): bigint {
    // most take a few bytes, which a number holds
    let small = 0
    for (let i = 0, unit = 1; i < 7; i++, unit *= 128) {
      const byte = this.byte()
      small += (byte & 127) * unit
      if (byte < 128) return BigInt(small % 2 === 0 ? small / 2 : -(small + 1) / 2)
    }
    let result = BigInt(small)
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      result |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asIntN(64, (result >> 1n) ^ -(result & 1n))
    }
    throw new ThriftError('an integer is longer than 64 bits')
  }
}

/** Decodes a struct without a limit on memory, from trusted bytes: written here, or part of a footer that was read. */
export function decodeThrift(bytes: Uint8Array): ThriftStruct {
  return new ThriftReader(bytes, 0, Number.POSITIVE_INFINITY).struct()
}

/** The bytes of a struct. */
export function encodeThrift(struct: ThriftStruct): Uint8Array {
  const writer = new ThriftWriter()
  writer.struct(struct)
  return writer.done()
}

class ThriftWriter {
  private bytes = new Uint8Array(1024)
  private length = 0

  done(): Uint8Array {
    return this.bytes.slice(0, this.length)
  }

  struct(struct: ThriftStruct): void {
    let last = 0
    for (const [id, { type, value }] of [...struct].sort((a, b) => a[0] - b[0])) {
      const wire = typeof value === 'boolean' ? (value ? TRUE : FALSE) : type
      const delta = id - last
      if (delta > 0 && delta < 16) this.byte((delta << 4) | wire)
      else {
        this.byte(wire)
        this.varint((id << 1) ^ (id >> 31))
      }
      last = id
      if (typeof value !== 'boolean') this.value(type, value)
    }
    this.byte(0)
  }

  private value(type: number, value: ThriftValue): void {
    if (typeof value === 'bigint') {
      let n = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
      for (; n > 127n; n >>= 7n) this.byte(Number(n & 127n) | 128)
      this.byte(Number(n))
    } else if (typeof value === 'number') {
      if (type === DOUBLE) this.raw(new Uint8Array(new Float64Array([value]).buffer))
      else if (type === I8) this.byte(value & 255)
      else this.varint((value << 1) ^ (value >> 31))
    } else if (typeof value === 'boolean') this.byte(value ? TRUE : FALSE)
    else if (value instanceof Uint8Array) {
      this.varint(value.length)
      this.raw(value)
    } else if (value instanceof Map) this.struct(value)
    else {
      const { elementType, items } = value
      if (items.length < 15) this.byte((items.length << 4) | elementType)
      else {
        this.byte(0xf0 | elementType)
        this.varint(items.length)
      }
      for (const item of items) this.value(elementType, item)
    }
  }

  private varint(value: number): void {
    let n = value >>> 0
    for (; n > 127; n >>>= 7) this.byte((n & 127) | 128)
    this.byte(n)
  }

  private byte(byte: number): void {
    if (this.length === this.bytes.length) this.grow(1)
    this.bytes[this.length++] = byte
  }

  private raw(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.bytes.length) this.grow(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  private grow(by: number): void {
    const larger = new Uint8Array(2 * (this.bytes.length + by))
    larger.set(this.bytes)
    this.bytes = larger
  }
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

// Fields of structs, undefined where absent or of another type than asked for.

export function intOf(struct: ThriftStruct, id: number): number | undefined {
  const value = struct.get(id)?.value
  return typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : undefined
}
export function boolOf(struct: ThriftStruct, id: number): boolean | undefined {
  const value = struct.get(id)?.value
  return typeof value === 'boolean' ? value : undefined
}
export function bytesOf(struct: ThriftStruct, id: number): Uint8Array | undefined {
  const value = struct.get(id)?.value
  return value instanceof Uint8Array ? value : undefined
}
export function textOf(struct: ThriftStruct, id: number): string | undefined {
  const bytes = bytesOf(struct, id)
  return bytes === undefined ? undefined : decoder.decode(bytes)
}
/** Whether a value is this text. */
export function isText(value: ThriftValue | undefined, known: string): boolean {
  if (!(value instanceof Uint8Array)) return false
  let same = 0
  while (same < value.length && value[same] === known.charCodeAt(same) && (value[same] ?? 0) < 128) same++
  return (same === value.length && same === known.length) || decoder.decode(value) === known
}
export function structOf(struct: ThriftStruct, id: number): ThriftStruct | undefined {
  const value = struct.get(id)?.value
  return value instanceof Map ? value : undefined
}
export function listOf(struct: ThriftStruct, id: number): readonly ThriftValue[] | undefined {
  const value = struct.get(id)?.value
  return typeof value === 'object' && 'items' in value ? value.items : undefined
}
export function structsOf(struct: ThriftStruct, id: number): ThriftStruct[] | undefined {
  const items = listOf(struct, id)
  return items?.every((item) => item instanceof Map) ? (items as ThriftStruct[]) : undefined
}

// Fields to write.

export function i32(value: number): ThriftField {
  return { type: I32, value }
}
export function i64(value: number | bigint): ThriftField {
  return { type: I64, value: BigInt(value) }
}
export function text(value: string): ThriftField {
  return { type: BINARY, value: encoder.encode(value) }
}
export function texts(items: readonly string[]): ThriftField {
  return { type: LIST, value: { elementType: BINARY, items: items.map((item) => encoder.encode(item)) } }
}
export function structs(items: readonly ThriftStruct[]): ThriftField {
  return { type: LIST, value: { elementType: STRUCT, items: [...items] } }
}
