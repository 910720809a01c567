/**
 * Columns of numbers and of texts from their pages. The pages of a row group are unpacked together, by the session's kernel where
 * Snappy packed them, else by the decoder. Kernels over the session's memory then write the values, or the dictionary codes of texts,
 * to the columns' destinations; texts without a dictionary go to blocks of their own.
 *
 *     [header][packed] …   pages of columns a and b, of any sizes   --unpackedPages.ts-->   bytes, one page behind the other
 *
 * Statement: a column that comes out of here is the one that the decoder would have made. What is a list, null, odd or damaged
 * does not come out: the decoder makes it, or says what is wrong.
 */
import { isUtf8 } from 'node:buffer'
import type { Column } from '../../core/data/column.ts'
import { DIGITS_KEPT, POWERS_OF_TEN } from '../../core/data/decimals.ts'
import { FIXED_FORMS, isFixedKind, LARGEST_WHOLE } from '../../core/data/fixedValues.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import type { PackedPage, PagedColumn, PageKernels, PageOfValues } from '../../core/ports.ts'
import type { ColumnDetail, FileDetail } from './describe.ts'
import { around, innermost } from './leafColumns.ts'
import type { Destination, ReadyColumn } from './nativeColumns.ts'
import { DICTIONARY_ENCODINGS, type Page } from './pages.ts'
import { withUnpackedPages } from './unpackedPages.ts'
import { WasmFailure } from './wasm.ts'

const PHYSICAL = { INT32: 1, INT64: 2, FLOAT: 4, DOUBLE: 5, BYTE_ARRAY: 6 } as const
const [PLAIN, PLAIN_DICTIONARY] = [0, 2]
const BYTE_CODES = 256
/** The highest level that a run has in one byte. */
const MOST_LEVELS = 255
/** The codec that kernels unpack, by Parquet's number. */
const SNAPPY = 1

/** Makes columns from their pages. The result has an entry for each column that is read, undefined where the decoder has to make it. */
export function pagedColumns(file: FileDetail, columns: readonly ReadyColumn[], rows: number, to: Destination): (Column | undefined)[] {
  const made = new Array<Column | undefined>(columns.length).fill(undefined)
  const { pages: kernels } = to
  if (kernels === undefined) return made
  for (const [codec, wanted] of byCodec(columns, rows, to))
    withUnpacked(file, wanted, { codec, to }, (parts) => {
      for (const one of wanted) {
        const column = columnFrom(one, rows, kernels, parts)
        made[one.number] = column && around(one.outer, column)
      }
      return true
    })
  return made
}

function columnFrom(one: Wanted, rows: number, kernels: PageKernels, parts: readonly Uint8Array[]): Column | undefined {
  const { type, out, width, numbers } = one
  const entries = width === 1 && out !== undefined ? entriesOf(one, parts) : undefined
  if (width === 1 && out !== undefined && entries === undefined) return undefined
  const paged = pagedOf(one, parts)
  if (paged === undefined) return undefined
  const { dictionary, pages } = paged
  if (out !== undefined)
    return kernels.decode(parts, { out, width, numbers, dictionary, pages }) ? columnOver(type, out, rows, entries) : undefined
  const texts = kernels.texts(parts, pages)
  // the kernel checked that no text begins in the middle of a character, so each is UTF-8 if all bytes together are
  return texts?.offsets.length === rows + 1 && isUtf8(texts.values) ? { type, length: rows, ...texts } : undefined
}

/** A column that kernels make from its pages, unless these turn out odd. */
interface Wanted extends Form {
  readonly number: number
  /** The definition level of a value: how many of it and the structs around it may be null. */
  readonly level: number
  /** The column's type: that of its values, or structs around it. */
  readonly outer: ColumnType
  readonly pages: readonly UnpackedPage[]
  /** The destination of values or dictionary codes; absent for texts without a dictionary. */
  readonly out: Uint8Array | undefined
}

interface UnpackedPage {
  readonly page: Page
  readonly length: number
  /** Offset of its first byte, counted over the bytes of all parts. */
  at: number
}

interface Form {
  readonly type: ColumnType
  readonly width: PagedColumn['width']
  readonly numbers?: PagedColumn['numbers']
}

function byCodec(
  columns: readonly ReadyColumn[],
  rows: number,
  { into, dictionaries }: Destination,
): ReadonlyMap<number, readonly Wanted[]> {
  const groups = new Map<number, Wanted[]>()
  for (const [number, column] of columns.entries()) {
    const [chunk, another] = column.chunks
    if (chunk === undefined || another !== undefined) continue
    const { level, ...inner } = innermost(column.detail)
    const form = formOf(chunk.physical, inner)
    if (form === undefined || level > MOST_LEVELS) continue
    const { type, width, numbers } = form
    const isPlain = width === 1 && column.pages.length > 0 && column.pages.every(isOfValues)
    const out = isPlain ? undefined : into?.(number)
    if (!isPlain && out?.length !== rows * (numbers === undefined ? width : 8)) continue
    if (!isPlain && width === 1 && !(dictionaries === true && hasByteCodes(column))) continue
    const own = groups.get(chunk.codec) ?? []
    if (own.length === 0) groups.set(chunk.codec, own)
    const pages = column.pages.map((page): UnpackedPage => ({ page, length: unpackedBytes(page), at: 0 }))
    own.push({ type, width, numbers, number, level, outer: column.detail.type, pages, out })
  }
  return groups
}

