/**
 * Decodes the values of unpacked Parquet pages, by kernels, to their places in the arena.
 *
 *     page     3 0 0 2   indices of a dictionary's entries      place   d a a c
 *     page     x y z     values                          -->    place   x y z
 *     page     3 0 0 2   indices of a dictionary of texts       place   3 0 0 2   a byte each
 *     page     3 0 0 2   indices of texts with numbers          place   5 0 0 1   the number of each
 *     page     1 x 2 yz  texts behind their lengths             texts   xyz       0 1 3
 *
 * Integers that are read as scaled numbers are divided: entries of a dictionary once each, before the indices are resolved.
 */
import { MemoryError } from '../../../core/errors.ts'
import type { NumberedPage, PackedPage, PagedColumn, PageKernels, PageOfValues } from '../../../core/ports.ts'
import { scaledBy, scaledKernel } from '../../kernels/tables/numberKernels.ts'
import { entriesKernel, MOST_PAGE_VALUES, MOST_PLACE_BITS, plainTextsKernel, READ_BEHIND } from '../../kernels/tables/pageKernels.ts'
import { snappyKernel } from '../../kernels/tables/snappyKernel.ts'
import type { Arena } from '../../memory/arena.ts'
import type { Block } from '../block.ts'
import { arenaKernel } from '../operators/arenaKernels.ts'
import { beginAlike, copyBytes } from '../operators/gather/copyBytes.ts'
import { numberedEntries, writeCodes } from './texts/loadedTexts.ts'

const OPERATOR = 'pages of files'
/** What the kernel of entries writes for values of so many bytes: of texts, indices. */
const WRITTEN = { 1: 'index', 4: 2, 8: 3 } as const
/** The most entries of a dictionary whose indices fit a byte. */
const MOST_BYTE_ENTRIES = 256
/** Bytes of a word; blocks begin at whole words. */
const WORD = 8

/** The decoders by kernels over this arena. The blocks of texts are added to `held`; the caller frees them. */
export function pageKernels(arena: Arena, held: Block[]): PageKernels {
  return {
    decode(parts, column) {
      const isCopied = copied(arena, parts, column)
      if (isCopied !== undefined) return isCopied
      const room = parts.every((part) => arena.owns(part)) ? 0 : pageBytes(column) + READ_BEHIND
      const block = room === 0 ? 0 : reserved(arena, room)
      try {
        return block !== undefined && decoded(arena, new Bodies(arena, parts, block), column)
      } finally {
        if (room > 0 && block !== undefined) arena.free(block)
      }
    },
    texts: (parts, pages) => texts(arena, held, parts, pages),
    numbers: (page, out) => numbered(arena, page, out),
    unpack(pages, use) {
      const packed = pages.reduce((most, { bytes }) => (arena.owns(bytes) ? most : Math.max(most, bytes.length)), 0)
      const size = pages.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)
      const from = packed === 0 ? 0 : reserved(arena, packed + WORD + READ_BEHIND)
      const to = from === undefined ? undefined : reserved(arena, size + READ_BEHIND)
      try {
        if (from === undefined || to === undefined || !unpacked(arena, pages, { from, to })) return undefined
        return use(arena.view('u8', to, size) as Uint8Array)
      } finally {
        if (from !== undefined && packed > 0) arena.free(from)
        if (to !== undefined) arena.free(to)
      }
    },
  }
}

/** Unpacks pages end to end to `to`; false where one is damaged. Packed pages outside the arena are copied to `from` first. */
function unpacked(arena: Arena, pages: readonly PackedPage[], { from, to }: { readonly from: number; readonly to: number }): boolean {
  const kernel = arenaKernel(arena, 'snappy', snappyKernel)
  let out = to
  for (const { bytes, unpackedBytes } of pages) {
    const isThere = arena.owns(bytes)
    const source = isThere ? bytes.byteOffset : from + (bytes.byteOffset % WORD)
    if (!isThere) (arena.view('u8', source, bytes.length) as Uint8Array).set(bytes)
    try {
      kernel(source, bytes.length, out, unpackedBytes)
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return false
      throw error
    }
    out += unpackedBytes
  }
  return true
}

