/** Arrow streams of a few KiB that claim, or become, any size: one of each kind that is known. */
import { batchMessage, dictionaryMessage, type HandField, i32, i64, ints, schemaMessage, stream, table, u8 } from './arrowFiles.ts'
import type { Bomb } from './parquetBombs.ts'

const NONE = new Uint8Array(0)
const NULL: HandField = { name: 'a', type: 1 }
const INT32: HandField = { name: 'a', type: 2, parameters: [i32(32), u8(1)] }
const UTF8: HandField = { name: 'a', type: 5 }
const dictionaryOf = (bits: number) => [i64(0), table(i32(bits), u8(1))]
const zeros = (bytes: number): Uint8Array => new Uint8Array(bytes)

function textsOf(count: number, bytes: number): { readonly nodes: readonly [number, number][]; readonly buffers: Uint8Array[] } {
  return { nodes: [[count, 0]], buffers: [NONE, ints(...Array.from({ length: count + 1 }, (_, i) => i * bytes)), zeros(count * bytes)] }
}

/** Views of `count` texts that are all the same bytes. */
function views(count: number, bytes: number): Uint8Array {
  const all = Buffer.alloc(16 * count)
  for (let i = 0; i < count; i++) all.writeInt32LE(bytes, 16 * i)
  return all
}

const rowsOf = (field: HandField, rows: number | bigint, buffers: readonly Uint8Array[] = []): Uint8Array =>
  stream(schemaMessage([field]), batchMessage({ rows, nodes: [[rows, 0]], buffers }))

