/**
 * Columns of numbers and of texts from their pages: these are unpacked all of a row group at once, by the session's kernel where
 * Snappy packed them, by the decoder else, and kernels over the session's memory find the values, or the places of texts in a
 * dictionary, and write them where they go; texts without a dictionary go to blocks of their own.
 *
 *     [header][packed] …   pages of columns a and b, of any sizes   --unpackedPages.ts-->   bytes, one page behind the other
 *
 * Statement: a column that comes out of here is the one that the decoder would have made. What is nested, null, odd or damaged
 * does not come out: the decoder makes it, or says what is wrong.
 */
import { isUtf8 } from 'node:buffer'
import type { Column } from '../../core/data/column.ts'
import { DIGITS_KEPT, POWERS_OF_TEN } from '../../core/data/decimals.ts'
import { FIXED_FORMS, isFixedKind, LARGEST_WHOLE } from '../../core/data/fixedValues.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import type { Integers, PagedColumn, PageKernels, PageOfValues } from '../../core/ports.ts'
import type { ColumnDetail, FileDetail } from './describe.ts'
import type { Destination, ReadyColumn } from './nativeColumns.ts'
import { DICTIONARY_ENCODINGS, type Page } from './pages.ts'
import { withUnpackedPages } from './unpackedPages.ts'
import { WasmFailure } from './wasm.ts'

const PHYSICAL = { INT32: 1, INT64: 2, FLOAT: 4, DOUBLE: 5, BYTE_ARRAY: 6 } as const
const [PLAIN, PLAIN_DICTIONARY] = [0, 2]
const BYTE_CODES = 256
/** The codec that kernels know. */
const SNAPPY = 1

/** The columns that could be made so, by their numbers among those that are read. */
export function pagedColumns(
  file: FileDetail,
  columns: readonly ReadyColumn[],
  rows: number,
  to: Destination,
): ReadonlyMap<number, Column> {
  const made = new Map<number, Column>()
  const { pages: kernels } = to
  if (kernels === undefined) return made
  for (const [codec, wanted] of byCodec(columns, rows, to)) {
    const pages = wanted.flatMap(({ column }) => column.pages)
    withUnpacked(file, pages, { codec, to }, (parts, placeOf) => {
      for (const one of wanted) {
        const column = columnFrom(one, rows, { kernels, parts, placeOf })
        if (column !== undefined) made.set(one.number, column)
      }
      return true
    })
  }
  return made
}

interface Unpacked {
  readonly kernels: PageKernels
  readonly parts: readonly Uint8Array[]
  readonly placeOf: PlaceOf
}

function columnFrom(one: Wanted, rows: number, { kernels, parts, placeOf }: Unpacked): Column | undefined {
  const { type, out, width } = one
  const entries = width === 1 && out !== undefined ? entriesOf(one.column, parts, placeOf) : undefined
  if (width === 1 && out !== undefined && entries === undefined) return undefined
  const paged = pagedOf(one, parts, placeOf)
  if (paged === undefined) return undefined
  if (out !== undefined) return kernels.decode(parts, { ...paged, out }) ? columnOver(type, out, rows, entries) : undefined
  const texts = kernels.texts(parts, paged.pages)
  // where no text begins in the middle of a character, each is one if all of them are
  return texts?.offsets.length === rows + 1 && isUtf8(texts.values) ? { type, length: rows, ...texts } : undefined
}

/** A column that pages may be enough for. */
interface Wanted extends Form {
  readonly number: number
  readonly column: ReadyColumn
  /** Absent for texts without a dictionary. */
  readonly out?: Uint8Array
}

interface Form {
  readonly type: ColumnType
  readonly width: PagedColumn['width']
  readonly numbers?: Pick<Integers, 'signed' | 'limit' | 'divisor'>
}

function byCodec(
  columns: readonly ReadyColumn[],
  rows: number,
  { into, dictionaries }: Destination,
): ReadonlyMap<number, readonly Wanted[]> {
  const groups = new Map<number, Wanted[]>()
  for (const [number, column] of columns.entries()) {
    const [chunk, another] = column.part.chunks
    if (chunk === undefined || another !== undefined) continue
    const form = formOf(chunk.physical, column.detail)
    if (form === undefined) continue
    const isPlain = form.width === 1 && column.pages.length > 0 && column.pages.every(isOfValues)
    const out = isPlain ? undefined : into?.(number)
    if (!isPlain && out?.length !== rows * (form.numbers === undefined ? form.width : 8)) continue
    if (!isPlain && form.width === 1 && !(dictionaries === true && hasByteCodes(column))) continue
    const own = groups.get(chunk.codec) ?? []
    groups.set(chunk.codec, own)
    own.push({ ...form, number, column, ...(out && { out }) })
  }
  return groups
}

/** Texts that all are entries of a dictionary, of no more entries than a byte has numbers for. */
function hasByteCodes({ isCoded, pages: [page] }: ReadyColumn): boolean {
  if (!isCoded || page?.kind !== 'dictionary' || page.values > BYTE_CODES) return false
  return page.encoding === PLAIN || page.encoding === PLAIN_DICTIONARY
}

