/**
 * The pages of a column chunk, walked before they are decoded.
 *
 * A decoder trusts page headers: a declared size decides what it allocates. Here each header is read, its sizes are
 * compared with the chunk and with what its codec can possibly expand to, and page checksums are verified where there
 * are any.
 */
import { crc32 } from 'node:zlib'
import { columnError, type Place } from '../arrow/arrowTypes.ts'
import { intOf, structOf, ThriftError, ThriftReader, type ThriftShape, type ThriftStruct } from './thrift.ts'

/** The bytes, at most, that one compressed byte becomes, by codec; for zstd and brotli there is no useful bound. */
const LARGEST_RATIO: readonly number[] = [1, 64, 1100, 300, Infinity, 300, Infinity, 300]
/** The encodings of pages that hold dictionary codes: PLAIN_DICTIONARY and RLE_DICTIONARY. */
export const DICTIONARY_ENCODINGS: readonly number[] = [2, 8]
const DATA_PAGE = 0
const INDEX_PAGE = 1
const DICTIONARY_PAGE = 2
const DATA_PAGE_V2 = 3

/** The fields of a header that are read: not its statistics. */
const HEADER: ThriftShape = new Map<number, ThriftShape>([
  ...[1, 2, 3, 4].map((id) => [id, 'all'] as const),
  ...[5, 7, 8].map((id) => [id, new Map([1, 2, 4, 5, 6, 7].map((field) => [field, 'all'] as const))] as const),
])

/** A page of data, or the dictionary. */
export interface Page {
  readonly kind: 'dictionary' | 'data'
  /** Its bytes as they are in the file, without its header. */
  readonly body: Uint8Array
  readonly uncompressedBytes: number
  readonly values: number
  readonly encoding: number
  /** Present for pages of the second version: levels lie before what is compressed, and nulls are counted. */
  readonly second: SecondPage | undefined
}

interface SecondPage {
  /** Size of both kinds of levels; -1, as for `nulls`, where the header does not say it. */
  readonly levelBytes: number
  readonly nulls: number
  readonly isCompressed: boolean
}

/** The most pages of a chunk that are remembered: there may be millions, of a few bytes each. */
const MOST_PAGES = 2 ** 14

export interface PageTotals {
  /** The pages in order; empty where there are more than MOST_PAGES. */
  readonly pages: readonly Page[]
  /** Bytes of the chunk that its pages take; what follows is padding. */
  readonly usedBytes: number
  readonly uncompressedBytes: number
  /** Decoded size if the entries of a dictionary are about equally long: an estimate, by which nothing is refused. */
  readonly likelyBytes: number
  /** Whether all pages of data hold dictionary codes. */
  readonly isCoded: boolean
}

/** Walks the pages of a chunk of `values` values; a SourceError for anything that does not add up. */
export function checkPages(chunk: Uint8Array, codec: number, values: number, place: Place): PageTotals {
  const damaged = (what: string) => columnError(place, `the pages are damaged: ${what}.`)
  const pages: Page[] = []
  let isCoded = true
  let seen = 0
  let offset = 0
  let uncompressedBytes = 0
  let likelyBytes = 0
  let entryBytes = 0
  const reader = new ThriftReader(chunk)
  while (seen < values) {
    if (offset >= chunk.length) throw damaged(`they hold ${seen} values instead of ${values}`)
    const header = quickHeader(chunk, offset) ?? headerAt(reader, offset, damaged)
    const { kind, compressed, uncompressed, checksum, values: count, encoding, second, end } = header
    if (end + compressed > chunk.length) throw damaged(`a page of ${compressed} bytes is longer than what is left of the column`)
    const body = chunk.subarray(end, end + compressed)
    const ratio = LARGEST_RATIO[codec] ?? 1
    if (uncompressed > compressed * ratio + 1024) throw damaged(`a page of ${compressed} bytes declares ${uncompressed} when uncompressed`)
    if (checksum !== undefined && crc32(body) !== checksum >>> 0) throw damaged('the checksum of a page does not match')
    if (kind === 'data') seen += count
    if (kind !== 'index' && pages.length <= MOST_PAGES)
      pages.push({ kind, body, uncompressedBytes: uncompressed, values: count, encoding, second })
    if (kind === 'dictionary' && seen > 0) throw damaged('a dictionary comes after data')
    uncompressedBytes += uncompressed
    if (kind === 'dictionary') entryBytes = uncompressed / Math.max(1, count)
    const named = kind === 'data' && DICTIONARY_ENCODINGS.includes(encoding)
    if (kind === 'data' && !named) isCoded = false
    likelyBytes += kind === 'data' && named ? Math.max(uncompressed, count * entryBytes) : uncompressed
    offset = end + compressed
  }
  if (seen !== values) throw damaged(`they hold ${seen} values instead of ${values}`)
  return { pages: pages.length > MOST_PAGES ? [] : pages, usedBytes: offset, uncompressedBytes, likelyBytes, isCoded }
}

/** What a page's header says. */
export interface PageHeader extends Pick<Page, 'values' | 'encoding' | 'second'> {
  readonly kind: Page['kind'] | 'index'
  readonly compressed: number
  readonly uncompressed: number
  readonly checksum: number | undefined
  /** The offset of the page's bytes, behind the header. */
  readonly end: number
}

