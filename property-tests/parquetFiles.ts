/**
 * Parquet files made by hand, byte by byte: what no writer writes.
 */
import { encodeThrift, i32, i64, structs, type ThriftField, type ThriftStruct, text } from '../src/io/parquet/thrift.ts'

export const TYPES = { boolean: 0, int32: 1, int64: 2, float: 4, double: 5, bytes: 6 } as const
export const CODEC = { none: 0, snappy: 1, gzip: 2, brotli: 4, zstd: 6, lz4: 7 } as const
export const ENCODING = { plain: 0, rle: 3, deltaPacked: 5, deltaLengths: 6, deltaBytes: 7, dictionary: 8 } as const

export interface HandColumn {
  readonly name: string
  readonly type: number
  /** The number of its annotation, as older writers have it. */
  readonly converted?: number
  /** Of decimals. */
  readonly digits?: { readonly scale: number; readonly precision: number }
  /** 0 required, 1 optional, 2 repeated. */
  readonly repetition?: number
  readonly codec?: number
  /** Headers and bodies of its pages. */
  readonly pages: Uint8Array
  /** Declared values; the rows when absent. */
  readonly values?: number
  readonly statistics?: ThriftStruct
}

export const struct = (...fields: readonly (readonly [number, ThriftField])[]): ThriftStruct => new Map(fields)
export const nested = (value: ThriftStruct): ThriftField => ({ type: 12, value })

/** A page of any type: header and body. */
export function page(
  kind: 'data' | 'dictionary',
  body: Uint8Array,
  how: { values: number; encoding: number; uncompressed?: number },
): Uint8Array {
  const counts: [number, ThriftField][] = [
    [1, i32(how.values)],
    [2, i32(how.encoding)],
  ]
  if (kind === 'data') counts.push([3, i32(ENCODING.rle)], [4, i32(ENCODING.rle)])
  const header = encodeThrift(
    struct(
      [1, i32(kind === 'data' ? 0 : 2)],
      [2, i32(how.uncompressed ?? body.length)],
      [3, i32(body.length)],
      [kind === 'data' ? 5 : 7, nested(new Map(counts))],
    ),
  )
  return Buffer.concat([header, body])
}

/** A data page of the second version: its levels lie before what is packed. */
export function secondPage(
  levels: Uint8Array,
  body: Uint8Array,
  how: { values: number; encoding: number; uncompressed: number; nulls?: number; isPacked: boolean },
): Uint8Array {
  const page = struct(
    [1, i32(how.values)],
    [2, i32(how.nulls ?? 0)],
    [3, i32(how.values)],
    [4, i32(how.encoding)],
    [5, i32(levels.length)],
    [6, i32(0)],
    [7, { type: how.isPacked ? 1 : 2, value: how.isPacked }],
  )
  const header = struct([1, i32(3)], [2, i32(levels.length + how.uncompressed)], [3, i32(levels.length + body.length)], [8, nested(page)])
  return Buffer.concat([encodeThrift(header), levels, body])
}

/** Snappy's form of bytes that are told as they are. */
export function snappyLiterals(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [varint(bytes.length)]
  for (let at = 0; at < bytes.length; at += 60) {
    const some = bytes.subarray(at, at + 60)
    parts.push(Uint8Array.from([(some.length - 1) << 2]), some)
  }
  return Buffer.concat(parts)
}

/** Values of so many bits one after another, in whole groups of eight, with the header that says how many groups. */
export function packedRun(values: readonly number[], bits: number): Uint8Array {
  const groups = Math.ceil(values.length / 8)
  const bytes = new Uint8Array(groups * bits)
  for (const [i, value] of values.entries())
    for (let bit = 0; bit < bits; bit++) {
      const at = i * bits + bit
      if (Math.floor(value / 2 ** bit) % 2 === 1) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7))
    }
  return Buffer.concat([varint(groups * 2 + 1), bytes])
}

/** One run of a value of so many bits. */
export function repeatedRun(count: number, value: number, bits: number): Uint8Array {
  const bytes = Uint8Array.from({ length: Math.ceil(bits / 8) }, (_, i) => Math.floor(value / 256 ** i) % 256)
  return Buffer.concat([varint(count * 2), bytes])
}