/** Whether all values are entries of one dictionary whose codes fit in a byte. */
function hasByteCodes({ isCoded, pages: [page] }: ReadyColumn): boolean {
  return isCoded && page !== undefined && isPlainDictionary(page) && page.values <= BYTE_CODES
}

/** Whether a page has the entries of a dictionary one behind the other. */
export function isPlainDictionary({ kind, encoding }: Page): boolean {
  return kind === 'dictionary' && (encoding === PLAIN || encoding === PLAIN_DICTIONARY)
}

/** The form in which kernels write a column's values; undefined for columns that they do not make: nested, INT96, of another type or change. */
export function formOf(physical: number, { type, changes: [change, another], elements, int96 }: ColumnDetail): Form | undefined {
  if (elements.length !== 1 || another !== undefined || int96 !== undefined) return undefined
  const width = physical === PHYSICAL.INT32 || physical === PHYSICAL.FLOAT ? 4 : 8
  if (change?.kind === 'decimal') {
    const divisor = POWERS_OF_TEN[change.scale]
    const isWhole = physical === PHYSICAL.INT32 || physical === PHYSICAL.INT64
    return isWhole && divisor !== undefined ? { type, width, numbers: { signed: true, limit: DIGITS_KEPT, divisor } } : undefined
  }
  if (change !== undefined && change.kind !== 'type') return undefined
  switch (physical) {
    case PHYSICAL.INT32:
      return type.kind === 'i32' || type.kind === 'u32' || type.kind === 'date' ? { type, width } : undefined
    case PHYSICAL.INT64:
      if (type.kind === 'i64' || type.kind === 'u64' || type.kind === 'timestamp') return { type, width }
      if (type.kind !== 'f64' || type.integers === undefined) return undefined
      return { type, width, numbers: { signed: type.integers === 'i64', limit: LARGEST_WHOLE, divisor: 1 } }
    case PHYSICAL.FLOAT:
      return type.kind === 'f32' ? { type, width } : undefined
    case PHYSICAL.DOUBLE:
      return type.kind === 'f64' && type.integers === undefined ? { type, width } : undefined
    case PHYSICAL.BYTE_ARRAY:
      return type.kind === 'utf8' ? { type, width: 1 } : undefined
  }
  return undefined
}

function columnOver(type: ColumnType, out: Uint8Array, rows: number, dictionary: Column | undefined): Column {
  const { buffer, byteOffset } = out
  if (dictionary !== undefined) return { type, length: rows, values: out, dictionary }
  const ArrayOfValues = FIXED_FORMS[isFixedKind(type.kind) ? type.kind : 'f64'].array as unknown as new (
    memory: ArrayBufferLike,
    at: number,
    length: number,
  ) => NonNullable<Column['values']> // as all typed arrays
  return { type, length: rows, values: new ArrayOfValues(buffer, byteOffset, rows) }
}

/** Unpacks the columns' pages and hands the bytes to `use`, which is done with them when it returns; undefined where a page cannot be unpacked or counts nulls. */
function withUnpacked<R>(
  file: FileDetail,
  columns: readonly Wanted[],
  { codec, to }: { readonly codec: number; readonly to: Destination },
  use: (parts: readonly Uint8Array[]) => R,
): R | undefined {
  const pages = columns.flatMap((column) => column.pages)
  if (pages.some(({ page: { second } }) => second !== undefined && (second.levelBytes < 0 || second.nulls !== 0))) return undefined
  const isPacked = ({ page }: UnpackedPage): boolean => codec !== 0 && page.second?.isCompressed !== false
  const packed = pages.filter(isPacked)
  const bare = packed.length === pages.length ? [] : pages.filter((one) => !isPacked(one))
  const ofValues = packed.filter(({ page }) => isOfValues(page))
  let bytes = 0
  const small: PackedPage[] = []
  for (const one of ofValues.length === 0 ? packed : [...ofValues, ...packed.filter(({ page }) => !isOfValues(page))]) {
    one.at = bytes
    bytes += one.length
    small.push({ bytes: valueBytes(one.page), unpackedBytes: one.length })
  }
  const parts: Uint8Array[] = []
  for (const one of bare) {
    const own = valueBytes(one.page)
    if (own.length !== one.length) return undefined
    one.at = bytes
    bytes += one.length
    parts.push(own)
  }
  if (small.length === 0) return use(parts)
  const all = (unpacked: Uint8Array): R => use([unpacked, ...parts])
  const used = codec === SNAPPY ? to.pages?.unpack(small, all) : undefined
  if (used !== undefined) return used
  try {
    return withUnpackedPages(small, { codec, mostBytes: file.limits.quickBytes, scratch: to.scratch }, all)
  } catch (error) {
    if (error instanceof WasmFailure) return undefined
    throw error
  }
}

