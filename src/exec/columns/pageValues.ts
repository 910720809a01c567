/**
 * Values of unpacked pages, written to their places in the arena.
 *
 *     page     3 0 0 2   indices of a dictionary's entries      place   d a a c
 *     page     x y z     values                          -->    place   x y z
 *
 * Integers that are read as numbers are divided first, where they are entries of a dictionary: once for each entry.
 */
import { MemoryError } from '../../core/errors.ts'
import type { PagedColumn, PageKernels } from '../../core/ports.ts'
import { scaledBy, scaledKernel } from '../kernels/numberKernels.ts'
import { entriesKernel, MOST_PAGE_VALUES, MOST_PLACE_BITS, READ_BEHIND } from '../kernels/pageKernels.ts'
import type { Arena } from '../memory/arena.ts'
import { arenaKernel } from '../operators/arenaKernels.ts'

const OPERATOR = 'pages of files'

/** The kernels over this arena. */
export function pageKernels(arena: Arena): PageKernels {
  return {
    decode(parts, columns) {
      const bytes = parts.reduce((sum, part) => sum + part.length, 0)
      const block = reserved(arena, bytes + READ_BEHIND)
      if (block === undefined) return columns.map(() => false)
      try {
        let at = 0
        const room = arena.view('u8', block, bytes) as Uint8Array
        for (const part of parts) {
          room.set(part, at)
          at += part.length
        }
        return columns.map((column) => decoded(arena, block, column))
      } finally {
        arena.free(block)
      }
    },
  }
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
  const isWider = outWidth > width && dictionary !== undefined
  const entries = isWider ? reserved(arena, outWidth * dictionary.entries) : block + (dictionary?.at ?? 0)
  if (entries === undefined) return false
  try {
    if (dictionary !== undefined && !asNumbers(arena, column, { from: block + dictionary.at, to: entries, count: dictionary.entries }))
      return false
    let to = out.byteOffset
    for (const { at, end, values, indexBits } of pages) {
      const from = block + at
      if (indexBits === undefined) {
        if (end - at < values * width || !asNumbers(arena, column, { from, to, count: values })) return false
      } else {
        if (dictionary === undefined || indexBits > MOST_PLACE_BITS || values > MOST_PAGE_VALUES) return false
        const kernel = arenaKernel(arena, `page entries ${outWidth}`, () => entriesKernel(outWidth === 4 ? 2 : 3))
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
    if (from !== to) (arena.view('u8', to, count * width) as Uint8Array).set(arena.view('u8', from, count * width) as Uint8Array)
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
