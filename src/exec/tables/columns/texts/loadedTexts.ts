/**
 * Merges the dictionaries of splits: texts of files are read as indices of a dictionary for each split, and become codes of one
 * dictionary for all rows, without a look at each row's text.
 *
 *     split 0   places 1 0 1 of [a b]        texts  b a b c     codes  0 1 0 2     firsts  0 1 3
 *     split 1   places 0 of [c]         -->
 *
 * A null has the index behind the dictionary's entries, where the dictionary has an empty text.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { byteIsKernel, byteMapKernel, TABLE_BYTES } from '../../../kernels/tables/byteKernels.ts'
import { gatherKernel } from '../../../kernels/tables/gatherKernels.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../../operators/arenaKernels.ts'
import { type Codes, mostTexts } from './textCodes.ts'

/** The facts about a split's dictionary-encoded texts. */
export interface CodedTexts {
  /** The first row of each entry; -1 for an entry that no row has. */
  readonly firsts: Int32Array
}

/** The part with the index behind the entries for nulls, and the first row of each entry. Overwrites the part's indices. */
export function countedTexts(part: Column): { readonly column: Column; readonly coded: CodedTexts } {
  const { length, values, dictionary = { type: part.type, length: 0 } } = part
  const places = values as Codes // indices, as it is dictionary encoded
  const entries = dictionary.length
  const ends = dictionary.offsets ?? new Int32Array(1)
  const offsets = new Int32Array(entries + 2)
  offsets.set(ends)
  offsets[entries + 1] = offsets[entries] as number
  if (part.validity !== undefined) for (let i = 0; i < length; i++) if (!isValid(part, i)) places[i] = entries
  const firsts = new Int32Array(entries + 1).fill(-1)
  let left = entries
  for (let i = 0; i < length && left > 0; i++) {
    const place = places[i] as number // i < length
    if ((firsts[place] as number) >= 0) continue
    firsts[place] = i
    if (place < entries) left--
  }
  return {
    column: { ...part, dictionary: { ...dictionary, length: entries + 1, offsets } },
    coded: { firsts: firsts.subarray(0, entries) },
  }
}

/** A split's dictionary, and the number of rows before the split. */
export interface SplitTexts {
  readonly dictionary: Column
  readonly coded: CodedTexts
  readonly firstRow: number
}

/** The merged dictionary of all splits. */
export interface MergedCodes {
  readonly firsts: Int32Array
  /** The text of each code. */
  readonly texts: Column
  /** For each split the code of each index of its dictionary; 0 for nulls. */
  readonly maps: readonly Uint16Array[]
}

/** The most merged texts, which are looked up on the caller's thread; columns with more get codes only when they pay. */
const MOST_MERGED = 2 ** 16

/** Merges the dictionaries of all splits; undefined where there are too many different texts. */
export function mergedCodes(splits: readonly SplitTexts[], rows: number): MergedCodes | undefined {
  const most = Math.min(MOST_MERGED, mostTexts(rows))
  if (splits.some(({ coded }) => coded.firsts.length > most && presentIn(coded) > most)) return undefined
  const codeOf = new Map<string, number>()
  const firsts: number[] = []
  const texts: Buffer[] = []
  const maps: Uint16Array[] = []
  for (const { dictionary, coded, firstRow } of splits) {
    const { offsets, values } = dictionary
    const bytes = values === undefined ? Buffer.alloc(0) : Buffer.from(values.buffer, values.byteOffset, values.byteLength)
    const map = new Uint16Array(dictionary.length)
    // bytes as characters: equal bytes are equal texts
    const textOf = (entry: number): string => bytes.toString('latin1', offsets?.[entry], offsets?.[entry + 1])
    const fresh: { readonly row: number; readonly entry: number }[] = []
    for (let entry = 0; entry < coded.firsts.length; entry++) {
      const row = coded.firsts[entry] as number // entry < length
      if (row < 0) continue
      const code = codeOf.get(textOf(entry))
      if (code === undefined) fresh.push({ row, entry })
      else map[entry] = code
    }
    for (const { row, entry } of fresh.sort((a, b) => a.row - b.row)) {
      const text = textOf(entry)
      let code = codeOf.get(text) // two entries may be of one text
      if (code === undefined) {
        code = firsts.length
        codeOf.set(text, code)
        if (firsts.push(firstRow + row) > most) return undefined
        texts.push(bytes.subarray(offsets?.[entry], offsets?.[entry + 1]))
      }
      map[entry] = code
    }
    maps.push(map)
  }
  return { firsts: Int32Array.from(firsts), texts: endToEnd(texts), maps }
}

