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
    if (type === undefined || uncompressed === undefined || compressed === undefined || uncompressed < 0 || compressed < 0) {
      throw damaged('a page header has no sizes')
    }
    if (reader.offset + compressed > chunk.length) throw damaged(`a page of ${compressed} bytes is longer than what is left of the column`)
    const body = chunk.subarray(reader.offset, reader.offset + compressed)
    const ratio = LARGEST_RATIO[codec] ?? 1
    if (uncompressed > compressed * ratio + 1024) throw damaged(`a page of ${compressed} bytes declares ${uncompressed} when uncompressed`)
    const checksum = intOf(header, 4)
    if (checksum !== undefined && crc32(body) !== checksum >>> 0) throw damaged('the checksum of a page does not match')
    const counted = countsOf(header, type, damaged)
    if (counted.kind === 'data') seen += counted.values
    if (counted.kind !== 'index' && pages.length <= MOST_PAGES) {
      const { kind, values: count, encoding, second } = counted
      pages.push({ kind, body, uncompressedBytes: uncompressed, values: count, encoding, second })
    }
    if (counted.kind === 'dictionary' && seen > 0) throw damaged('a dictionary comes after data')
    uncompressedBytes += uncompressed
    if (counted.kind === 'dictionary') entryBytes = uncompressed / Math.max(1, counted.values)
    const named = counted.kind === 'data' && DICTIONARY_ENCODINGS.includes(counted.encoding)
    if (counted.kind === 'data' && !named) isCoded = false
    likelyBytes += counted.kind === 'data' && named ? Math.max(uncompressed, counted.values * entryBytes) : uncompressed
    offset = reader.offset + compressed
  }
  if (seen !== values) throw damaged(`they hold ${seen} values instead of ${values}`)
  return { pages: pages.length > MOST_PAGES ? [] : pages, usedBytes: offset, uncompressedBytes, likelyBytes, isCoded }
}

function countsOf(
  header: ThriftStruct,
  type: number,
  damaged: (what: string) => Error,
): Pick<Page, 'kind' | 'values' | 'encoding' | 'second'> | { readonly kind: 'index' } {
  if (type === INDEX_PAGE) return { kind: 'index' }
  const field = type === DATA_PAGE ? 5 : type === DICTIONARY_PAGE ? 7 : type === DATA_PAGE_V2 ? 8 : undefined
  if (field === undefined) throw damaged(`there is no page type ${type}`)
  const page = structOf(header, field)
  const values = page === undefined ? undefined : intOf(page, 1)
  const encoding = page === undefined ? undefined : intOf(page, type === DATA_PAGE_V2 ? 4 : 2)
  if (values === undefined || values < 0 || encoding === undefined) throw damaged('a page header has no value count or encoding')
  const second = type === DATA_PAGE_V2 && page !== undefined ? secondOf(page) : undefined
  return { kind: type === DICTIONARY_PAGE ? 'dictionary' : 'data', values, encoding, second }
}

function secondOf(page: ThriftStruct): SecondPage {
  const [nulls = -1, definition = -1, repetition = -1] = [2, 5, 6].map((field) => intOf(page, field))
  return { levelBytes: definition < 0 || repetition < 0 ? -1 : definition + repetition, nulls, isCompressed: page.get(7)?.value !== false }
}