export const ARROW_BOMBS: readonly Bomb[] = [
  { name: '10^12 nulls', bytes: () => rowsOf(NULL, 1e12), ends: { refused: 'column "a" declares 1000000000000 values' } },
  { name: 'two billion nulls', bytes: () => rowsOf(NULL, 2 ** 31 - 1), ends: { refused: 'declares 2147483647 rows and values' } },
  { name: 'a million nulls, which is a file like others', bytes: () => rowsOf(NULL, 1_000_000), ends: { rows: 1_000_000 } },
  {
    name: 'ten thousand batches of a million nulls',
    bytes: () => {
      const batch = batchMessage({ rows: 1_000_000, nodes: [[1_000_000, 0]], buffers: [] })
      return stream(schemaMessage([NULL]), ...Array.from({ length: 10_000 }, () => batch))
    },
    ends: { refused: 'rows and values in ' },
  },
  { name: '2^63 - 1 rows', bytes: () => rowsOf(NULL, 2n ** 63n - 1n), ends: { refused: 'is damaged' } },
  {
    name: 'no columns and a billion rows',
    bytes: () => stream(schemaMessage([]), batchMessage({ rows: 1e9, nodes: [], buffers: [] })),
    ends: { refused: 'declares 1000000000 rows' },
  },
  {
    name: 'binaries of no bytes',
    bytes: () => rowsOf({ name: 'a', type: 15, parameters: [i32(0)] }, 3e8, [NONE, NONE]),
    ends: { refused: 'declares 300000000 rows and values' },
  },
  {
    name: 'lists of no items',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 16, parameters: [i32(0)], children: [INT32] }]),
        batchMessage({
          rows: 3e8,
          nodes: [
            [3e8, 0],
            [0, 0],
          ],
          buffers: [NONE, NONE, NONE],
        }),
      ),
    ends: { refused: 'declares 300000000 rows and values' },
  },
  {
    name: 'a list of two billion nulls',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 12, children: [NULL] }]),
        batchMessage({
          rows: 1,
          nodes: [
            [1, 0],
            [2 ** 31 - 1, 0],
          ],
          buffers: [NONE, ints(0, 2 ** 31 - 1)],
        }),
      ),
    ends: { refused: 'rows and values in ' },
  },
  {
    name: 'lists of two billion nulls each, of one size',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 16, parameters: [i32(2 ** 31 - 1)], children: [NULL] }]),
        batchMessage({
          rows: 4,
          nodes: [
            [4, 0],
            [4 * (2 ** 31 - 1), 0],
          ],
          buffers: [NONE],
        }),
      ),
    ends: { refused: 'declares 8589934588 values, and at most' },
  },
  {
    name: 'structs without fields',
    bytes: () => rowsOf({ name: 'a', type: 13 }, 1e9, [NONE]),
    ends: { refused: 'declares 1000000000 rows and values' },
  },
  {
    name: 'integers without bytes',
    bytes: () => rowsOf(INT32, 1e9, [NONE, zeros(8)]),
    ends: { refused: 'a buffer of column "a" has 8 bytes, and its values take 4000000000' },
  },
  {
    name: 'a null count beyond the length',
    bytes: () => stream(schemaMessage([INT32]), batchMessage({ rows: 1, nodes: [[1, 2n ** 40n]], buffers: [zeros(8), zeros(8)] })),
    ends: { refused: 'declares 1099511627776 nulls of 1 values' },
  },
  {
    name: 'a dictionary of one text of a MiB, a thousand rows',
    bytes: () =>
      stream(
        schemaMessage([{ ...UTF8, dictionary: dictionaryOf(8) }]),
        dictionaryMessage(0, { rows: 1, ...textsOf(1, 2 ** 20) }),
        batchMessage({ rows: 1000, nodes: [[1000, 0]], buffers: [NONE, zeros(1000)] }),
      ),
    ends: { refused: 'its values take 1048580000 bytes when each is written out' },
  },
  {
    name: 'a dictionary of lists of texts of a MiB',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 12, children: [UTF8], dictionary: dictionaryOf(8) }]),
        dictionaryMessage(0, {
          rows: 1,
          nodes: [[1, 0], ...textsOf(64, 2 ** 14).nodes],
          buffers: [NONE, ints(0, 64), ...textsOf(64, 2 ** 14).buffers],
        }),
        batchMessage({ rows: 1000, nodes: [[1000, 0]], buffers: [NONE, zeros(1000)] }),
      ),
    ends: { refused: 'bytes when each is written out' },
  },
  {
    name: 'a dictionary of two billion nulls',
    bytes: () =>
      stream(
        schemaMessage([{ ...NULL, dictionary: dictionaryOf(8) }]),
        dictionaryMessage(0, { rows: 2 ** 31 - 1, nodes: [[2 ** 31 - 1, 0]], buffers: [] }),
        batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(1)] }),
      ),
    ends: { refused: 'rows and values in ' },
  },
  {
    name: 'dictionaries that are added to before every batch',
    bytes: () => {
      const delta = dictionaryMessage(0, { rows: 1, ...textsOf(1, 4) }, { delta: true })
      const batch = batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(1)] })
      return stream(schemaMessage([{ ...UTF8, dictionary: dictionaryOf(8) }]), ...Array.from({ length: 1500 }, () => stream(delta, batch)))
    },
    ends: { refused: 'adds to its dictionaries again and again' },
  },
  {
    name: 'a thousand views of one MiB',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 24 }]),
        batchMessage({ rows: 1000, nodes: [[1000, 0]], buffers: [NONE, views(1000, 2 ** 20), zeros(2 ** 20)], variadic: [1] }),
      ),
    ends: { refused: 'its values take 1048576000 bytes when each is written out' },
  },
  {
    name: 'views of less than no bytes',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 24 }]),
        batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, views(1, -1)], variadic: [0] }),
      ),
    ends: { refused: 'a view has -1 bytes' },
  },
  {
    name: '2^40 buffers of views',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 24 }]),
        batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, views(1, 0)], variadic: [2n ** 40n] }),
      ),
    ends: { refused: 'column "a" declares 1099511627776 buffers' },
  },
  {
    name: '64-bit offsets that come back into range when narrowed',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 20 }]),
        batchMessage({
          rows: 2,
          nodes: [[2, 0]],
          buffers: [NONE, new Uint8Array(BigInt64Array.of(0n, 2n ** 32n + 1n, 2n).buffer), zeros(8)],
        }),
      ),
    ends: { refused: 'its offsets go backwards' },
  },
  {
    name: 'offsets of a dictionary that point behind its bytes',
    bytes: () =>
      stream(
        schemaMessage([{ ...UTF8, dictionary: dictionaryOf(8) }]),
        dictionaryMessage(0, { rows: 2, nodes: [[2, 0]], buffers: [NONE, ints(0, 3, 60), zeros(9)] }),
        batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, Uint8Array.of(1)] }),
      ),
    ends: { refused: 'its offsets point outside' },
  },
  {
    name: 'types in types, a thousand deep',
    bytes: () => {
      let field: HandField = INT32
      for (let i = 0; i < 1000; i++) field = { name: 'a', type: 12, children: [field] }
      return rowsOf(field, 1)
    },
    ends: { refused: 'its schema goes in circles, or has too many fields' },
  },
  {
    name: 'metadata that name one text of 64 KiB a hundred thousand times',
    bytes: () => {
      const schema = schemaMessage(
        [INT32],
        [['k', 'x'.repeat(2 ** 16)], ...Array.from({ length: 100_000 }, (): [string, string] => ['k', ''])],
      )
      return stream(aliasedPairs(schema), batchMessage({ rows: 0, nodes: [[0, 0]], buffers: [NONE, NONE] }))
    },
    ends: { refused: 'its schema names one text again and again' },
  },
  {
    name: 'metadata of 8 MiB, which is a file like others',
    bytes: () =>
      stream(schemaMessage([INT32], [['k', 'x'.repeat(2 ** 23)]]), batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(4)] })),
    ends: { rows: 1 },
  },
  {
    name: 'run-end encoded values, 10^12 of them',
    bytes: () =>
      stream(
        schemaMessage([{ name: 'a', type: 22, children: [INT32, INT32] }]),
        batchMessage({
          rows: 1e12,
          nodes: [
            [1e12, 0],
            [1, 0],
            [1, 0],
          ],
          buffers: [NONE, zeros(4), NONE, zeros(4)],
        }),
      ),
    ends: { refused: 'cannot be read: a column has the Arrow type run-end encoded. Write it in another form.' },
  },
  {
    name: 'a compressed buffer that says 2^60 bytes',
    bytes: () => packedInts(1, 2n ** 60n),
    ends: { refused: 'says that it has 1152921504606847000 bytes' },
  },
  { name: 'a compressed buffer that says -2 bytes', bytes: () => packedInts(1, -2n), ends: { refused: 'says that it has -2 bytes' } },
  {
    name: 'a compressed buffer of 400 MiB of zeros',
    bytes: () => packedInts(100 * 2 ** 20, 400n * 2n ** 20n, zerosInZstd(400 * 2 ** 20)),
    ends: { refused: 'unpacked, 419430400 bytes, and at most' },
  },
  {
    name: 'two billion nulls that are compressed',
    bytes: () =>
      stream(schemaMessage([NULL]), batchMessage({ rows: 2 ** 31 - 1, nodes: [[2 ** 31 - 1, 0]], buffers: [], compression: ZSTD })),
    ends: { refused: 'declares 2147483647 rows and values' },
  },
  {
    name: 'a compressed buffer of 40 MiB of zeros, which is a file like others',
    bytes: () => packedInts(10 * 2 ** 20, 40n * 2n ** 20n, zerosInZstd(40 * 2 ** 20)),
    ends: { rows: 10 * 2 ** 20 },
  },
  {
    name: 'a compressed buffer of one integer that unpacks to a GiB',
    bytes: () => packedInts(1, 4n, zerosInZstd(2 ** 30)),
    ends: { refused: 'what is compressed with zstd in it does not unpack' },
  },
  {
    name: 'a compressed buffer of one integer that unpacks to a MiB',
    bytes: () => packedInts(1, 4n, zerosInZstd(2 ** 20)),
    ends: { refused: 'what is compressed with zstd in it does not unpack' },
  },
  {
    name: 'texts that unpack to 200 MiB in a buffer of their own each',
    bytes: () => {
      const texts = Array.from({ length: 20 }, (_, i): HandField => ({ name: `t${i}`, type: 5 }))
      const buffers = texts.flatMap(() => [NONE, stored(-1n, ints(0, 10 * 2 ** 20)), stored(10n * 2n ** 20n, zerosInZstd(10 * 2 ** 20))])
      return stream(schemaMessage(texts), batchMessage({ rows: 1, nodes: texts.map(() => [1, 0]), buffers, compression: ZSTD }))
    },
    ends: { refused: 'unpacked, 209715360 bytes, and at most' },
  },
  {
    name: 'a compressed buffer with less than its values',
    bytes: () => packedInts(2, 4n, zerosInZstd(4)),
    ends: { refused: 'a buffer of column "a" has 4 bytes, and its values take 8' },
  },
  {
    name: 'a compressed buffer that is too short for its length',
    bytes: () => stream(schemaMessage([INT32]), batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(4)], compression: ZSTD })),
    ends: { refused: 'a buffer of column "a" has 4 bytes, and its values take 8' },
  },
  {
    name: 'a codec that nobody knows',
    bytes: () =>
      stream(schemaMessage([INT32]), batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(16)], compression: [u8(7), u8(0)] })),
    ends: { refused: 'its buffers are compressed with a codec of number 7' },
  },
  {
    name: 'LZ4 that is no frame',
    bytes: () =>
      stream(
        schemaMessage([INT32]),
        batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, stored(4n, Uint8Array.of(64, 1, 2, 3, 4))], compression: [u8(0), u8(0)] }),
      ),
    ends: { refused: 'what is compressed with lz4 in it does not unpack' },
  },
  {
    name: 'a body that ends in 2^62 bytes',
    bytes: () => stream(schemaMessage([INT32]), unending()),
    ends: { refused: 'is damaged or was cut' },
  },
]

