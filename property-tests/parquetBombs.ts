/**
 * Parquet files of a few KiB that claim, or become, any size: one of each kind that is known. Each says how it has to
 * end: with its rows, or with the SourceError of which a part is given.
 */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { encodeThrift, i32, i64, structs, type ThriftField, type ThriftStruct, text } from '../src/io/parquet/thrift.ts'
import {
  CODEC,
  deltaPacked,
  ENCODING,
  framed,
  type HandColumn,
  handFile,
  levels,
  page,
  plainText,
  run,
  struct,
  TYPES,
  varint,
  zstdBomb,
} from './parquetFiles.ts'

export interface Bomb {
  readonly name: string
  readonly bytes: () => Uint8Array
  readonly ends: { readonly rows: number } | { readonly refused: string }
}

const MIB = 2 ** 20
const FULL = 'it cannot be decoded: its values take more memory than there is for one row group.'
const bytesColumn = (pages: readonly Uint8Array[], more: Partial<HandColumn> = {}): HandColumn => ({
  name: 'a',
  type: TYPES.bytes,
  pages: Buffer.concat(pages),
  ...more,
})
const intColumn = (pages: readonly Uint8Array[], more: Partial<HandColumn> = {}): HandColumn => ({
  name: 'a',
  type: TYPES.int32,
  pages: Buffer.concat(pages),
  ...more,
})

/** Indices of a dictionary page: the bits of each, then one run. */
const indices = (rows: number, index = 0): Uint8Array =>
  page('data', Buffer.concat([Uint8Array.from([8]), run(rows, index)]), { values: rows, encoding: ENCODING.dictionary })
const dictionary = (entries: readonly Uint8Array[], compress = (bytes: Uint8Array): Uint8Array => bytes): Uint8Array => {
  const body = Buffer.concat(entries.map((entry) => plainText(entry)))
  return page('dictionary', compress(body), { values: entries.length, encoding: ENCODING.plain, uncompressed: body.length })
}
const compressedIndices = (rows: number, compress: (bytes: Uint8Array) => Uint8Array): Uint8Array => {
  const body = Buffer.concat([Uint8Array.from([8]), run(rows, 0)])
  return page('data', compress(body), { values: rows, encoding: ENCODING.dictionary, uncompressed: body.length })
}

/** Snappy's form of zeros: copies of 64 bytes from one byte back. */
function snappyZeros(length: number): Uint8Array {
  const copies = Math.ceil((length - 1) / 64)
  const body = Buffer.alloc(2 + copies * 3)
  let left = length - 1
  for (let i = 0; i < copies; i++, left -= 64) {
    body.writeUInt8(((Math.min(64, left) - 1) << 2) | 2, 2 + i * 3)
    body.writeUInt16LE(1, 3 + i * 3)
  }
  return Buffer.concat([varint(length), body])
}

const mebibyte = (): Uint8Array => Buffer.alloc(MIB)
const zeros = (bytes: number): Uint8Array => Buffer.alloc(bytes)

/** A page whose compressed body becomes more than it declares. */
const inflating =
  (codec: number, body: () => Uint8Array): (() => Uint8Array) =>
  () =>
    handFile([intColumn([page('data', body(), { values: 1, encoding: ENCODING.plain, uncompressed: 4 })], { codec })], { rows: 1 })

/** A footer of one field that holds a list. */
const listFooter = (field: number, elementType: number, count: number, items: Uint8Array): Uint8Array =>
  framed(
    new Uint8Array(0),
    Buffer.concat([Uint8Array.from([9]), varint(2 * field), Uint8Array.from([0xf0 | elementType]), varint(count), items, zeros(1)]),
  )

function schemaFile(elements: readonly ThriftStruct[]): Uint8Array {
  return framed(new Uint8Array(0), encodeThrift(struct([1, i32(1)], [2, structs(elements)], [3, i64(0)], [4, structs([])])))
}

const group = (name: string, children: number): ThriftStruct => struct([3, i32(1)], [4, text(name)], [5, i32(children)])
const root = struct([4, text('schema')], [5, i32(1)])

