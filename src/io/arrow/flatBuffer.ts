/** FlatBuffers, as the headers of Arrow messages are: tables that point at tables by offsets, read without trust in any of them. */

/** The fault of a header, as its message. */
export class Fault extends Error {}

/** The fault that `check` finds in a header; undefined where it finds none. */
export function faultOf(bytes: Uint8Array, check: (buffer: FlatBuffer) => void): string | undefined {
  try {
    check(new FlatBuffer(bytes))
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error.message
    if (error instanceof RangeError) return 'a header points outside itself' // DataView's word for it
    throw error
  }
}

/** Reads tables, which have a signed offset back to a list of their fields' places, and vectors, which begin with their length. */
export class FlatBuffer {
  private readonly view: DataView
  readonly length: number
  constructor(bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.length = bytes.byteLength
  }

  root(): number {
    return this.follow(0)
  }

  follow(at: number): number {
    return at + this.view.getUint32(at, true)
  }

  private field(table: number, index: number): number | undefined {
    const fields = table - this.view.getInt32(table, true)
    const size = this.view.getUint16(fields, true)
    const slot = 4 + 2 * index
    const offset = slot + 2 <= size ? this.view.getUint16(fields + slot, true) : 0
    return offset === 0 ? undefined : table + offset
  }

  byte(table: number, index: number): number {
    const at = this.field(table, index)
    return at === undefined ? 0 : this.view.getUint8(at)
  }

  short(table: number, index: number): number {
    const at = this.field(table, index)
    return at === undefined ? 0 : this.view.getInt16(at, true)
  }

  /** An integer of 64 bits, rounded beyond 2^53; of a struct in the table the integer at `offset`. */
  long(table: number, index: number, offset: number = 0): number {
    const at = this.field(table, index)
    return at === undefined ? 0 : this.longAt(at + offset)
  }

  longAt(at: number): number {
    return this.view.getInt32(at + 4, true) * 2 ** 32 + this.view.getUint32(at, true)
  }

  table(table: number, index: number): number | undefined {
    const at = this.field(table, index)
    return at === undefined ? undefined : this.follow(at)
  }

  /** The place and number of a vector's items; undefined where it is absent. A Fault when they would not fit. */
  vector(table: number, index: number, itemBytes: number): { readonly start: number; readonly count: number } | undefined {
    const at = this.table(table, index)
    if (at === undefined) return undefined
    const count = this.view.getUint32(at, true)
    if (at + 4 + count * itemBytes > this.length) throw new Fault('a header holds more than its bytes')
    return { start: at + 4, count }
  }
}