const ZSTD = [u8(1), u8(0)]

/** A buffer of a compressed batch: what it says to unpack to, and the bytes. */
function stored(says: bigint, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([new Uint8Array(BigInt64Array.of(says).buffer), bytes])
}

/** Integers of which one frame is said to hold all. */
function packedInts(rows: number, says: bigint, frame: Uint8Array = NONE): Uint8Array {
  return stream(schemaMessage([INT32]), batchMessage({ rows, nodes: [[rows, 0]], buffers: [NONE, stored(says, frame)], compression: ZSTD }))
}

/** A frame of zstd whose blocks say "this byte, 128 KiB times". https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1 */
function zerosInZstd(bytes: number): Uint8Array {
  const blocks: number[] = []
  for (let left = bytes; left > 0; left -= 2 ** 17) {
    const size = Math.min(left, 2 ** 17)
    const header = (left <= 2 ** 17 ? 1 : 0) | (1 << 1) | (size << 3)
    blocks.push(header & 255, (header >> 8) & 255, header >> 16, 0)
  }
  return Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, ...blocks])
}

/** The pairs of a schema message all pointed at the value of the first. */
function aliasedPairs(schema: Uint8Array): Uint8Array {
  const view = new DataView(schema.buffer, schema.byteOffset, schema.byteLength)
  const at = (position: number): number => position + view.getUint32(position, true)
  const slot = (of: number, index: number): number => of + view.getUint16(of - view.getInt32(of, true) + 4 + 2 * index, true)
  const header = at(slot(at(8), 2))
  const pairs = at(slot(header, 2))
  const count = view.getUint32(pairs, true)
  const value = at(slot(at(pairs + 4), 1))
  for (let i = 1; i < count; i++) {
    const own = slot(at(pairs + 4 + 4 * i), 1)
    if (value > own) view.setUint32(own, value - own, true)
    else view.setUint32(pairs + 4 + 4 * i, at(pairs + 4) - (pairs + 4 + 4 * i), true)
  }
  return schema
}

function unending(): Uint8Array {
  const sound = batchMessage({ rows: 1, nodes: [[1, 0]], buffers: [NONE, zeros(4)] })
  const lengths = [...Buffer.from(sound).entries()].filter(([i, byte]) => byte === 8 && i > 40 && i < 120).map(([i]) => i)
  const copy = sound.slice()
  for (const at of lengths) copy[at + 7] = 0x40 // whatever says 8 bytes says more
  return copy
}
