/**
 * Messages of Spark Connect as bytes: the wire format of Protocol Buffers, by the rows of `messages.ts`.
 *
 *     field       tag: number * 8 + wire type, then
 *     wire type   0 varint    1 eight bytes    2 length and bytes    5 four bytes
 *
 * Fields that are absent are not written; those that no row names are skipped.
 */
import { SourceError } from '../../core/errors.ts'
import { ENUMS, type FieldRow, MESSAGES, type Messages } from './messages.ts'

type Name = keyof Messages
type Fields = Readonly<Record<string, unknown>>

const VARINT = 0
const EIGHT_BYTES = 1
const LENGTH = 2
const FOUR_BYTES = 5
const SCALARS: ReadonlySet<string> = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double'])
const texts = { encoder: new TextEncoder(), decoder: new TextDecoder() }
/** Most levels of nested messages: plans nest, but deeper ones would be hostile. */
const MOST_LEVELS = 2000

export function encode<N extends Name>(name: N, message: Messages[N]): Uint8Array {
  const writer = new Writer()
  writeMessage(writer, name, message as Fields)
  return writer.finish()
}

/** Reads a message. Throws SourceError for bytes that are none of this name. */
export function decode<N extends Name>(name: N, bytes: Uint8Array): Messages[N] {
  return readMessage(new Reader(bytes), name, bytes.length, 0) as Messages[N] // made by the rows of N
}

function writeMessage(writer: Writer, name: Name, message: Fields): void {
  for (const row of MESSAGES[name]) {
    const value = message[row[1]]
    if (value === undefined) continue
    const [number, , holds, form] = row
    if (form === 'repeated') for (const item of value as readonly unknown[]) writeField(writer, number, holds, item)
    else if (form === 'map') {
      for (const [key, item] of Object.entries(value as Fields)) {
        writer.nested(number, () => {
          writeField(writer, 1, 'string', key)
          writeField(writer, 2, holds, item)
        })
      }
    } else writeField(writer, number, holds, value)
  }
}

function writeField(writer: Writer, number: number, holds: string, value: unknown): void {
  switch (holds) {
    case 'string':
      writer.bytes(number, texts.encoder.encode(value as string))
      return
    case 'bytes':
      writer.bytes(number, value as Uint8Array)
      return
    case 'bool':
      writer.tag(number, VARINT)
      writer.varint(value === true ? 1n : 0n)
      return
    case 'int32':
    case 'int64':
      writer.tag(number, VARINT)
      writer.varint(BigInt.asUintN(64, BigInt(value as number | bigint)))
      return
    case 'double':
      writer.tag(number, EIGHT_BYTES)
      writer.double(value as number)
      return
    default: {
      const values = ENUMS[holds]
      if (values === undefined) writer.nested(number, () => writeMessage(writer, holds as Name, value as Fields))
      else {
        writer.tag(number, VARINT)
        writer.varint(BigInt(values[value as string] ?? 0))
      }
    }
  }
}

/** A buffer that grows. Nested messages are written behind room for their length, and moved where that takes more or less room. */
class Writer {
  #bytes = new Uint8Array(256)
  #at = 0

  tag(number: number, type: number): void {
    this.varint(BigInt(number * 8 + type))
  }

  varint(value: bigint): void {
    this.#room(10)
    let rest = value
    while (rest > 127n) {
      this.#bytes[this.#at++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    this.#bytes[this.#at++] = Number(rest)
  }

  double(value: number): void {
    this.#room(8)
    new DataView(this.#bytes.buffer).setFloat64(this.#at, value, true)
    this.#at += 8
  }

  bytes(number: number, value: Uint8Array): void {
    this.tag(number, LENGTH)
    this.varint(BigInt(value.length))
    this.#room(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
  }

  nested(number: number, write: () => void): void {
    this.tag(number, LENGTH)
    const start = this.#at
    write()
    const length = this.#at - start
    let width = 1
    for (let rest = length; rest > 127; rest >>>= 7) width++
    this.#room(width)
    this.#bytes.copyWithin(start + width, start, this.#at)
    this.#at = start
    this.varint(BigInt(length))
    this.#at = start + width + length
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at)
  }

  #room(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + more))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
  }
}

