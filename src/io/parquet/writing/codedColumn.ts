/**
 * A column of few distinct values: the encoder writes its dictionary, and the pages of dictionary codes are written here.
 *
 *     ['b', 'a', 'b', …]  -->  the encoder's file of ['b', 'a']  -->  the same file, with pages of the codes 0, 1, 0, … in place of its own
 *
 * The encoder hashes each value of a column, which takes it several times as long; types, statistics and dictionary pages stay its work,
 * so that they are not written twice. Pages of codes are bit-packed and hardly get shorter, so that where the codec is snappy they are one literal.
 *
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
import type { NewArray } from '../../../core/data/columnSlices.ts'
import { encodeThrift, i32, i64, intOf, STRUCT, structOf, structs, ThriftReader, type ThriftStruct } from '../thrift.ts'
import type { Coded } from './codes.ts'
import { chunksOf, groupOf, metaOf, type Opened, startOf } from './joinedColumns.ts'

/** Rows of a page. */
const PAGE_ROWS = 2 ** 13
/** The number of equal codes in a row from which they are written as one run. */
const RUN = 64

const PLAIN = 0
const RLE = 3
const RLE_DICTIONARY = 8
const DATA_PAGE = 0
const DICTIONARY_PAGE = 2

/**
 * The column whose distinct values the encoder wrote as `file`; undefined where the dictionary there has not all of them, as of two
 * numbers that differ in their bits and are one to the encoder.
 */
export function codedColumn(
  file: Opened,
  { codes, there, values }: Coded,
  { isNullable, isPacked, newArray }: { readonly isNullable: boolean; readonly isPacked: boolean; readonly newArray: NewArray },
): Opened | undefined {
  const [chunk = new Map()] = chunksOf(file.footer)
  const meta = new Map(metaOf(chunk))
  const reader = new ThriftReader(file.body, startOf(meta) - 4)
  const header = reader.struct()
  const entries = structOf(header, 7)
  if (entries === undefined || intOf(entries, 1) !== values.length) return undefined
  const dictionary = file.body.subarray(startOf(meta) - 4, reader.offset + (intOf(header, 3) ?? 0))
  const rows = there?.length ?? codes.length
  const width = Math.max(1, 32 - Math.clz32(values.length - 1))
  const pieces: Uint8Array[] = [dictionary]
  let plainBytes = reader.offset - (startOf(meta) - 4) + (intOf(header, 2) ?? 0)
  let pages = 0
  let at = 0
  for (let row = 0; row < rows; row += PAGE_ROWS, pages++) {
    const some = there?.subarray(row, row + PAGE_ROWS) ?? ALL.subarray(0, Math.min(PAGE_ROWS, rows - row))
    const count = there === undefined ? some.length : some.reduce((sum, one) => sum + one, 0)
    const page = newArray(Uint8Array, mostBytes(some.length, 1) + mostBytes(count, width) + 8)
    let end = 0
    if (isNullable) {
      end = writeHybrid(some, 1, page, 4)
      new DataView(page.buffer, page.byteOffset).setUint32(0, end - 4, true)
    }
    page[end++] = width
    end = writeHybrid(codes.subarray(at, at + count), width, page, end)
    at += count
    const plain = page.subarray(0, end)
    const body = isPacked ? literal(plain) : [plain]
    const bodyBytes = body.reduce((sum, { length }) => sum + length, 0)
    const told: ThriftStruct = new Map([
      [1, i32(some.length)],
      [2, i32(RLE_DICTIONARY)],
      [3, i32(RLE)],
      [4, i32(RLE)],
    ])
    const head = encodeThrift(
      new Map([
        [1, i32(DATA_PAGE)],
        [2, i32(end)],
        [3, i32(bodyBytes)],
        [5, { type: STRUCT, value: told }],
      ]),
    )
    plainBytes += head.length + end
    pieces.push(head, ...body)
  }
  const body = Buffer.concat(pieces)
  meta.set(5, i64(rows))
  meta.set(6, i64(plainBytes))
  meta.set(7, i64(body.length))
  meta.set(9, i64(4 + dictionary.length))
  meta.set(11, i64(4))
  const statistics = structOf(meta, 12)
  if (statistics !== undefined) meta.set(12, { type: STRUCT, value: new Map(statistics).set(3, i64(rows - codes.length)) })
  meta.set(13, structs([pagesOf(DICTIONARY_PAGE, PLAIN, 1), pagesOf(DATA_PAGE, RLE_DICTIONARY, pages)]))
  meta.delete(16) // size statistics, which are those of the distinct values
  return { body, footer: footerWith(file.footer, meta, rows, { plain: plainBytes, packed: body.length }) }
}