/** What a value of the file becomes; undefined for what is not made here. */
function formOf(physical: number, { type, changes: [change, another], elements, int96 }: ColumnDetail): Form | undefined {
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

/** Where the bytes of a page begin among those of all parts. */
type PlaceOf = (page: Page) => number

/** Hands the unpacked bytes of the pages to `use`, which is done with them when it returns; undefined where they cannot be unpacked. */
function withUnpacked<R>(
  file: FileDetail,
  pages: readonly Page[],
  { codec, to }: { readonly codec: number; readonly to: Destination },
  use: (parts: readonly Uint8Array[], placeOf: PlaceOf) => R,
): R | undefined {
  const places = new Map<Page, number>()
  let bytes = 0
  const put = (page: Page): void => {
    places.set(page, bytes)
    bytes += unpackedBytes(page)
  }
  const isPacked = (page: Page): boolean => codec !== 0 && page.second?.isCompressed !== false
  const [values, indices] = [pages.filter(isOfValues), pages.filter((page) => !isOfValues(page))]
  const packed = [...values, ...indices].filter(isPacked)
  const bare = pages.filter((page) => !isPacked(page))
  if (pages.some(({ second }) => second !== undefined && (second.levelBytes < 0 || second.nulls !== 0))) return undefined
  for (const page of packed) put(page)
  for (const page of bare) put(page)
  const parts = bare.map((page) => valueBytes(page))
  if (bare.some((page, i) => parts[i]?.length !== unpackedBytes(page))) return undefined
  const placeOf: PlaceOf = (page) => places.get(page) ?? 0
  if (packed.length === 0) return use(parts, placeOf)
  const small = packed.map((page) => ({ bytes: valueBytes(page), unpackedBytes: unpackedBytes(page) }))
  const used = codec === SNAPPY ? to.pages?.unpack(small, (unpacked) => use([unpacked, ...parts], placeOf)) : undefined
  if (used !== undefined) return used
  try {
    return withUnpackedPages(small, { codec, mostBytes: file.limits.quickBytes, scratch: to.scratch }, (unpacked) =>
      use([unpacked, ...parts], placeOf),
    )
  } catch (error) {
    if (error instanceof WasmFailure) return undefined
    throw error
  }
}

/** The texts of the dictionary, which lie one behind the other, each behind its length; undefined where they are no texts. */
function entriesOf({ detail: { type }, pages }: ReadyColumn, parts: readonly Uint8Array[], placeOf: PlaceOf): Column | undefined {
  const page = pages[0] as Page // the dictionary
  const bytes = bytesBetween(parts, placeOf(page), placeOf(page) + unpackedBytes(page))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const values = new Uint8Array(bytes.length)
  const offsets = new Int32Array(page.values + 1)
  let at = 0
  let end = 0
  for (let entry = 0; entry < page.values; entry++) {
    if (at + 4 > bytes.length) return undefined
    const length = view.getUint32(at, true)
    at += 4
    if (length > bytes.length - at || (length > 0 && isContinued(bytes[at]))) return undefined
    for (const after = at + length; at < after; at++) values[end++] = bytes[at] as number // inside of the page
    offsets[entry + 1] = end
  }
  // where no text begins in the middle of a character, each is one if all of them are
  return isUtf8(values.subarray(0, end)) ? { type, length: page.values, offsets, values: values.slice(0, end) } : undefined
}

/** Whether a byte belongs to the character that an earlier one began. */
function isContinued(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}

/** Whole words mostly, as which they are copied if nothing else lies before them. */
function isOfValues({ kind, encoding }: Page): boolean {
  return kind === 'data' && encoding === PLAIN
}

/** The levels of a page of the second version are not packed. */
function valueBytes({ body, second }: Page): Uint8Array {
  return second === undefined ? body : body.subarray(second.levelBytes)
}

function unpackedBytes({ uncompressedBytes, second }: Page): number {
  return uncompressedBytes - (second?.levelBytes ?? 0)
}

/** Where the column's values are; undefined where it has what kernels do not read. */
function pagedOf({ column, width, numbers }: Wanted, parts: readonly Uint8Array[], placeOf: PlaceOf): Omit<PagedColumn, 'out'> | undefined {
  const { detail, pages } = column
  let dictionary: PagedColumn['dictionary']
  const own: PageOfValues[] = []
  for (const page of pages) {
    const at = placeOf(page)
    const end = at + unpackedBytes(page)
    const { kind, values, encoding, second } = page
    if (kind === 'dictionary') {
      if (dictionary !== undefined || (width > 1 && end - at < values * width)) return undefined
      dictionary = { at, entries: values }
      continue
    }
    const begin = detail.nullable && second === undefined ? afterLevels(parts, { at, end, values }) : at
    if (begin === undefined) return undefined
    if (encoding === PLAIN) own.push({ at: begin, end, values })
    else if (DICTIONARY_ENCODINGS.includes(encoding) && begin < end)
      own.push({ at: begin + 1, end, values, indexBits: byteOf(parts, begin) })
    else return undefined
  }
  return { width, ...(numbers && { numbers }), ...(dictionary && { dictionary }), pages: own }
}

/** Where the values of a page of the first version begin, whose levels say in one run that all are there; undefined for other levels. */
function afterLevels(
  parts: readonly Uint8Array[],
  { at, end, values }: { readonly at: number; readonly end: number; readonly values: number },
): number | undefined {
  if (end - at < 4) return undefined
  let bytes = 0
  for (let i = 3; i >= 0; i--) bytes = bytes * 256 + byteOf(parts, at + i)
  const begin = at + 4 + bytes
  if (begin > end) return undefined
  let header = 0
  let next = at + 4
  for (let shift = 1; next < begin; shift *= 128) {
    const byte = byteOf(parts, next++)
    header += (byte & 127) * shift
    if (byte < 128) break
  }
  const isOneRun = header % 2 === 0 && header / 2 >= values && next < begin && byteOf(parts, next) === 1
  return isOneRun ? begin : undefined
}

function bytesBetween(parts: readonly Uint8Array[], at: number, end: number): Uint8Array {
  let from = at
  for (const part of parts) {
    if (from < part.length) return part.subarray(from, from + end - at)
    from -= part.length
  }
  return new Uint8Array()
}

function byteOf(parts: readonly Uint8Array[], at: number): number {
  return bytesBetween(parts, at, at + 1)[0] ?? 0
}