function readMessage(reader: Reader, name: Name, end: number, level: number): Fields {
  if (level > MOST_LEVELS || end > reader.size) throw damaged()
  const message: Record<string, unknown> = {}
  const rows = rowsOf(name)
  while (reader.at < end) {
    const tag = Number(reader.varint())
    const row = rows.get(tag >>> 3)
    if (row === undefined) reader.skip(tag & 7)
    else readField(reader, row, { type: tag & 7, level, message })
  }
  if (reader.at !== end) throw damaged()
  return message
}

const byNumber = new Map<Name, ReadonlyMap<number, FieldRow>>()

function rowsOf(name: Name): ReadonlyMap<number, FieldRow> {
  const known = byNumber.get(name) ?? new Map(MESSAGES[name].map((row) => [row[0], row]))
  byNumber.set(name, known)
  return known
}

interface Reading {
  readonly type: number
  readonly level: number
  readonly message: Record<string, unknown>
}

function readField(reader: Reader, [, name, holds, form]: FieldRow, { type, level, message }: Reading): void {
  if (form === 'map') {
    const end = reader.endOf(reader.length(type))
    let key = ''
    let value: unknown
    while (reader.at < end) {
      const tag = Number(reader.varint())
      if (tag >>> 3 === 1) key = readValue(reader, 'string', tag & 7, level) as string
      else if (tag >>> 3 === 2) value = readValue(reader, holds, tag & 7, level)
      else reader.skip(tag & 7)
    }
    message[name] = { ...(message[name] as object | undefined), [key]: value ?? '' }
    return
  }
  if (form === undefined) {
    message[name] = readValue(reader, holds, type, level)
    return
  }
  const list = (message[name] ??= []) as unknown[]
  // numbers may be packed: one length for all of them
  const isPacked = type === LENGTH && !isDelimited(holds)
  if (!isPacked) list.push(readValue(reader, holds, type, level))
  else for (const end = reader.endOf(reader.length(type)); reader.at < end; ) list.push(readValue(reader, holds, VARINT, level))
}

function isDelimited(holds: string): boolean {
  return holds === 'string' || holds === 'bytes' || (!SCALARS.has(holds) && ENUMS[holds] === undefined)
}

function readValue(reader: Reader, holds: string, type: number, level: number): unknown {
  switch (holds) {
    case 'string':
      return texts.decoder.decode(reader.take(reader.length(type)))
    case 'bytes':
      return reader.take(reader.length(type))
    case 'bool':
      return reader.number(type) !== 0n
    case 'int32':
      return Number(BigInt.asIntN(32, reader.number(type)))
    case 'int64':
      return BigInt.asIntN(64, reader.number(type))
    case 'double':
      return reader.double(type)
    default: {
      const values = ENUMS[holds]
      if (values === undefined) return readMessage(reader, holds as Name, reader.endOf(reader.length(type)), level + 1)
      const number = Number(reader.number(type))
      return Object.keys(values).find((name) => values[name] === number)
    }
  }
}

class Reader {
  at = 0
  readonly size: number
  readonly #bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.size = bytes.length
  }

  varint(): bigint {
    let low = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte()
      low |= (byte & 127) << shift
      if (byte < 128) return BigInt(low)
    }
    let value = BigInt(low)
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
    throw damaged()
  }

  number(type: number): bigint {
    if (type !== VARINT) throw damaged()
    return this.varint()
  }

  double(type: number): number {
    if (type !== EIGHT_BYTES) throw damaged()
    const bytes = this.take(8)
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true)
  }

  length(type: number): number {
    if (type !== LENGTH) throw damaged()
    return Number(this.varint())
  }

  endOf(length: number): number {
    if (this.at + length > this.size) throw damaged()
    return this.at + length
  }

  take(length: number): Uint8Array {
    const end = this.endOf(length)
    const bytes = this.#bytes.subarray(this.at, end)
    this.at = end
    return bytes
  }

  skip(type: number): void {
    if (type === VARINT) this.varint()
    else if (type === EIGHT_BYTES) this.take(8)
    else if (type === FOUR_BYTES) this.take(4)
    else if (type === LENGTH) this.take(this.length(type))
    else throw damaged()
  }

  #byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw damaged()
    return byte
  }
}

function damaged(): SourceError {
  return new SourceError(
    'The Spark server sent bytes that are no message of Spark Connect: they were cut, or another server answers there.',
    'Spark',
  )
}