/** The number of entries that some row has. */
function presentIn({ firsts }: CodedTexts): number {
  let present = 0
  for (let entry = 0; entry < firsts.length; entry++) if ((firsts[entry] as number) >= 0) present++ // entry < length
  return present
}

function endToEnd(texts: readonly Buffer[]): Column {
  const offsets = new Int32Array(texts.length + 1)
  for (const [i, text] of texts.entries()) offsets[i + 1] = (offsets[i] as number) + text.length // i < length
  return { type: { kind: 'utf8' }, length: texts.length, offsets, values: new Uint8Array(Buffer.concat(texts)) }
}

/** Rows between two calls of the kernel, so that V8 can replace it while it warms up. */
const STRIDE = 65_536
/** The most vectors of a table for lookups by SIMD; with more, a lookup byte by byte is faster. */
const MOST_TABLES = 8

/** The first index that has another code than 0, or -1; whether no other has one; and whether each index is its code. The last is null's. */
export function numberedEntries(map: Uint16Array): { readonly only: number; readonly isAlone: boolean; readonly isSame: boolean } {
  const entries = map.length - 1
  let [isSame, only, last] = [true, -1, -1]
  for (let place = 0; place <= entries; place++) {
    const code = map[place] as number // place < length
    if (code !== place && place < entries) isSame = false
    if (code === 0) continue
    if (only < 0) only = place
    last = place
  }
  return { only, isAlone: last === only, isSame }
}

/** Writes the codes of a part's rows to their places in the arena, where the part's indices may lie already. */
export function writeCodes(
  { length, values }: Pick<Column, 'length' | 'values'>,
  map: Uint16Array,
  codes: Codes,
  { firstRow, arena }: CodesPlace,
): void {
  const places = values as Codes // indices, as it is dictionary encoded
  const isThere = !(places instanceof Int32Array) && places.buffer === codes.buffer && places.byteOffset === codes.byteOffset + firstRow
  const { only, isAlone, isSame } = numberedEntries(map)
  if (isThere && isSame) return
  if (!arena.owns(places)) {
    for (let i = 0; i < length; i++) codes[firstRow + i] = map[places[i] as number] as number // a place has a code
    return
  }
  const width = codes.BYTES_PER_ELEMENT
  const to = codes.byteOffset + width * firstRow
  const isBytes = width === 1 && places.BYTES_PER_ELEMENT === 1
  if (isBytes && isAlone) {
    const kernel = arenaKernel(arena, 'bytes that are one', byteIsKernel)
    for (let from = 0; from < length; from += STRIDE)
      kernel(places.byteOffset + from, Math.min(STRIDE, length - from), to + from, only, map[only] ?? 0)
    return
  }
  const tables = Math.ceil(map.length / TABLE_BYTES)
  const room = arena.reserve(width * TABLE_BYTES * tables, 'codes of texts')
  try {
    const table = arena.view(width === 1 ? 'u8' : width === 2 ? 'u16' : 'i32', room, TABLE_BYTES * tables) as Codes
    table.fill(0).set(map)
    if (isBytes && tables <= MOST_TABLES) {
      const kernel = arenaKernel(arena, `bytes by ${tables}`, () => byteMapKernel(tables))
      for (let from = 0; from < length; from += STRIDE) kernel(room, places.byteOffset + from, Math.min(STRIDE, length - from), to + from)
      return
    }
    const log2 = Math.log2(width)
    const own = Math.log2(places.BYTES_PER_ELEMENT)
    const kernel = arenaKernel(arena, `gather ${log2} by ${own}`, () => gatherKernel(log2, own))
    for (let from = 0; from < length; from += STRIDE) kernel(room, places.byteOffset, from, Math.min(length, from + STRIDE), to)
  } finally {
    arena.free(room)
  }
}

interface CodesPlace {
  readonly firstRow: number
  readonly arena: Arena
}