/** Reads any header, or says what is wrong with it. */
export function headerAt(reader: ThriftReader, offset: number, damaged: (what: string) => Error): PageHeader {
  let header: ThriftStruct
  try {
    header = reader.structAt(offset, HEADER)
  } catch (error) {
    if (error instanceof ThriftError) throw damaged(`in a page header ${error.message}`)
    throw error
  }
  const type = intOf(header, 1)
  const uncompressed = intOf(header, 2)
  const compressed = intOf(header, 3)
  if (type === undefined || uncompressed === undefined || compressed === undefined || uncompressed < 0 || compressed < 0)
    throw damaged('a page header has no sizes')
  const sizes = { uncompressed, compressed, checksum: intOf(header, 4), end: reader.offset }
  if (type === INDEX_PAGE) return { ...sizes, kind: 'index', values: 0, encoding: 0, second: undefined }
  const field = FIELDS.get(type)
  if (field === undefined) throw damaged(`there is no page type ${type}`)
  const page = structOf(header, field)
  const values = page && intOf(page, 1)
  const encoding = page && intOf(page, type === DATA_PAGE_V2 ? 4 : 2)
  if (values === undefined || values < 0 || encoding === undefined) throw damaged('a page header has no value count or encoding')
  const second = type === DATA_PAGE_V2 && page !== undefined ? secondOf(page) : undefined
  return { ...sizes, kind: type === DICTIONARY_PAGE ? 'dictionary' : 'data', values, encoding, second }
}

/** The field of a header that says more about pages of a type. */
const FIELDS: ReadonlyMap<number, number> = new Map([
  [DATA_PAGE, 5],
  [DICTIONARY_PAGE, 7],
  [DATA_PAGE_V2, 8],
])

function secondOf(page: ThriftStruct): SecondPage {
  const [nulls = -1, definition = -1, repetition = -1] = [2, 5, 6].map((field) => intOf(page, field))
  return { levelBytes: definition < 0 || repetition < 0 ? -1 : definition + repetition, nulls, isCompressed: page.get(7)?.value !== false }
}

/** Reads a header of 32-bit integers as most writers write it, without an object for each field; undefined for any other, which `headerAt` reads. */
export function quickHeader(bytes: Uint8Array, offset: number): PageHeader | undefined {
  const fields: QuickFields = { bytes, at: offset, struct: 0, isFalse: false }
  const top = integersOf(fields)
  const [, type, uncompressed, compressed, checksum] = top ?? []
  const own = fields.own
  if (own === undefined || type === undefined || uncompressed === undefined || compressed === undefined) return undefined
  const isSecond = type === DATA_PAGE_V2
  const [, values, two, , four, definition = -1, repetition = -1] = own
  const encoding = isSecond ? four : two
  if (FIELDS.get(type) !== fields.struct || uncompressed < 0 || compressed < 0) return undefined
  if (values === undefined || values < 0 || encoding === undefined) return undefined
  const levelBytes = definition < 0 || repetition < 0 ? -1 : definition + repetition
  const second = isSecond ? { levelBytes, nulls: two ?? -1, isCompressed: !fields.isFalse } : undefined
  const kind = type === DICTIONARY_PAGE ? ('dictionary' as const) : ('data' as const)
  return { kind, compressed, uncompressed, checksum, end: fields.at, values, encoding, second }
}

/** What is known of a header while it is read. */
interface QuickFields {
  readonly bytes: Uint8Array
  at: number
  /** The number of the field that holds the struct, 0 before it. */
  struct: number
  /** The struct's integers, by the numbers of their fields. */
  own?: readonly (number | undefined)[] | undefined
  /** Whether the struct says false in IS_COMPRESSED. */
  isFalse: boolean
}

/** The wire types of a quick read. */
const [TRUE, FALSE, I32, STRUCT] = [1, 2, 5, 12]
const IS_COMPRESSED = 7
/** The last field that a quick read knows. */
const LAST_FIELD = 8

/** The integers of the struct that begins at `at`, by the numbers of their fields; undefined where there is something else, but for one struct below and its truth value. */
function integersOf(fields: QuickFields, isBelow = false): readonly (number | undefined)[] | undefined {
  const { bytes } = fields
  const found: (number | undefined)[] = []
  for (let id = 0; ; ) {
    const head = bytes[fields.at++]
    if (head === 0) return found
    if (head === undefined || head < 16) return undefined
    id += head >> 4
    const type = head & 15
    if (id > LAST_FIELD) return undefined
    if (type === I32) {
      let [value, byte] = [0, 128]
      for (let shift = 0; byte > 127; shift += 7) {
        byte = bytes[fields.at++] ?? 128
        if (shift === 35) return undefined
        value |= (byte & 127) << shift
      }
      found[id] = (value >>> 1) ^ -(value & 1)
    } else if (isBelow && id === IS_COMPRESSED && (type === TRUE || type === FALSE)) fields.isFalse = type === FALSE
    else if (!isBelow && type === STRUCT && fields.struct === 0) {
      fields.struct = id
      fields.own = integersOf(fields, true)
      if (fields.own === undefined) return undefined
    } else return undefined
  }
}