export const PARQUET_BOMBS: readonly Bomb[] = [
  {
    name: 'a dictionary of one text of a MiB, a thousand rows',
    bytes: () => handFile([bytesColumn([dictionary([mebibyte()]), indices(1000)])], { rows: 1000 }),
    ends: { refused: FULL },
  },
  {
    name: 'the same in gzip',
    bytes: () =>
      handFile([bytesColumn([dictionary([mebibyte()], gzipSync), compressedIndices(1000, gzipSync)], { codec: CODEC.gzip })], {
        rows: 1000,
      }),
    ends: { refused: FULL },
  },
  {
    name: 'the same in snappy',
    bytes: () =>
      handFile(
        [
          bytesColumn(
            [
              page('dictionary', snappyDictionary(MIB), { values: 1, encoding: ENCODING.plain, uncompressed: MIB + 4 }),
              compressedIndices(1000, (bytes) => Buffer.concat([varint(bytes.length), Uint8Array.from([(bytes.length - 1) << 2]), bytes])),
            ],
            { codec: CODEC.snappy },
          ),
        ],
        { rows: 1000 },
      ),
    ends: { refused: FULL },
  },
  {
    name: 'a dictionary of which the one long text is in all rows',
    bytes: () =>
      handFile([bytesColumn([dictionary([mebibyte(), ...Array.from({ length: 200 }, () => zeros(1))]), indices(1000)])], { rows: 1000 }),
    ends: { refused: FULL },
  },
  {
    name: 'texts that each begin with the one before',
    bytes: () => {
      // each text is the one before and 8 bytes more
      const rows = 100_000
      const blocks = Array.from({ length: rows / 128 + 1 })
      const prefixes = deltaPacked(
        rows,
        0,
        blocks.map(() => 8),
      )
      const lengths = deltaPacked(
        rows,
        8,
        blocks.map(() => 0),
      )
      const body = Buffer.concat([prefixes, lengths, zeros(8 * rows)])
      return handFile([bytesColumn([page('data', body, { values: rows, encoding: ENCODING.deltaBytes })])], { rows })
    },
    ends: { refused: FULL },
  },
  {
    name: 'lengths of delta byte arrays that their bytes do not have',
    bytes: () => {
      const body = Buffer.concat([deltaPacked(1000, 2 ** 30, [0, 0, 0, 0, 0, 0, 0, 0]), zeros(8)])
      return handFile([bytesColumn([page('data', body, { values: 1000, encoding: ENCODING.deltaLengths })])], { rows: 1000 })
    },
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'a plain text that declares 2 GiB',
    bytes: () =>
      handFile([bytesColumn([page('data', plainText(zeros(8), 2 ** 31 - 1), { values: 1, encoding: ENCODING.plain })])], { rows: 1 }),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'a run of 15 million nulls',
    bytes: () =>
      handFile(
        [intColumn([page('data', levels(run(15_000_000, 0)), { values: 15_000_000, encoding: ENCODING.plain })], { repetition: 1 })],
        {
          rows: 15_000_000,
        },
      ),
    ends: { refused: 'row group 0 holds about 120000000 bytes of it' },
  },
  {
    name: 'a run of a million nulls, which is a file like others',
    bytes: () =>
      handFile([intColumn([page('data', levels(run(1_000_000, 0)), { values: 1_000_000, encoding: ENCODING.plain })], { repetition: 1 })], {
        rows: 1_000_000,
      }),
    ends: { rows: 1_000_000 },
  },
  {
    name: 'a billion values in a run of a row group',
    bytes: () => handFile([intColumn([page('data', indices(10), { values: 2 ** 30, encoding: ENCODING.dictionary })])], { rows: 2 ** 30 }),
    ends: { refused: 'declares 1073741824 rows in ' },
  },
  {
    name: 'ten thousand row groups of a million rows, all the same few bytes',
    bytes: () =>
      handFile([intColumn([page('data', levels(run(1_000_000, 0)), { values: 1_000_000, encoding: ENCODING.plain })], { repetition: 1 })], {
        rows: 1_000_000_000,
        groups: 100,
      }),
    ends: { refused: 'declares 100000000000 rows in ' },
  },
  {
    name: 'values of a list that has one row',
    bytes: () =>
      handFile(
        [
          intColumn([page('data', Buffer.concat([levels(run(2 ** 27, 1)), levels(run(2 ** 27, 0))]), { values: 2 ** 27, encoding: 0 })], {
            repetition: 2,
            values: 2 ** 27,
          }),
        ],
        { rows: 1 },
      ),
    ends: { refused: 'row group 0 holds about 1073741824 bytes of it' },
  },
  {
    name: 'columns that are a large dictionary each',
    bytes: () =>
      handFile(
        Array.from({ length: 40 }, (_, i) => bytesColumn([dictionary([zeros(2 ** 16)]), indices(800)], { name: `c${i}` })),
        { rows: 800 },
      ),
    ends: { refused: 'the columns asked for of row group 0 take ' },
  },
  {
    name: 'gzip that becomes more than its page declares',
    bytes: inflating(CODEC.gzip, () => Buffer.concat(Array.from({ length: 40 }, () => gzipSync(zeros(8 * MIB), { level: 1 })))),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'zstd that becomes more than its page declares',
    bytes: inflating(CODEC.zstd, () => zstdBomb(16_384)),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'brotli that becomes more than its page declares',
    bytes: inflating(CODEC.brotli, () => brotliCompressSync(zeros(160 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } })),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'snappy that says 4 GiB',
    bytes: inflating(CODEC.snappy, () => Buffer.concat([varint(2 ** 32 - 1), zeros(8)])),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'lz4 that says other lengths than its page',
    bytes: inflating(CODEC.lz4, () => Buffer.concat([Buffer.from([0x1f, 0, 1, 0]), Buffer.alloc(4000, 255), zeros(1)])),
    ends: { refused: 'it cannot be decoded: ' },
  },
  {
    name: 'a page of 2 GiB in a few bytes',
    bytes: () =>
      handFile([intColumn([page('data', zeros(8), { values: 1, encoding: 0, uncompressed: 2 ** 31 - 1 })], { codec: CODEC.gzip })], {
        rows: 1,
      }),
    ends: { refused: 'the pages are damaged: a page of 8 bytes declares 2147483647 when uncompressed.' },
  },
  {
    name: 'pages of zstd that declare 2 GiB each',
    bytes: () =>
      handFile([intColumn([page('data', zeros(8), { values: 1, encoding: 0, uncompressed: 2 ** 31 - 1 })], { codec: CODEC.zstd })], {
        rows: 1,
      }),
    ends: { refused: 'row group 0 holds about 2147483647 bytes of it' },
  },
  {
    name: 'a hundred thousand pages without values',
    bytes: () =>
      handFile(
        [
          intColumn([
            ...Array.from({ length: 100_000 }, () => page('data', new Uint8Array(0), { values: 0, encoding: 0 })),
            page('data', zeros(4), { values: 1, encoding: 0 }),
          ]),
        ],
        { rows: 1 },
      ),
    ends: { refused: '0 rows were decoded instead of 1' },
  },
  {
    name: 'schema elements without fields, a million',
    bytes: () => listFooter(2, 12, 2_000_000, zeros(2_000_000)),
    ends: { refused: 'has a damaged footer: it holds more values than are read.' },
  },
  {
    name: 'row groups of one field each, two million',
    bytes: () => listFooter(4, 12, 2_000_000, Buffer.alloc(4_000_000, Buffer.from([0x36, 0]))),
    ends: { refused: 'has a damaged footer' },
  },
  {
    name: 'a list that declares more than there is',
    bytes: () => listFooter(4, 12, 2 ** 31, zeros(8)),
    ends: { refused: 'has a damaged footer: the bytes end in the middle of a value.' },
  },
  {
    name: 'a struct of ten million fields',
    bytes: () => framed(new Uint8Array(0), Buffer.alloc(10_000_000, 0x11)),
    ends: { refused: 'has a damaged footer: the bytes end in the middle of a value.' },
  },
  {
    name: 'structs in structs, a million deep',
    bytes: () => framed(new Uint8Array(0), Buffer.alloc(1_000_000, 0x1c)),
    ends: { refused: 'has a damaged footer: structs are nested too deeply.' },
  },
  {
    name: 'lists in lists, a million deep',
    bytes: () => framed(new Uint8Array(0), Buffer.concat([Uint8Array.from([0x29]), Buffer.alloc(1_000_000, 0x19)])),
    ends: { refused: 'has a damaged footer: ' },
  },
  {
    name: 'groups in groups, a thousand deep',
    bytes: () => schemaFile([root, ...Array.from({ length: 1000 }, (_, i) => group(`g${i}`, 1)), struct([1, i32(1)], [4, text('x')])]),
    ends: { refused: 'has a damaged footer: the schema is nested too deeply.' },
  },
  {
    name: 'a group of two billion children',
    bytes: () => schemaFile([root, group('g', 2 ** 31 - 1)]),
    ends: { refused: 'has a damaged footer: the schema ends too early.' },
  },
  {
    name: 'a thousand columns, which is a file like others',
    bytes: () =>
      handFile(
        Array.from({ length: 1000 }, (_, i) => intColumn([page('data', zeros(4), { values: 1, encoding: 0 })], { name: `c${i}` })),
        { rows: 1 },
      ),
    ends: { rows: 1 },
  },
  {
    name: 'statistics of 8 MiB',
    bytes: () => {
      const bound: ThriftField = { type: 8, value: Buffer.alloc(4 * MIB, 97) }
      return handFile(
        [
          bytesColumn([page('data', plainText(zeros(1)), { values: 1, encoding: 0 })], {
            statistics: struct([5, bound], [6, bound]),
          }),
        ],
        { rows: 1 },
      )
    },
    ends: { rows: 1 },
  },
  {
    name: 'a bloom filter of a size that it has not, key-value pairs of 4 MiB',
    bytes: () =>
      handFile([intColumn([page('data', zeros(4), { values: 1, encoding: 0 })])], {
        rows: 1,
        extra: [[5, structs([struct([1, text('key')], [2, { type: 8, value: Buffer.alloc(4 * MIB, 97) }])])]],
      }),
    ends: { rows: 1 },
  },
  {
    name: 'a pair distarray.schema of 100,000 lists in lists',
    bytes: () =>
      handFile([intColumn([page('data', zeros(4), { values: 1, encoding: 0 })])], {
        rows: 1,
        extra: [
          [
            5,
            structs([
              struct(
                [1, text('distarray.schema')],
                [2, text(`[{"name":"a","type":${'{"kind":"list","item":'.repeat(100_000)}null${'}'.repeat(100_000)}}]`)],
              ),
            ]),
          ],
        ],
      }),
    ends: { rows: 1 },
  },
]

function snappyDictionary(length: number): Uint8Array {
  const entry = plainText(zeros(length))
  const head = Buffer.concat([varint(entry.length), Uint8Array.from([3 << 2]), entry.subarray(0, 4)])
  return Buffer.concat([head, snappyZeros(length).subarray(varint(length).length)])
}