/** Writes the texts of pages with their offsets to a block of their own; undefined where pages are damaged or not plain, or memory is short. */
function texts(
  arena: Arena,
  held: Block[],
  parts: readonly Uint8Array[],
  pages: readonly PageOfValues[],
): ReturnType<PageKernels['texts']> {
  const rows = pages.reduce((sum, { values }) => sum + values, 0)
  const bytes = pages.reduce((sum, { at, end, values }) => sum + end - at - 4 * values, 0)
  const bodies = pages.map(({ at, end }) => bytesAt(parts, at, end - at))
  const longest = bodies.reduce((most, body) => (body === undefined || arena.owns(body) ? most : Math.max(most, body.length)), 0)
  if (bytes < 0 || pages.some(({ indexBits, values }) => indexBits !== undefined || values > MOST_PAGE_VALUES)) return undefined
  const room = longest === 0 ? 0 : reserved(arena, longest + WORD + READ_BEHIND)
  const first = 4 * (rows + 1)
  const size = first + bytes + READ_BEHIND
  const block = room === undefined ? undefined : reserved(arena, size)
  try {
    if (room === undefined || block === undefined) return undefined
    held.push({ offset: block, bytes: size })
    const kernel = arenaKernel(arena, 'plain texts', plainTextsKernel)
    const offsets = arena.view('i32', block, rows + 1) as Int32Array
    offsets[0] = 0
    let row = 0
    for (const [i, { values }] of pages.entries()) {
      const body = bodies[i]
      if (body === undefined) return undefined
      const from = arena.owns(body) ? body.byteOffset : room + (body.byteOffset % WORD)
      if (!arena.owns(body)) (arena.view('u8', from, body.length) as Uint8Array).set(body)
      kernel(from, body.length, values, block + 4 * (row + 1), block + first, offsets[row] as number)
      row += values
    }
    return { offsets, values: arena.view('u8', block + first, bytes) }
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return undefined
    throw error
  } finally {
    if (room !== undefined && room > 0) arena.free(room)
  }
}

/** Writes the numbers of a page's values: of indices that fit a byte where one alone has a number, or by way of the indices, of others at once. */
function numbered(arena: Arena, { bytes, values, numbers }: NumberedPage, out: Uint8Array): boolean {
  const entries = numbers.length - 1
  const [indexBits = MOST_PLACE_BITS + 1] = bytes
  if (!arena.owns(bytes) || indexBits > MOST_PLACE_BITS || values > MOST_PAGE_VALUES || out.length !== values) return false
  const isBytes = entries <= MOST_BYTE_ENTRIES
  const { only, isAlone } = numberedEntries(numbers)
  const room = isBytes ? 0 : reserved(arena, entries)
  if (room === undefined) return false
  try {
    if (!isBytes) (arena.view('u8', room, entries) as Uint8Array).set(numbers.subarray(0, entries))
    const written = !isBytes ? 0 : isAlone ? 'is' : 'index'
    const kernel = arenaKernel(arena, `page entries ${written}`, () => entriesKernel(written))
    const one = isAlone && only >= 0 ? only | ((numbers[only] ?? 0) << 8) : 0
    kernel(bytes.byteOffset + 1, bytes.length - 1, indexBits, values, entries, room, out.byteOffset, one)
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false
    throw error
  } finally {
    if (!isBytes) arena.free(room)
  }
  if (isBytes && !isAlone) writeCodes({ length: values, values: out }, numbers, out, { firstRow: 0, arena })
  return true
}

/** Copies plain values straight to their places; false where pages are damaged, undefined where some need decoding or scaling. */
function copied(arena: Arena, parts: readonly Uint8Array[], { out, width, numbers, pages }: PagedColumn): boolean | undefined {
  if (numbers !== undefined || pages.some(({ indexBits }) => indexBits !== undefined)) return undefined
  let to = 0
  for (const { at, end, values } of pages) {
    const page = end - at < values * width ? undefined : bytesAt(parts, at, values * width)
    if (page === undefined || to + page.length > out.length) return false
    copyBytes(arena, page, out.subarray(to, to + page.length))
    to += page.length
  }
  return to === out.length
}

/** The bytes at `at` of the parts end to end; undefined where they lie in no single part. */
function bytesAt(parts: readonly Uint8Array[], at: number, length: number): Uint8Array | undefined {
  let from = at
  for (const part of parts) {
    if (from < part.length) return from + length <= part.length ? part.subarray(from, from + length) : undefined
    from -= part.length
  }
  return length === 0 ? new Uint8Array() : undefined
}

/** The bytes of a block for all pages and the dictionary, with room between them to keep the alignment of their source. */
function pageBytes(column: PagedColumn): number {
  const bytes = column.pages.reduce((sum, { at, end }) => sum + Math.max(0, end - at), entryBytes(column))
  return bytes + 8 * (column.pages.length + 1)
}

