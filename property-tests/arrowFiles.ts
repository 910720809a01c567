/**
 * Arrow streams made by hand, byte by byte: what no writer writes. Headers are FlatBuffers; tables are written before
 * what they point at, everything aligned to 8 bytes.
 */

/** A field of a FlatBuffers table. */
export type Slot =
  | { readonly kind: 'number'; readonly bytes: 1 | 2 | 4 | 8; readonly value: number | bigint }
  | { readonly kind: 'text'; readonly value: Uint8Array }
  | { readonly kind: 'table'; readonly slots: Slots }
  | { readonly kind: 'tables'; readonly items: readonly Slots[] }
  /** A vector of structs or numbers, as it lies in memory. */
  | { readonly kind: 'raw'; readonly count: number; readonly bytes: Uint8Array }
export type Slots = readonly (Slot | undefined)[]

export const u8 = (value: number): Slot => ({ kind: 'number', bytes: 1, value })
export const i16 = (value: number): Slot => ({ kind: 'number', bytes: 2, value })
export const i32 = (value: number): Slot => ({ kind: 'number', bytes: 4, value })
export const i64 = (value: number | bigint): Slot => ({ kind: 'number', bytes: 8, value })
export const text = (value: string): Slot => ({ kind: 'text', value: Buffer.from(value) })
export const table = (...slots: Slots): Slot => ({ kind: 'table', slots })
export const tables = (items: readonly Slots[]): Slot => ({ kind: 'tables', items })
export const longs = (values: readonly (number | bigint)[], perItem = 1): Slot => ({
  kind: 'raw',
  count: values.length / perItem,
  bytes: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
})

class FlatBytes {
  #bytes: Buffer = Buffer.alloc(4096)
  length = 8

  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#align())
  }

  #align(): number {
    this.length = (this.length + 7) & ~7
    return this.#reserve(0)
  }

  #reserve(bytes: number): number {
    const at = this.length
    this.length += bytes
    while (this.length > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    return at
  }

  /** Writes a table and points at it from `from`. */
  table(slots: Slots, from: number): void {
    this.#align()
    const vtable = this.#reserve((4 + 2 * slots.length + 7) & ~7)
    const start = this.#reserve(8 + 8 * slots.length)
    this.#bytes.writeUInt32LE(start - from, from)
    this.#bytes.writeUInt16LE(4 + 2 * slots.length, vtable)
    this.#bytes.writeUInt16LE(8 + 8 * slots.length, vtable + 2)
    this.#bytes.writeInt32LE(start - vtable, start)
    for (const [i, slot] of slots.entries()) {
      if (slot === undefined) continue
      this.#bytes.writeUInt16LE(8 + 8 * i, vtable + 4 + 2 * i)
      this.#slot(slot, start + 8 + 8 * i)
    }
  }

  #slot(slot: Slot, at: number): void {
    switch (slot.kind) {
      case 'number':
        this.#bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(slot.value)), at) // little-endian: the first bytes are the number
        return
      case 'table':
        this.table(slot.slots, at)
        return
      case 'text': {
        const start = this.#vector(slot.value.length, slot.value.length + 1, at)
        this.#bytes.set(slot.value, start)
        return
      }
      case 'raw': {
        const start = this.#vector(slot.count, slot.bytes.length, at)
        this.#bytes.set(slot.bytes, start)
        return
      }
      case 'tables': {
        const start = this.#vector(slot.items.length, 4 * slot.items.length, at)
        slot.items.forEach((item, i) => {
          this.table(item, start + 4 * i)
        })
      }
    }
  }

  /** Room for a vector whose items are aligned to 8; points at its length. */
  #vector(count: number, bytes: number, from: number): number {
    this.#align()
    const at = this.#reserve(8 + bytes) + 4
    this.#bytes.writeUInt32LE(at - from, from)
    this.#bytes.writeUInt32LE(count, at)
    return at + 4
  }
}

export function flatBuffer(root: Slots): Uint8Array {
  const bytes = new FlatBytes()
  bytes.table(root, 0)
  return bytes.done()
}

export interface HandField {
  readonly name?: string
  /** The number of its type. */
  readonly type: number
  readonly parameters?: Slots
  readonly children?: readonly HandField[]
  readonly dictionary?: Slots
  readonly metadata?: readonly (readonly [string, string])[]
}

function fieldSlots({ name, type, parameters = [], children = [], dictionary, metadata = [] }: HandField): Slots {
  return [
    name === undefined ? undefined : text(name),
    u8(1),
    u8(type),
    table(...parameters),
    dictionary === undefined ? undefined : table(...dictionary),
    tables(children.map(fieldSlots)),
    tables(metadata.map(([key, value]) => [text(key), text(value)])),
  ]
}

export const HEADER = { schema: 1, dictionary: 2, batch: 3 } as const

/** A message: its header as FlatBuffers, then its body. */
export function message(kind: number, header: Slots, body: Uint8Array = new Uint8Array(0)): Uint8Array {
  const padded = Buffer.concat([body, Buffer.alloc(-body.length & 7)])
  const flat = flatBuffer([i16(4), u8(kind), table(...header), i64(padded.length)])
  const prefix = Buffer.alloc(8)
  prefix.writeUInt32LE(0xffffffff, 0)
  prefix.writeUInt32LE(flat.length, 4)
  return Buffer.concat([prefix, flat, padded])
}

export const schemaMessage = (fields: readonly HandField[], metadata: readonly (readonly [string, string])[] = []): Uint8Array =>
  message(HEADER.schema, [i16(0), tables(fields.map(fieldSlots)), tables(metadata.map(([key, value]) => [text(key), text(value)]))])

export interface HandBatch {
  readonly rows: number | bigint
  /** Length and null count of each column, nested ones after the one they are in. */
  readonly nodes: readonly (readonly [number | bigint, number | bigint])[]
  readonly buffers: readonly Uint8Array[]
  readonly variadic?: readonly (number | bigint)[]
  readonly compression?: Slots
}

function batchSlots({ rows, nodes, buffers, variadic, compression }: HandBatch): { readonly slots: Slots; readonly body: Uint8Array } {
  let at = 0
  const places = buffers.flatMap((buffer) => {
    const start = at
    at += (buffer.length + 7) & ~7
    return [start, buffer.length]
  })
  const body = Buffer.concat(buffers.flatMap((buffer) => [buffer, Buffer.alloc(-buffer.length & 7)]))
  const slots = [
    i64(rows),
    longs(nodes.flat(), 2),
    longs(places, 2),
    compression === undefined ? undefined : table(...compression),
    variadic === undefined ? undefined : longs(variadic),
  ]
  return { slots, body }
}

export function batchMessage(batch: HandBatch): Uint8Array {
  const { slots, body } = batchSlots(batch)
  return message(HEADER.batch, slots, body)
}

export function dictionaryMessage(id: number, batch: HandBatch, { delta = false }: { readonly delta?: boolean } = {}): Uint8Array {
  const { slots, body } = batchSlots(batch)
  return message(HEADER.dictionary, [i64(id), table(...slots), u8(delta ? 1 : 0)], body)
}

export const stream = (...messages: readonly Uint8Array[]): Uint8Array => Buffer.concat(messages)

export const ints = (...values: readonly number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer)