/** A file of row groups that all have the same columns, whose pages lie in the file once. */
export function handFile(columns: readonly HandColumn[], { rows, groups = 1, extra = [] }: HandGroups): Uint8Array {
  let at = 4
  const places = columns.map(({ pages }) => {
    at += pages.length
    return at - pages.length
  })
  const chunks = columns.map((column, i) =>
    struct(
      [2, i64(4)],
      [
        3,
        nested(
          struct(
            [1, i32(column.type)],
            [2, { type: 9, value: { elementType: 5, items: [0] } }],
            [3, { type: 9, value: { elementType: 8, items: [Buffer.from(column.name)] } }],
            [4, i32(column.codec ?? 0)],
            [5, i64(column.values ?? rows)],
            [6, i64(column.pages.length)],
            [7, i64(column.pages.length)],
            [9, i64(places[i] ?? 4)],
            ...(column.statistics === undefined ? [] : ([[12, nested(column.statistics)]] as const)),
          ),
        ),
      ],
    ),
  )
  const group = struct([1, structs(chunks)], [2, i64(at)], [3, i64(rows)])
  const schema = [
    struct([4, text('schema')], [5, i32(columns.length)]),
    ...columns.map(({ name, type, repetition = 0, converted, digits }) =>
      struct(
        ...([
          [1, i32(type)],
          [3, i32(repetition)],
          [4, text(name)],
        ] as const),
        ...(converted === undefined ? [] : ([[6, i32(converted)]] as const)),
        ...(digits === undefined ? [] : ([[7, i32(digits.scale)] as const, [8, i32(digits.precision)] as const] as const)),
      ),
    ),
  ]
  const footer = encodeThrift(
    struct([1, i32(1)], [2, structs(schema)], [3, i64(rows * groups)], [4, structs(Array.from({ length: groups }, () => group))], ...extra),
  )
  return framed(Buffer.concat(columns.map(({ pages }) => pages)), footer)
}

export interface HandGroups {
  readonly rows: number
  readonly groups?: number
  /** More fields of the footer. */
  readonly extra?: readonly (readonly [number, ThriftField])[]
}

/** Magic, data, footer, its length, magic. */
export function framed(data: Uint8Array, footer: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(footer.length)
  return Buffer.concat([Buffer.from('PAR1'), data, footer, length, Buffer.from('PAR1')])
}

export function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 128)
  return Uint8Array.from([...bytes, left])
}

/** One run of the hybrid encoding: `count` times a value of up to 8 bits. */
export const run = (count: number, value: number): Uint8Array => Buffer.concat([varint(count * 2), Uint8Array.from([value])])

/** Definition levels of a page of the first version: their length, then runs. */
export function levels(...runs: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(runs)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(body.length)
  return Buffer.concat([length, body])
}

/** A text in plain encoding. */
export function plainText(bytes: Uint8Array, declared: number = bytes.length): Uint8Array {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(declared)
  return Buffer.concat([length, bytes])
}

/** Delta-packed integers: a first value, then one block after another in which every value is the one before plus a step. */
export function deltaPacked(count: number, first: number, steps: readonly number[]): Uint8Array {
  const zigzag = (n: number) => varint(n < 0 ? -2 * n - 1 : 2 * n)
  // blocks of 128 values in 4 miniblocks, all of no bits: the least step is every step
  const parts: Uint8Array[] = [varint(128), varint(4), varint(count), zigzag(first)]
  for (let block = 0; block * 128 < count - 1; block++) parts.push(zigzag(steps[block] ?? 0), Uint8Array.from([0, 0, 0, 0]))
  return Buffer.concat(parts)
}

/** A zstd frame of blocks that each repeat one byte 128 KiB times. */
export function zstdBomb(blocks: number): Uint8Array {
  const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]) // no size declared, a window of 128 KiB
  const body = Buffer.alloc(blocks * 4)
  for (let i = 0; i < blocks; i++) {
    const header = ((128 * 1024) << 3) | (1 << 1) | (i === blocks - 1 ? 1 : 0)
    body.writeUIntLE(header, i * 4, 3)
  }
  return Buffer.concat([frame, body])
}