/** The bytes of the dictionary's entries; 0 for texts, of which kernels write only indices. */
function entryBytes({ dictionary, width }: PagedColumn): number {
  return width === 1 ? 0 : (dictionary?.entries ?? 0) * width
}

/** Gives kernels the addresses of bytes of parts, and copies those outside the arena to a block. */
class Bodies {
  private readonly arena: Arena
  private readonly parts: readonly Uint8Array[]
  /** The address of the free rest of the block. */
  private next: number
  constructor(arena: Arena, parts: readonly Uint8Array[], block: number) {
    this.arena = arena
    this.parts = parts
    this.next = block
  }

  /** The address of so many bytes from `at` on; undefined where they lie in no single part. */
  address(at: number, length: number): number | undefined {
    const piece = bytesAt(this.parts, at, length)
    if (piece === undefined || this.arena.owns(piece)) return piece?.byteOffset
    while (!beginAlike(piece.byteOffset, this.next)) this.next++
    const address = this.next
    ;(this.arena.view('u8', address, length) as Uint8Array).set(piece)
    this.next += length
    return address
  }
}

/** The address of a new block; undefined where memory is short, as there are decoders that need none. */
function reserved(arena: Arena, bytes: number): number | undefined {
  try {
    return arena.reserve(bytes, OPERATOR)
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

/** Decodes pages by kernels; false where pages are damaged or of a kind that kernels do not decode, or memory is short. */
function decoded(arena: Arena, bodies: Bodies, column: PagedColumn): boolean {
  const { dictionary, out, width, numbers, pages } = column
  const outWidth = numbers === undefined ? width : 8
  const total = pages.reduce((sum, { values }) => sum + values, 0)
  if (total * outWidth !== out.length) return false
  if (width === 1 && !(dictionary !== undefined && dictionary.entries <= MOST_BYTE_ENTRIES)) return false
  // for texts only indices are written: kernels need no entries
  const given = dictionary === undefined || width === 1 ? 0 : bodies.address(dictionary.at, entryBytes(column))
  if (given === undefined) return false
  // entries become numbers elsewhere, since another decoder may read the bytes of the file again
  const isElsewhere = numbers !== undefined && dictionary !== undefined
  const entries = isElsewhere ? reserved(arena, outWidth * dictionary.entries) : given
  if (entries === undefined) return false
  try {
    const isMade =
      dictionary === undefined || width === 1 || asNumbers(arena, column, { from: given, to: entries, count: dictionary.entries })
    if (!isMade) return false
    let to = out.byteOffset
    for (const { at, end, values, indexBits } of pages) {
      const from = bodies.address(at, end - at)
      if (from === undefined) return false
      if (indexBits === undefined) {
        if (width === 1 || end - at < values * width || !asNumbers(arena, column, { from, to, count: values })) return false
      } else {
        if (dictionary === undefined || indexBits > MOST_PLACE_BITS || values > MOST_PAGE_VALUES) return false
        const kernel = arenaKernel(arena, `page entries ${WRITTEN[outWidth]}`, () => entriesKernel(WRITTEN[outWidth]))
        kernel(from, end - at, indexBits, values, dictionary.entries, entries, to, 0)
      }
      to += values * outWidth
    }
    return true
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false
    throw error
  } finally {
    if (isElsewhere) arena.free(entries)
  }
}

/** Writes values as the column has them, scaled to numbers if it says so, perhaps in place; false where one is beyond the limit of exact numbers. */
function asNumbers(
  arena: Arena,
  { width, numbers }: PagedColumn,
  { from, to, count }: { readonly from: number; readonly to: number; readonly count: number },
): boolean {
  if (numbers === undefined) {
    if (from !== to)
      copyBytes(arena, arena.view('u8', from, count * width) as Uint8Array, arena.view('u8', to, count * width) as Uint8Array)
    return true
  }
  const { signed, divisor } = numbers
  if (width === 8) {
    const kernel = arenaKernel(arena, `page numbers ${signed}`, () => scaledKernel({ signed }))
    return scaledBy(kernel, arena.memory, { address: from, count, ...numbers }, to)
  }
  const words = new DataView(arena.memory.buffer, from, 4 * count)
  const out = arena.view('f64', to, count) as Float64Array
  for (let i = 0; i < count; i++) out[i] = words.getInt32(4 * i, true) / divisor
  return true
}