/** The entries of a dictionary of texts, each of which lies behind its length; undefined where a length is wrong or the bytes are no UTF-8. */
function entriesOf({ type, pages }: Wanted, parts: readonly Uint8Array[]): Column | undefined {
  const { page, at: start, length: size } = pages[0] as UnpackedPage // the dictionary
  const bytes = bytesBetween(parts, start, start + size)
  const values = new Uint8Array(Math.max(0, bytes.length - LENGTH_BYTES * page.values))
  const offsets = new Int32Array(page.values + 1)
  let at = 0
  let end = 0
  for (let entry = 0; entry < page.values; entry++) {
    if (at + LENGTH_BYTES > bytes.length) return undefined
    const length = lengthAt(bytes, at)
    at += LENGTH_BYTES
    if (length > bytes.length - at || (length > 0 && isContinued(bytes[at]))) return undefined
    for (const after = at + length; at < after; at++) values[end++] = bytes[at] as number // inside of the page
    offsets[entry + 1] = end
  }
  // no text begins in the middle of a character, so each is UTF-8 if all bytes together are
  return isUtf8(values.subarray(0, end)) ? { type, length: page.values, offsets, values: values.slice(0, end) } : undefined
}

/** Size of the length that stands before a text or before levels. */
const LENGTH_BYTES = 4

function lengthAt(bytes: Uint8Array, at: number): number {
  let length = 0
  for (let i = LENGTH_BYTES - 1; i >= 0; i--) length = length * 256 + (bytes[at + i] ?? 0)
  return length
}

/** Whether a byte belongs to the character that an earlier one began. */
function isContinued(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}

/** Whether a page holds plain values. Such pages are unpacked first: mostly whole words, they stay aligned then and are copied as words. */
function isOfValues({ kind, encoding }: Page): boolean {
  return kind === 'data' && encoding === PLAIN
}

/** The packed bytes of a page: without its levels in the second version of pages, which does not pack them, and with them in the first. */
export function valueBytes({ body, second }: Page): Uint8Array {
  return second === undefined ? body : body.subarray(second.levelBytes)
}

export function unpackedBytes({ uncompressedBytes, second }: Page): number {
  return uncompressedBytes - (second?.levelBytes ?? 0)
}

/** The positions of the column's dictionary and values; undefined for nulls, a second dictionary or another encoding, which kernels do not read. */
function pagedOf({ level, width, pages }: Wanted, parts: readonly Uint8Array[]): Pick<PagedColumn, 'dictionary' | 'pages'> | undefined {
  let dictionary: PagedColumn['dictionary']
  const own: PageOfValues[] = []
  for (const { page, at, length } of pages) {
    const end = at + length
    const { kind, values, encoding, second } = page
    if (kind === 'dictionary') {
      if (dictionary !== undefined || (width > 1 && length < values * width)) return undefined
      dictionary = { at, entries: values }
      continue
    }
    const begin = level > 0 && second === undefined ? afterLevels(bytesBetween(parts, at, end), at, values, level) : at
    if (begin === undefined) return undefined
    if (encoding === PLAIN) own.push({ at: begin, end, values, indexBits: undefined })
    else if (DICTIONARY_ENCODINGS.includes(encoding) && begin < end)
      own.push({ at: begin + 1, end, values, indexBits: bytesBetween(parts, begin, begin + 1)[0] ?? 0 })
    else return undefined
  }
  return { dictionary, pages: own }
}

/** The position of the values in a page of the first version that begins `at`; undefined unless its levels are one run without nulls, which has the level of a value. */
export function afterLevels(bytes: Uint8Array, at: number, values: number, level: number): number | undefined {
  const begin = LENGTH_BYTES + lengthAt(bytes, 0)
  if (begin > bytes.length) return undefined
  let header = 0
  let next = LENGTH_BYTES
  for (let shift = 1; next < begin; shift *= 128) {
    const byte = bytes[next++] ?? 0
    header += (byte & 127) * shift
    if (byte < 128) break
  }
  const isOneRun = header % 2 === 0 && header / 2 >= values && next < begin && bytes[next] === level
  return isOneRun ? at + begin : undefined
}

function bytesBetween(parts: readonly Uint8Array[], at: number, end: number): Uint8Array {
  let from = at
  for (const part of parts) {
    if (from < part.length) return part.subarray(from, from + end - at)
    from -= part.length
  }
  return new Uint8Array()
}