/** The definition levels of a page without nulls. */
const ALL = new Int32Array(PAGE_ROWS).fill(1)

function pagesOf(kind: number, encoding: number, count: number): ThriftStruct {
  return new Map([
    [1, i32(kind)],
    [2, i32(encoding)],
    [3, i32(count)],
  ])
}

function footerWith(
  footer: ThriftStruct,
  meta: ThriftStruct,
  rows: number,
  { plain, packed }: { readonly plain: number; readonly packed: number },
): ThriftStruct {
  const group = new Map(groupOf(footer))
  group.set(1, structs([new Map([[3, { type: STRUCT, value: meta }]])]))
  group.set(2, i64(plain))
  group.set(3, i64(rows))
  if (group.has(6)) group.set(6, i64(packed))
  return new Map(footer).set(3, i64(rows)).set(4, structs([group]))
}

/** The bytes that `writeHybrid` writes, at most. */
function mostBytes(count: number, width: number): number {
  return ((count + 7) >> 3) * width + (count / RUN) * 12 + 16
}

/** Writes numbers of `width` bits in Parquet's hybrid of RLE and bit-packing, which packs by eights; returns the offset behind them. */
export function writeHybrid(numbers: Int32Array, width: number, into: Uint8Array, from: number): number {
  const { length } = numbers
  let at = from
  let next = 0
  while (next < length) {
    let end = next
    let run = runAt(numbers, end)
    while (run < RUN && end < length) {
      end += 8
      run = runAt(numbers, end)
    }
    if (end > next) {
      at = writeVarint((((Math.min(end, length) - next + 7) >> 3) << 1) | 1, into, at)
      at = writeBits(numbers, next, { end, width, into, at })
      next = end
    }
    if (run < RUN) continue
    while (next + run < length && numbers[next + run] === numbers[next]) run++
    at = writeVarint(run << 1, into, at)
    for (let bits = 0; bits < width; bits += 8) into[at++] = (numbers[next] as number) >> bits
    next += run
  }
  return at
}

/** Number of equal entries from `from` on, up to RUN. */
function runAt(numbers: Int32Array, from: number): number {
  const end = Math.min(from + RUN, numbers.length)
  let at = from
  while (at < end && numbers[at] === numbers[from]) at++
  return at - from
}

/** Bit-packs the numbers from `next` to `end`, with zeros behind the last; returns the offset behind them. */
function writeBits(
  numbers: Int32Array,
  next: number,
  { end, width, into, at }: { readonly end: number; readonly width: number; readonly into: Uint8Array; readonly at: number },
): number {
  let place = at
  let held = 0
  let bits = 0
  const own = Math.min(end, numbers.length)
  for (let i = next; i < end; i++) {
    if (i < own) held |= (numbers[i] as number) << bits
    bits += width
    while (bits >= 8) {
      into[place++] = held
      held >>>= 8
      bits -= 8
    }
  }
  return place
}

function writeVarint(value: number, into: Uint8Array, at: number): number {
  let place = at
  let left = value
  for (; left > 127; left >>>= 7) into[place++] = (left & 127) | 128
  into[place++] = left
  return place
}

/** Bytes in snappy's format as one literal, without references to earlier bytes. */
function literal(bytes: Uint8Array): readonly Uint8Array[] {
  const head = new Uint8Array(10)
  const at = writeVarint(bytes.length, head, 0)
  head[at] = 63 << 2 // its length less one is in four bytes
  new DataView(head.buffer).setUint32(at + 1, bytes.length - 1, true)
  return [head.subarray(0, at + 5), bytes]
}
