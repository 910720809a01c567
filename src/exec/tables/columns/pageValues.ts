/**
 * Values of unpacked pages, written to their places in the arena.
 *
 *     page     3 0 0 2   indices of a dictionary's entries      place   d a a c
 *     page     x y z     values                          -->    place   x y z
 *     page     3 0 0 2   indices of a dictionary of texts       place   3 0 0 2   a byte each
 *
 * Integers that are read as numbers are divided first, where they are entries of a dictionary: once for each entry.
 */
import { MemoryError } from '../../../core/errors.ts'
import type { PackedPage, PagedColumn, PageKernels } from '../../../core/ports.ts'
import { scaledBy, scaledKernel } from '../../kernels/tables/numberKernels.ts'
import { entriesKernel, MOST_PAGE_VALUES, MOST_PLACE_BITS, READ_BEHIND } from '../../kernels/tables/pageKernels.ts'
import { snappyKernel } from '../../kernels/tables/snappyKernel.ts'
import type { Arena } from '../../memory/arena.ts'
import { arenaKernel } from '../operators/arenaKernels.ts'
import { beginAlike, copyBytes } from '../operators/gather/copyBytes.ts'

const OPERATOR = 'pages of files'
const LOG2 = { 1: 0, 4: 2, 8: 3 } as const
/** Numbers that a byte has. */
const MOST_BYTE_ENTRIES = 256
/** Blocks begin at a whole word. */
const WORD = 8

/** The kernels over this arena. */
export function pageKernels(arena: Arena): PageKernels {
  return {
    decode(parts, columns) {
      const room = Math.max(...columns.map(pageBytes))
      let block: number | undefined
      try {
        return columns.map((column) => {
          const isCopied = copied(arena, parts, column)
          if (isCopied !== undefined) return isCopied
          block ??= reserved(arena, room + READ_BEHIND) // of one column at a time
          return block !== undefined && computed(arena, block, parts, column)
        })
      } finally {
        if (block !== undefined) arena.free(block)
      }
    },
    unpack(pages, use) {
      const packed = Math.max(0, ...pages.map(({ bytes }) => bytes.length))
      const size = pages.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)
      const from = reserved(arena, packed + WORD + READ_BEHIND)
      const to = from && reserved(arena, size)
      try {
        if (from === undefined || to === undefined || !unpacked(arena, pages, { from, to })) return undefined
        return use(arena.view('u8', to, size) as Uint8Array)
      } finally {
        for (const block of [from, to]) if (block !== undefined) arena.free(block)
      }
    },
  }
}

/** Unpacks one page behind the other to `to`; false where one is damaged. Packed ones come to `from` first. */
function unpacked(arena: Arena, pages: readonly PackedPage[], { from, to }: { readonly from: number; readonly to: number }): boolean {
  const kernel = arenaKernel(arena, 'snappy', snappyKernel)
  let out = to
  for (const { bytes, unpackedBytes } of pages) {
    const source = from + (bytes.byteOffset % WORD)
    ;(arena.view('u8', source, bytes.length) as Uint8Array).set(bytes)
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

/** Copies values that stay as they are straight to their places; undefined where some do not. */
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

/** So many bytes from `at` on, where they lie in one part. */
function bytesAt(parts: readonly Uint8Array[], at: number, length: number): Uint8Array | undefined {
  let from = at
  for (const part of parts) {
    if (from < part.length) return from + length <= part.length ? part.subarray(from, from + length) : undefined
    from -= part.length
  }
  return length === 0 ? new Uint8Array() : undefined
}

/** With what lies between them so that all begin as they do where they come from. */
function pageBytes(column: PagedColumn): number {
  const bytes = column.pages.reduce((sum, { at, end }) => sum + Math.max(0, end - at), entryBytes(column))
  return bytes + 8 * (column.pages.length + 1)
}

/** Of texts kernels need none. */
function entryBytes({ dictionary, width }: PagedColumn): number {
  return width === 1 ? 0 : (dictionary?.entries ?? 0) * width
}

/** Has kernels over the arena find the values: the column's pages are copied to the block first. */
function computed(arena: Arena, block: number, parts: readonly Uint8Array[], column: PagedColumn): boolean {
  const { dictionary, pages } = column
  const entries = dictionary && bytesAt(parts, dictionary.at, entryBytes(column))
  const bodies = pages.map(({ at, end }) => bytesAt(parts, at, end - at))
  const pieces = [...(dictionary === undefined ? [] : [entries]), ...bodies]
  const places: number[] = []
  let at = 0
  for (const piece of pieces) {
    if (piece === undefined) return false
    while (!beginAlike(piece.byteOffset, block + at)) at++
    ;(arena.view('u8', block + at, piece.length) as Uint8Array).set(piece)
    places.push(at)
    at += piece.length
  }
  const first = dictionary === undefined ? 0 : 1
  return decoded(arena, block, {
    ...column,
    ...(dictionary && { dictionary: { ...dictionary, at: places[0] as number } }), // the first piece
    pages: pages.map((page, i) => {
      const begin = places[first + i] as number // one for each
      return { ...page, at: begin, end: begin + page.end - page.at }
    }),
  })
}

/** Undefined where memory is short: there are ways that need none. */
function reserved(arena: Arena, bytes: number): number | undefined {
  try {
    return arena.reserve(bytes, OPERATOR)
  } catch (error) {
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

function decoded(arena: Arena, block: number, column: PagedColumn): boolean {
  const { dictionary, out, width, numbers, pages } = column
  const outWidth = numbers === undefined ? width : 8
  const total = pages.reduce((sum, { values }) => sum + values, 0)
  if (total * outWidth !== out.length) return false
  if (width === 1 && !(dictionary !== undefined && dictionary.entries <= MOST_BYTE_ENTRIES)) return false
  const isWider = outWidth > width && dictionary !== undefined
  const entries = isWider ? reserved(arena, outWidth * dictionary.entries) : block + (dictionary?.at ?? 0)
  if (entries === undefined) return false
  try {
    const isMade =
      dictionary === undefined ||
      width === 1 ||
      asNumbers(arena, column, { from: block + dictionary.at, to: entries, count: dictionary.entries })
    if (!isMade) return false
    let to = out.byteOffset
    for (const { at, end, values, indexBits } of pages) {
      const from = block + at
      if (indexBits === undefined) {
        if (width === 1 || end - at < values * width || !asNumbers(arena, column, { from, to, count: values })) return false
      } else {
        if (dictionary === undefined || indexBits > MOST_PLACE_BITS || values > MOST_PAGE_VALUES) return false
        const kernel = arenaKernel(arena, `page entries ${outWidth}`, () => entriesKernel(LOG2[outWidth]))
        kernel(from, end - at, indexBits, values, dictionary.entries, entries, to)
      }
      to += values * outWidth
    }
    return true
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) return false
    throw error
  } finally {
    if (isWider) arena.free(entries)
  }
}

/** Writes values as the column has them, which may be where they lie; false where one is no such. */
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
